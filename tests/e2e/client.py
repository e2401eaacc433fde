#!/usr/bin/env python3
"""The command line against a scripted server: submitting, logs, ps, cancel.

client.py WEIR"""
import json
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from client_case import ATTACH, CANCEL, LOGS, ONE, SUBMIT, WEIR, Case, eventually, pauses
from fake_weir import END, STATE, STDOUT, Cut, always, ended, frame, workload


class Submit(Case):
    def test_detached_prints_the_number_alone(self):
        self.start({})
        self.check(self.weir("run", "--detach", "--", "true"), 0, b"7\n")
        self.assertEqual(len(self.server.requests), 1)

    def test_body_says_what_the_shell_is(self):
        self.start({})
        env = self.env(WEIR_TOKEN="secret", WEIR_SERVER="", A="1", LINES_OF="a\nb", **{"BASH_FUNC_f%%": "() { :; }"})
        result = subprocess.run(["sh", "-c", f'umask 027; cd /usr; exec "{WEIR}" run -d -g 2 --gpu-memory 20Gi -e B=2 -e A '
                                 "-e A=3 --time 1h30m --retry-on 1,64-66 --preemptible=false --priority -5 "
                                 "--name n --array 3 sh -c 'exit 3' --help"], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=False)
        self.check(result, 0, b"7\n")
        request = self.server.requests[0]
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertRegex(request.headers["idempotency-key"], "^[0-9a-f]{32}$")
        body = json.loads(request.body)
        environ = body["spec"].pop("env")
        self.assertEqual(body, {
            "apiVersion": "weir.dev/v1", "kind": "Workload", "metadata": {"name": "n"},
            "spec": {"command": ["sh", "-c", "exit 3", "--help"], "gpus": "2", "gpuMemory": "20Gi",
                     "timeLimit": "1h30m", "retryOn": [1, 64, 65, 66], "preemptible": False, "priority": -5,
                     "array": 3, "umask": 0o027, "cwd": "/usr"}})
        self.assertEqual((environ["A"], environ["B"], environ["LINES_OF"]), ("3", "2", "a\nb"))
        self.assertFalse({"WEIR_TOKEN", "WEIR_SERVER", "BASH_FUNC_f%%", "_"} & set(environ))

    def test_clean_env(self):
        self.start({})
        self.weir("run", "-d", "--clean-env", "--env", "B=2", "true", env=self.env(A="1", LC_ALL="C"))
        environ = json.loads(self.server.requests[0].body)["spec"]["env"]
        self.assertEqual(set(environ), {"PATH", "HOME", "LC_ALL", "B"})

    def test_refusals_before_anything_is_sent(self):
        self.start({})
        for args, said in [
            (["run"], "weir: run: [--] COMMAND [ARG]… is missing (see weir run --help)"),
            (["run", "--gpus", "two", "x"], "weir: run: --gpus 'two': "),
            (["run", "--gpus"], "weir: run: --gpus needs N (for example --gpus 2)"),
            (["run", "--gpsu=2", "x"], "weir: run: there is no option --gpsu (did you mean --gpus?)"),
            (["run", "-Z", "x"], "weir: run: there is no option -Z (see weir run --help)"),
            (["run", "--detach=yes", "x"], "weir: run: --detach takes no value"),
            (["run", "--members", "0", "x"], "weir: run: --members '0': it must be 1 to 4096"),
            (["run", "--time", "soon", "x"], "weir: run: --time 'soon': "),
            (["run", "--class", "traning", "x"], "weir: run: --class 'traning': it must be one of "
             "service|batch|training|dev (did you mean training?)"),
            (["run", "--retry-on", "0", "x"], "weir: run: --retry-on '0' is no list of exit statuses 1 to 255 "),
            (["run", "--env", "=x", "x"], "weir: run: --env '=x' is no variable in UTF-8 "),
            (["run", "--env", "UNSET", "x"], "weir: run: --env UNSET: the shell has no such variable"),
            (["run", "--cwd", "here", "x"], "weir: run: --cwd 'here': No such file or directory"),
            (["run", b"\xff"], "weir: run: word 1 of the command is not UTF-8"),
            (["rn"], "weir: there is no command 'rn' (did you mean run?)"),
            (["--verson"], "weir: there is no option '--verson' (see weir --help)"),
            (["ps", "x"], "weir: ps: 'x' is one word too many (see weir ps --help)"),
            (["cancel"], "weir: cancel: ID… is missing (see weir cancel --help)"),
            (["--data", self.data, "--server", "http://localhost", "ps"], "weir: --data and --server name two servers "),
            (["--server", "https://localhost", "ps"], "weir: 'https://localhost' is no address of a weir: "),
        ]:
            with self.subTest(args=args):
                result = self.weir(*args)
                said_now = result.stderr.decode()
                self.assertEqual((result.returncode, result.stdout), (2, b""))
                self.assertTrue(said_now.startswith(said), said_now)
                self.assertEqual(said_now.count("\n"), 1)
        self.assertEqual(self.server.requests, [])

    def test_refusal_of_the_server_has_its_words_and_a_status(self):
        self.start({SUBMIT: lambda r, a: a.error(400, "invalid", "'x' is not a name", field="metadata.name",
                                                 hint="use a-z", line=1, column=9)})
        self.check(self.weir("run", "-d", "true"), 2, b"", b"weir: --name: 'x' is not a name (use a-z)\n")
        self.check(self.weir("run", "-d", "--name", "x", "true"), 2, b"", b"weir: --name x: 'x' is not a name (use a-z)\n")
        self.start({SUBMIT: lambda r, a: a.error(400, "invalid", "there is no queue 'nope'", field="spec.queue")})
        self.check(self.weir("run", "-Q", "nope", "true"), 2, b"", b"weir: --queue nope: there is no queue 'nope'\n")
        self.start({SUBMIT: lambda r, a: a.error(422, "impossible", "no node has 9 GPUs", hint="8 would fit")})
        self.check(self.weir("run", "true"), 1, b"", b"weir: no node has 9 GPUs (8 would fit)\n")

    def test_wrong_answers(self):
        for answer in [always(500, b"oops"), always(201, b"{"), always(201, {"id": ""}), always(404, [1])]:
            self.start({SUBMIT: answer})
            result = self.weir("run", "-d", "true")
            self.assertEqual((result.returncode, result.stdout), (3, b""))
            self.assertRegex(result.stderr, rb"^weir: weir [^\n]*\n$")
            self.server.stop()

    def test_no_server_is_said_at_once(self):
        begin = time.monotonic()
        result = self.weir("run", "-d", "true")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr.decode(), r"^weir: cannot reach weir at '.*/weir.sock': .* \(start it with `weir up`\)\n$")
        self.assertLess(time.monotonic() - begin, 5)

    def test_lost_answer_is_asked_for_again_under_the_same_key(self):
        tries = []

        def submit(request, answer):
            tries.append(request.headers["idempotency-key"])
            if len(tries) < 3:
                raise Cut
            answer.send(201, workload("queued"))

        self.start({SUBMIT: submit})
        self.check(self.weir("run", "-d", "true"), 0, b"7\n")
        self.assertEqual((len(tries), len(set(tries))), (3, 1))

    def test_restarting_server_is_waited_for(self):
        self.start({})
        self.server.stop()
        process = self.popen("run", "-d", "true")
        eventually(lambda: pauses(process))
        self.server.start()
        self.assertEqual(process.communicate(timeout=20), (b"7\n", b""))
        self.assertEqual((process.returncode, self.server.count(*SUBMIT)), (0, 1))

    def test_waiting_for_a_server_is_said(self):
        self.start({})
        self.server.stop()
        process = self.popen("run", "-d", "true")
        said = process.stderr.readline().decode()
        self.assertRegex(said, r"^weir: waiting for weir at '.*/weir.sock' \(start it with `weir up`\)\n$")
        self.server.start()
        self.assertEqual(process.communicate(timeout=20), (b"7\n", b""))
        self.assertEqual(process.returncode, 0)

    def test_waiting_for_a_server_is_not_said_where_it_is_to_be_quiet(self):
        self.start({})
        self.server.stop()
        process = self.popen("run", "-dq", "true")
        eventually(lambda: pauses(process))
        time.sleep(2)  # by then it says so otherwise
        self.server.start()
        self.assertEqual(process.communicate(timeout=20), (b"7\n", b""))

    def test_dry_run_asks_and_prints(self):
        self.start({("POST", "/v1/apply"): always(200, {"items": [{
            "kind": "Workload", "name": "true", "assumed": {"queue": "elsewhere", "class": "batch", "priority": 0, "preemptible": True}}]})})
        result = self.weir("run", "--dry-run", "--clean-env", "--gpus", "2", "--cwd", "/tmp", "true", env=self.env(SECRET="s3cret"))
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rb"^weir: [0-9]+ variables of the environment are not shown \(--show-env\)\n$")
        self.assertIn(b"kind: Workload\nmetadata:\n  name: \"true\"\nspec:\n", result.stdout)
        self.assertIn(b"  command:\n  - \"true\"\n  gpus: \"2\"\n", result.stdout)
        self.assertTrue(result.stdout.endswith(b"  queue: elsewhere\n  class: batch\n  priority: 0\n  preemptible: true\n"), result.stdout)
        self.assertRegex(result.stdout, rb"\n  umask: 0[0-7]{3}\n")
        self.assertNotIn(b"env:", result.stdout)
        self.assertEqual([r.query for r in self.server.requests], [{"dryRun": "true"}])
        self.assertEqual(self.weir("run", "--dry-run", "--quiet", "true").stderr, b"")
        result = self.weir("run", "--dry-run", "--show-env", "--name", "n", "true", env=self.env(SECRET="s3cret"))
        self.assertIn(b"    SECRET: s3cret\n", result.stdout)
        self.assertIn(b"metadata:\n  name: \"n\"\nspec:\n", result.stdout)
        self.assertLess(result.stdout.index(b"  queue: elsewhere\n"), result.stdout.index(b"  env:\n"))
        self.assertNotIn(b"gpus", result.stdout)  # nobody said it
        self.assertEqual(result.stderr, b"")


