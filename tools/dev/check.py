#!/usr/bin/env python3
"""./dev check: static checks, two builds, all tests. `./dev help` says how to call it; the last line is the sum.

Stages are listed in stages(). Builds: build (gcc, release flags) and build-asan (clang, ASan and UBSan), both with
warnings as errors; build-fuzz (clang, libFuzzer) with --full.
"""

import ast
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import files
import results
from results import Counts
from runner import Runner, Stage, command_stage, run_command

ROOT = files.ROOT
JOBS = os.cpu_count() or 1
REQUIRE_SHARED = os.environ.get("WEIR_REQUIRE_SHARED") == "1"
FUZZ_SECONDS = 20

BUILDS = {
    "build": ("gcc", ["-Dwerror=true"]),
    "build-asan": (
        "clang",
        ["-Dwerror=true", "-Dbuildtype=debug", "-Db_sanitize=address,undefined", "-Db_lundef=false"],
    ),
    "build-fuzz": (
        "clang",
        ["-Dwerror=true", "-Dbuildtype=debugoptimized", "-Db_sanitize=address,undefined", "-Db_lundef=false",
         "-Dfuzz=true"],
    ),
}
SUITES = {"build": ["unit", "fault", "fuzz", "scenario", "e2e"], "build-asan": ["unit", "fault", "fuzz", "scenario"]}
# Other suites (bench) are not for a check. Tests run beside a compiler here: their timeouts are doubled.
TIMEOUT_FACTOR = 2

SELF_TESTS = ["tools/check-layers", "tools/check-size", "tools/check-core-symbols", "tools/check-analyze",
              "tools/dev/results.py", "tools/dev/check.py"]
# Places on somebody's machine. /home/user is the one that examples may use.
MACHINE_PATH = re.compile(
    rf"(?<![\w.~}}$-])(?:/(?:work/|root/\.|Users/\w+/|home/(?!user\b)\w+/)[\w.]|{re.escape(str(ROOT))}\b)"
)


# --- static checks ---------------------------------------------------------------------------------------------


def over_files(command, kind):
    """work() that runs the command over all files of a kind."""

    def work():
        names = files.files(kind)
        if not names:
            return Counts(1), ""
        good, output = run_command([*command, *names], cwd=ROOT)
        return (Counts(1), "") if good else (Counts(failed=1), output)

    return work


def check_python():
    complaints = []
    for name in files.files("python"):
        try:
            ast.parse((ROOT / name).read_text(encoding="utf-8"), name)
        except (SyntaxError, UnicodeDecodeError) as problem:
            complaints.append(f"{name}: {problem}")
    return (Counts(failed=1), "\n".join(complaints)) if complaints else (Counts(1), "")


def check_paths():
    complaints = []
    for name in files.files("text"):
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line) and name != "tools/dev/check.py":
                complaints.append(f"{name}:{number}: a path of one machine: {line.strip()[:100]}")
    return (Counts(failed=1), "\n".join(complaints)) if complaints else (Counts(1), "")


# --- builds ----------------------------------------------------------------------------------------------------


def set_up(build):
    """(whether it worked, output of meson where it did not). Warnings become errors in an older build folder too."""
    compiler, options = BUILDS[build]
    if not (ROOT / build / "build.ninja").exists():
        return run_command(["meson", "setup", build, *options], cwd=ROOT, env={**os.environ, "CC": compiler})
    known = json.loads((ROOT / build / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))
    if next(option["value"] for option in known if option["name"] == "werror"):
        return True, ""
    return run_command(["meson", "configure", build, "-Dwerror=true"], cwd=ROOT)


def build_work(build, targets=None):
    """work() that configures and builds. targets() names what to build when it is not all."""

    def work():
        good, output = set_up(build)
        if good:
            wanted = targets() if targets else []
            good, output = run_command(["ninja", "-C", build, "--quiet", f"-j{JOBS}", *wanted], cwd=ROOT)
        return (Counts(1), "") if good else (Counts(failed=1), first_failure(output))

    return work


def first_failure(output):
    """What meson and ninja say, without what went well before."""
    lines = output.splitlines()
    starts = [number for number, line in enumerate(lines) if "ERROR:" in line or line.startswith("FAILED: ")]
    return "\n".join(lines[starts[0]:] if starts else lines)


