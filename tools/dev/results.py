#!/usr/bin/env python3
"""What a run of `meson test` means: counts and the output of what failed, from its testlog.json.

Every sub-test of a program that speaks TAP counts; any other program counts once. A program that ends badly counts
as one failure at least, whatever it printed before.

usage: results.py --self-test
"""

import json
import re
import sys

SKIPPED = 77
LINES_SHOWN = 80
TAP_PLAN = re.compile(r"^1\.\.\d+", re.MULTILINE)
TAP_LINE = re.compile(r"^(?P<not>not )?ok\b[^#\n]*(?:#\s*(?P<directive>skip|todo)\b)?", re.IGNORECASE)


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __eq__(self, other):
        return str(self) == str(other)

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")

    __repr__ = __str__


def count_tap(text):
    counts = Counts()
    for line in text.splitlines():
        match = TAP_LINE.match(line)
        if not match:
            continue
        directive = (match["directive"] or "").lower()
        if directive == "skip":
            counts.skipped += 1
        elif match["not"] and directive != "todo":
            counts.failed += 1
        elif directive == "todo":
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def count_program(entry, require_shared):
    """The counts of one program."""
    result = entry["result"]
    if result == "SKIP" and entry.get("returncode") == SKIPPED and require_shared:
        return Counts(failed=1)
    speaks_tap = TAP_PLAN.search(entry["stdout"]) is not None
    counts = count_tap(entry["stdout"]) if speaks_tap else Counts()
    if result == "SKIP":
        counts.skipped = max(counts.skipped, 1)
    elif result in ("OK", "EXPECTEDFAIL"):
        if counts == Counts():
            # A program that announces sub-tests and runs none shows nothing.
            counts = Counts(failed=1) if speaks_tap else Counts(1)
    else:
        counts.failed = max(counts.failed, 1)
    return counts


def excerpt(entry):
    """The end of what a failed program said, without the sub-tests that passed."""
    text = entry["stdout"] + "\n" + entry.get("stderr", "")
    lines = [line for line in text.splitlines() if line and not re.match(r"ok \d+", line)]
    head = f"--- {entry['name']}: {entry['result']}, exit status {entry.get('returncode')}"
    if entry["result"] == "SKIP":
        head += " (WEIR_REQUIRE_SHARED is set: what it skips for must be there)"
    return "\n".join([head, *lines[-LINES_SHOWN:]])


def read(text, require_shared):
    """(Counts, output of what failed) of a testlog.json."""
    total = Counts()
    failures = []
    for line in text.splitlines():
        entry = json.loads(line)
        counts = count_program(entry, require_shared)
        total += counts
        if counts.failed:
            failures.append(excerpt(entry))
    return total, "\n".join(failures)


def self_test():
    def log(*entries):
        keys = ("name", "stdout", "result", "returncode")
        return "\n".join(json.dumps(dict(zip(keys, entry))) for entry in entries)

    def counts(entry, require_shared=False):
        return read(log(entry), require_shared)[0]

    assert counts(("a", "1..2\nok 1 - x\nok 2 - y\n", "OK", 0)) == Counts(2)
    assert counts(("a", "1..3\nok 1 - x\nok 2 # SKIP no\nok 3 - z # comment\n", "OK", 0)) == Counts(2, 0, 1)
    assert counts(("a", "1..2\nok 1\nnot ok 2\n", "FAIL", 1)) == Counts(1, 1)
    assert counts(("a", "1..1\nnot ok 1 # TODO later\n", "OK", 0)) == Counts(0, 0, 1)
    assert counts(("crash", "1..3\nok 1\n", "ERROR", -11)) == Counts(1, 1)
    assert counts(("crash", "", "FAIL", -6)) == Counts(0, 1)
    assert counts(("hang", "", "TIMEOUT", -15)) == Counts(0, 1)
    assert counts(("plain", "7 inputs\n", "OK", 0)) == Counts(1)
    assert counts(("skip", "", "SKIP", 77)) == Counts(0, 0, 1)
    assert counts(("skip", "", "SKIP", 77), require_shared=True) == Counts(0, 1)
    assert counts(("skip", "1..0 # SKIP no GPU\n", "SKIP", 0), require_shared=True) == Counts(0, 0, 1)
    assert counts(("none", "1..0\n", "OK", 0)) == Counts(0, 1)
    two = log(("a", "1..1\nok 1\n", "OK", 0), ("b", "1..2\nok 1 - fine\nnot ok 2 - y\n# at y.c:3\n", "FAIL", 1))
    total, text = read(two, False)
    assert str(total) == "2 passed, 1 failed", total
    assert "b: FAIL" in text and "y.c:3" in text and "fine" not in text and "--- a" not in text, text
    assert str(Counts(1, 0, 2)) == "1 passed, 0 failed, 2 skipped"
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else 2)