class Logs(Case):
    def logs(self, streams, n=1, offset=0):
        def handle(request, answer):
            data = streams[(request.query.get("stream", "stdout"), request.query.get("member", "0"))]
            answer.start([("Weir-Offset", str(offset))])
            answer.write(data)
            answer.end()

        tasks = [{"member": 0, "attempt": 2}]
        self.start({ONE: always(200, workload(members=n, tasks=tasks)), LOGS: handle})

    def test_both_streams_apart(self):
        self.logs({("stdout", "0"): b"o\xff\n", ("stderr", "0"): b"e\n"})
        self.check(self.weir("logs", "7"), 0, b"o\xff\n", b"e\n")
        self.check(self.weir("logs", "7", "--stdout"), 0, b"o\xff\n", b"")
        self.check(self.weir("logs", "--stderr", "7"), 0, b"", b"e\n")

    def test_tail(self):
        lines = [b"%d\n" % i for i in range(500000)]
        self.logs({("stdout", "0"): b"".join(lines), ("stderr", "0"): b"a\nb"})
        self.check(self.weir("logs", "7", "--tail", "2"), 0, b"".join(lines[-2:]), b"a\nb")
        self.check(self.weir("logs", "7", "--tail=1"), 0, lines[-1], b"b")
        self.check(self.weir("logs", "7", "--tail=0"), 0, b"", b"")

    def test_members_with_labels(self):
        self.logs({("stdout", str(i)): b"x%d\ny" % i for i in range(2)} | {("stderr", str(i)): b"" for i in range(2)}, 2)
        self.check(self.weir("logs", "7", "--label"), 0, b"[0] x0\n[0] y\n[1] x1\n[1] y\n")
        self.check(self.weir("logs", "7", "--member", "1"), 0, b"x1\ny")

    def test_tail_and_follow_go_on_where_the_tail_ended(self):
        self.logs({("stdout", "0"): b"1\n2\n", ("stderr", "0"): b""}, offset=100)

        def attach(request, answer):
            self.assertEqual(request.query, {"member": "0", "attempt": "2", "stdout": "104", "stderr": "100"})
            answer.start()
            answer.write(frame(STDOUT, b"3\n") + frame(END, ended(9)))
            answer.end()

        self.server.routes[ATTACH] = attach
        self.check(self.weir("logs", "-f", "--tail", "1", "7"), 0, b"2\n3\n")

    def test_what_was_dropped_is_said(self):
        self.logs({("stdout", "0"): b"rest\n", ("stderr", "0"): b""}, offset=100)
        self.check(self.weir("logs", "--stdout", "7"), 0, b"rest\n",
                   b"weir: 100 bytes of stdout before this were dropped (see weir run --output-max)\n")
        self.check(self.weir("logs", "--stdout", "--tail", "1", "7"), 0, b"rest\n")

    def test_members_that_are_not_there(self):
        self.logs({}, 4)
        self.check(self.weir("logs", "7", "--member", "9"), 2, b"", b"weir: member 9: workload 7 has members 0 to 3\n")
        self.check(self.weir("logs", "7/2"), 2, b"", b"weir: logs: 7/2 is one member of a job (weir logs 7 --member 2)\n")

    def test_unknown_job(self):
        self.start({})
        self.check(self.weir("logs", "no such"), 1, b"", b"weir: there is no /v1/workloads/no%20such\n")

    def test_what_has_not_begun_is_said(self):
        self.start({ONE: always(200, workload("queued", attempt=0, reason="QueueLimit", tasks=[{"member": 0, "attempt": 0}])),
                    LOGS: lambda r, a: (a.start([("Weir-Offset", "0")]), a.end())})
        self.check(self.weir("logs", "7"), 0, b"", b"weir: job 7 has not begun: QueueLimit\n")

    def test_an_earlier_attempt_is_named(self):
        self.start({ONE: always(200, workload(attempt=2, tasks=[{"member": 0, "attempt": 2}])),
                    LOGS: lambda r, a: (a.start([("Weir-Offset", "0")]), a.end())})
        self.check(self.weir("logs", "7"), 0, b"", b"weir: this is attempt 2 of job 7; the one before: --attempt 1\n")
        self.check(self.weir("logs", "--attempt", "1", "7"), 0, b"", b"")

    def test_full_disk(self):
        self.logs({("stdout", "0"): b"x" * 100000, ("stderr", "0"): b""})
        with open("/dev/full", "wb") as full:
            result = subprocess.run([WEIR, "logs", "7"], env=self.env(), stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, rb"^weir: write the output")