def introspect(build, what):
    good, output = run_command(["meson", "introspect", f"--{what}", build], cwd=ROOT)
    return json.loads(output) if good else []


def fuzz_targets():
    """{name: program} of the fuzzers."""
    targets = introspect("build-fuzz", "targets")
    return {
        target["name"].removeprefix("fuzz-"): pathlib.Path(target["filename"][0])
        for target in targets
        if target["type"] == "executable" and target["name"].startswith("fuzz-")
    }


# --- tests -----------------------------------------------------------------------------------------------------


def test_environment():
    return {
        **os.environ,
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "WEIR_REQUIRE_CLIENTS": "1",  # main() has made .venv
        "ASAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_summary=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_summary=1:print_stacktrace=1",
    }


def meson_test(build, base, arguments, log_name=None, environment=None):
    """One run of `meson test`: (Counts, output of what failed). base names its log, environment is added."""
    log = ROOT / build / f"meson-logs/{log_name or base}.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", build, "--no-rebuild", "--quiet", "--num-processes", str(JOBS),
               "--logbase", base, *arguments]
    good, output = run_command(command, cwd=ROOT, env=test_environment() | (environment or {}))
    if not log.exists():
        if "No suitable tests defined" in output:
            return Counts(), ""
        return Counts(failed=1), output
    counts, text = results.read(log.read_text(encoding="utf-8"), REQUIRE_SHARED)
    if not good and not counts.failed:
        return counts + Counts(failed=1), output
    return counts, text


def suites_work(build, full):
    """work() that runs the suites that belong to a build."""

    def work():
        arguments = ["--timeout-multiplier", str(TIMEOUT_FACTOR)]
        arguments += [word for suite in SUITES[build] for word in ("--suite", suite)]
        arguments += [] if full else ["--no-suite", "slow"]
        return meson_test(build, f"check-{build}", arguments)

    return work


class Chosen:
    """The tests that NAMEs of the command line pick, over both builds."""

    def __init__(self, names):
        self.names = names
        self.matched = set()

    def tests(self, build):
        """{suite: [test]} of the tests whose suite/name holds one of the names."""
        found = {}
        for test in introspect(build, "tests"):
            suites = [suite.split(":")[-1] for suite in test["suite"]]
            suite = next((suite for suite in suites if suite in SUITES[build]), None)
            hits = {name for name in self.names if suite and name in f"{suite}/{test['name']}"}
            self.matched |= hits
            if hits:
                found.setdefault(suite, []).append(test["name"])
        return found

    def work(self, build):
        def work():
            total, texts = Counts(), []
            for suite, tests in self.tests(build).items():
                arguments = ["--timeout-multiplier", str(TIMEOUT_FACTOR), "--suite", suite, *tests]
                counts, text = meson_test(build, f"check-{build}", arguments)
                total += counts
                texts.append(text)
            return total, "\n".join(text for text in texts if text)

        return work

    def missed(self):
        return [name for name in self.names if name not in self.matched]


def valgrind_work():
    wrapper = "valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"
    arguments = ["--suite", "unit", "--no-suite", "slow", "--no-suite", "no-valgrind", "--timeout-multiplier", "20",
                 "--wrapper", wrapper]
    # meson puts the wrapper's name behind the base of the log.
    counts, text = meson_test("build", "valgrind", arguments, "valgrind-valgrind", {"WEIR_VALGRIND": "1"})
    return Counts(failed=1) if counts.failed else Counts(1), text


def fuzz_one(name, program):
    """(whether it found nothing, output). New inputs are kept in build-fuzz/corpus for the next run."""
    source = ROOT / "tests/fuzz" / name
    corpus, found = ROOT / "build-fuzz/corpus" / name, ROOT / "build-fuzz/found" / name
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    command = [str(program), f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048",
               "-print_final_stats=1", f"-artifact_prefix={found}/", str(corpus)]
    command += [str(source / part) for part in ("seeds", "crashes") if (source / part).is_dir()]
    command += [f"-dict={path}" for path in source.glob("*.dict")]
    return run_command(command, cwd=ROOT, env=test_environment())