class Lists(Case):
    def test_json_of_all_pages(self):
        jobs = [workload(id=str(i), name=f"j{i}") for i in range(5)]

        def page(request, answer):
            start = int(request.query.get("after", 0))
            more = {"next": str(start + 2)} if start + 2 < len(jobs) else {}
            answer.send(200, {"items": jobs[start:start + 2], **more})

        self.start({("GET", "/v1/workloads"): page, ("GET", "/v1/queues/a%20b%26c"): always(200, {"name": "a b&c"})})
        result = self.weir("ps", "-a", "-o", "json", "--queue", "a b&c")
        self.assertEqual(json.loads(result.stdout), jobs)
        self.assertEqual([r.query for r in self.server.requests if r.path == "/v1/workloads"],
                         [{"all": "true", "queue": "a b&c", "limit": "1000", **after}
                          for after in ({}, {"after": "2"}, {"after": "4"})])
        self.assertEqual(self.weir("ps", "-o", "name").stdout, b"0\n1\n2\n3\n4\n")
        self.assertEqual(self.weir("ps", "-o", "yaml").stdout.count(b"- id: "), 5)

    def test_table(self):
        now = int(time.time() * 1000)
        jobs = [workload("running", id="12", gpus=["GPU-a", "GPU-b"], submitted_ms=now - 3600500, started_ms=now - 185500),
                workload("queued", id="13", name="n\033[31m", node=None, reason="Resources", members=4)]
        jobs[1]["submitted_ms"] = now - 5500
        self.start({("GET", "/v1/workloads"): always(200, {"items": jobs})})
        result = self.weir("ps")
        self.assertEqual(result.stdout.decode(), """\
ID  NAME       QUEUE    STATE    GPUS  NODE    AGE    RUN  REASON
12  job        default  running     2  here  1h00m  3m05s  -
13  n?[31m[4]  default  queued      -  -      5.5s      -  Resources
""")

    def test_empty(self):
        self.start({("GET", "/v1/workloads"): always(200, {"items": []})})
        self.check(self.weir("ps"), 0, b"", b"no jobs\n")
        self.check(self.weir("ps", "-o", "json"), 0, b"[]\n")
        self.check(self.weir("ps", "-o", "yaml"), 0, b"[]\n")

    def test_cancel_tries_all(self):
        states = iter(["queued", "failed", "running"])
        self.start({CANCEL: lambda r, a: a.send(202, {"id": "7", "was": next(states)})})
        result = self.weir("cancel", "7", "8", "workload/7", "7")
        self.check(result, 1, b"workload/7 cancelled\nworkload/7 had already ended (failed)\nworkload/7 is asked to stop\n",
                   b"weir: cancel 8: there is no /v1/workloads/8/cancel\n")
        self.check(self.weir("cancel", "7/2"), 2, b"", b"weir: cancel 7/2: one element of an array cannot be cancelled by itself "
                   b"(weir cancel 7 ends all of it)\n")


if __name__ == "__main__":
    unittest.main(verbosity=0)