def fuzz_work():
    """work() that gives each fuzzer its time, as many at once as there are cores."""
    targets = fuzz_targets()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        done = dict(zip(targets, pool.map(fuzz_one, targets.keys(), targets.values())))
    counts, texts = Counts(), []
    for name, (good, output) in done.items():
        counts += Counts(1) if good else Counts(failed=1)
        if not good:
            texts.append(f"--- fuzz-{name}\n" + "\n".join(output.splitlines()[-results.LINES_SHOWN:]))
    return counts, "\n".join(texts)


# --- what there is, and what of it to run ----------------------------------------------------------------------


def stages(full):
    python = sys.executable
    found = [
        Stage("build", "gcc, release flags, warnings are errors", build_work("build"), heavy=True),
        Stage("build-asan", "clang, ASan and UBSan, warnings are errors", build_work("build-asan"), heavy=True),
        Stage("format", ".clang-format", over_files(["clang-format", "--dry-run", "-Werror"], "c")),
        Stage("layers", "includes point down", command_stage(["tools/check-layers"], cwd=ROOT)),
        Stage("size", "caps on files and functions", command_stage(["tools/check-size"], cwd=ROOT)),
        Stage("spelling", "codespell", over_files(["codespell", "-I", "tools/codespell-ignore.txt"], "text")),
        Stage("shell", "shellcheck", over_files(["shellcheck", "-x"], "shell")),
        Stage("python", "scripts compile", check_python),
        Stage("paths", "no path of one machine in the tree", check_paths),
        Stage("tools", "the checks can fail",
              command_stage(*[[python, tool, "--self-test"] for tool in SELF_TESTS], cwd=ROOT)),
        Stage("symbols", "core asks for nothing impure", command_stage(["tools/check-core-symbols"], cwd=ROOT),
              ["build"]),
        Stage("test", "all suites, gcc", suites_work("build", full), ["build"], heavy=True),
        Stage("test-asan", "unit, fault, fuzz and scenario suites, sanitizers", suites_work("build-asan", full),
              ["build-asan"], heavy=True),
        Stage("analyzer", "gcc -fanalyzer", command_stage(["tools/check-analyze", "gcc", "build"], cwd=ROOT), ["build"],
              heavy=True),
        Stage("tidy", ".clang-tidy", command_stage(["tools/check-analyze", "clang-tidy", "build-asan"], cwd=ROOT),
              ["build-asan"], heavy=True),
    ]
    if full:
        found += [
            Stage("valgrind", "unit tests, gcc", valgrind_work, ["build"], heavy=True),
            Stage("build-fuzz", "clang, libFuzzer", build_work("build-fuzz", fuzz_programs), heavy=True),
            Stage("fuzz", f"each fuzzer for {FUZZ_SECONDS} s", fuzz_work, ["build-fuzz"], heavy=True),
        ]
    return found


def fuzz_programs():
    return [str(path.relative_to(ROOT / "build-fuzz")) for path in fuzz_targets().values()]


def with_needs(wanted, known):
    """The wanted stages and what they need, in the order of known."""
    names = set(wanted)
    for stage in reversed(known):
        if stage.name in names:
            names.update(stage.needs)
    return [stage for stage in known if stage.name in names]


def choose(names, known):
    """The stages to run for the NAMEs of the command line, and the choice of tests among them."""
    wanted = [stage.name for stage in known if not names or any(name in stage.name for name in names)]
    chosen = Chosen([name for name in names if not any(name in stage.name for stage in known)])
    if chosen.names:
        known = [stage for stage in known if stage.name not in ("test", "test-asan")]
        known += [
            Stage("test", "", chosen.work("build"), ["build"], heavy=True),
            Stage("test-asan", "", chosen.work("build-asan"), ["build-asan"], heavy=True),
        ]
        wanted += ["test", "test-asan"]
    return with_needs(wanted, known), chosen


def need(*needs):
    """Whether what the functions of packages.sh get is there now."""
    script = "set -euo pipefail; . tools/dev/packages.sh; " + "; ".join(needs)
    return subprocess.run(["bash", "-c", script], cwd=ROOT, check=False).returncode == 0


def unknown_names(chosen):
    """(those that no test has either, what went wrong). The builds are set up for that, nothing is compiled."""
    for build in SUITES if chosen.names else ():
        good, output = set_up(build)
        if good:
            good, output = run_command(["ninja", "-C", build, "--quiet", "build.ninja"], cwd=ROOT)
        if not good:
            return [], first_failure(output)
        chosen.tests(build)
    return chosen.missed(), ""


def self_test():
    """The parts that nothing else would miss: which paths are of one machine, and where a failed build is shown from."""
    bad = ["at /work/x/y", '"/home/jane/src"', "cd /root/.cache", "(/Users/jane/x)", f"in {ROOT}/build"]
    good = ["../work/x", "/home/user/x", "src/work/a.c", "touch /root/no", "$HOME/work/x", "https://x.org/home/a/b"]
    for line in bad:
        assert MACHINE_PATH.search(line), line
    for line in good:
        assert not MACHINE_PATH.search(line), line
    assert first_failure("Compiler: YES\nx.build:1:0: ERROR: bad\nFAILED: y") == "x.build:1:0: ERROR: bad\nFAILED: y"
    assert first_failure("[1/2] cc a\nFAILED: b.o\nb.c:1: error") == "FAILED: b.o\nb.c:1: error"
    assert first_failure("cannot start") == "cannot start"
    picked, chosen = choose(["layers", "nosuch"], stages(False))
    assert [stage.name for stage in picked] == ["build", "build-asan", "layers", "test", "test-asan"]
    assert chosen.missed() == ["nosuch"]
    self_test_dev()
    return 0


def self_test_dev():
    """How ./dev takes its arguments: what is wrong with them is said before anything is made or built."""

    def dev(*words, status, says, **environment):
        done = subprocess.run([str(ROOT / "dev"), *words], cwd=ROOT, env={**os.environ, **environment}, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = done.stdout.decode()
        assert done.returncode == status and says in said, (words, done.returncode, said)

    usage = "usage: ./dev install"
    dev("install", "--help", status=0, says=usage)
    for words, says in [(["/tmp/x"], "does not know '/tmp/x'"), (["--prefix=rel"], "'rel' is not a path from / on"),
                        (["--prefix", "rel"], "'rel' is not a path"), (["--prefix="], "'' is not a path"),
                        (["--prefix"], "--prefix needs a folder"), (["--prefix=/a", "-x"], "does not know '-x'")]:
        dev("install", *words, status=2, says=says)
        dev("install", *words, status=2, says=usage)
    dev("install", status=2, says="DESTDIR 'rel' is not a path from / on", DESTDIR="rel")
    dev("check", "--nosuch", status=2, says="no option --nosuch")
    dev("check", "--list", status=0, says="includes point down")
    script = '. tools/dev/build.sh; quietly() { echo "$*"; }; install_options "$@"; build_install "$prefix"'
    for words, prefix in [([], "/usr/local"), (["--prefix=/a/"], "/a/"), (["--prefix", "/"], "/")]:
        good, said = run_command(["bash", "-euc", script, "bash", *words], cwd=ROOT, env={**os.environ, "DESTDIR": "/d/"})
        assert good and re.search(rf"meson (configure|setup) build -Dprefix={prefix}\n", said), said
        assert f"installed: /d{prefix.rstrip('/')}/bin/weir\n" in said, said


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    options = [word for word in arguments if word.startswith("-")]
    names = [word for word in arguments if not word.startswith("-")]
    unknown = set(options) - {"--full", "--list"}
    if unknown:
        print(f"dev: check has no option {sorted(unknown)[0]}; there are --full and --list", file=sys.stderr)
        return 2
    known = stages("--full" in options)
    if "--list" in options:
        for stage in known:
            print(f"{stage.name:<14} {stage.about}")
        return 0
    picked, chosen = choose(names, known)
    if not need("need_packages build check"):
        return 3
    unknown, problem = unknown_names(chosen)
    if unknown or problem:
        print(problem or f"dev: no stage and no test is called like {' or '.join(unknown)}; ./dev check --list",
              file=sys.stderr)
        return 1 if problem else 2
    if any(stage.name.startswith("test") for stage in picked) and not need("need_python_tools", "need_nvidia_ctk"):
        return 3
    total = Runner(picked).run()
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
