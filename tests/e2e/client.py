#!/usr/bin/env python3
"""The command line against a scripted server: run, attach over restarts, logs, ps, cancel.

client.py WEIR"""
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from fake_weir import (ATTEMPT, END, GAP, NOTHING, STATE, STDERR, STDOUT, Cut, FakeWeir, always, ended, frame, workload)

# Whoever started this in the background had these ignored, and so would the commands be.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    signal.signal(_number, signal.SIG_DFL)

WEIR = None
SUBMIT = ("POST", "/v1/workloads")
ATTACH = ("GET", "/v1/workloads/7/attach")
SIGNAL = ("POST", "/v1/workloads/7/signal")
CANCEL = ("POST", "/v1/workloads/7/cancel")
EXPLAIN = ("GET", "/v1/workloads/7/explain")
ONE = ("GET", "/v1/workloads/7")
LOGS = ("GET", "/v1/workloads/7/logs")


def eventually(check, seconds=10):
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise AssertionError("it did not come to that in time")
        time.sleep(0.01)


def process_field(process, name):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return next(line.split(":", 1)[1].split()[0] for line in file if line.startswith(name + ":"))


def pauses(process):
    """With nobody to talk to it sleeps only between two tries."""
    return process_field(process, "State") == "S"


def catches(process, number):
    return int(process_field(process, "SigCgt"), 16) >> (number - 1) & 1


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.data = self.dir.name
        self.server = None

    def start(self, routes):
        self.server = FakeWeir(self.data, {SUBMIT: always(201, workload("queued")), **routes})
        self.addCleanup(self.server.stop)
        self.addCleanup(lambda: self.assertEqual(self.server.problems, []))

    def env(self, **more):
        env = {"PATH": os.environ["PATH"], "HOME": self.data, "WEIR_DATA": self.data,
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        return {**env, **more}

    def weir(self, *args, env=None, data=b"", cwd=None, timeout=60):
        return subprocess.run([WEIR, *args], env=env or self.env(), input=data, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=cwd, timeout=timeout, check=False)

    def popen(self, *args, **more):
        process = subprocess.Popen([WEIR, *args], env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   **more)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check(self, result, status, stdout=b"", stderr=b""):
        self.assertEqual((result.returncode, result.stdout, result.stderr), (status, stdout, stderr))


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
            (["run", "--cwd", "here", "x"], "weir: run: --cwd 'here' is no absolute path "),
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
        self.check(self.weir("run", "-d", "true"), 2, b"", b"weir: metadata.name: 'x' is not a name (use a-z)\n")
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

    def test_dry_run_asks_and_prints(self):
        self.start({("POST", "/v1/apply"): always(200, {"items": []})})
        result = self.weir("run", "--dry-run", "--clean-env", "--gpus", "2", "--cwd", "/tmp", "true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertIn(b"kind: Workload\n", result.stdout)
        self.assertIn(b"  command:\n  - \"true\"\n  gpus: \"2\"\n", result.stdout)
        self.assertRegex(result.stdout, rb"\n  umask: 0[0-7]{3}\n")
        self.assertEqual([r.query for r in self.server.requests], [{"dryRun": "true"}])


class Attach(Case):
    def attach(self, *handlers):
        """A handler per connection; the last one again and again."""
        calls = []

        def handle(request, answer):
            calls.append(request.query)
            answer.start()
            handlers[min(len(calls), len(handlers)) - 1](request, answer)

        self.start({ATTACH: handle})
        return calls

    def test_output_and_status(self):
        def job(request, answer):
            answer.write(frame(STATE, workload("running")) + frame(ATTEMPT, {"attempt": 1}))
            answer.write(frame(STDOUT, b"out\n\0\xff") + frame(STDERR, b"err\n") + frame(NOTHING) + frame(200, b"new"))
            answer.write(frame(STDOUT, b"no newline"))
            answer.write(frame(END, ended(3)))
            answer.end()

        self.attach(job)
        self.check(self.weir("run", "--", "x"), 3, b"out\n\0\xffno newline", b"err\n")

    def test_statuses(self):
        for end, status, said in [
            (ended(0), 0, b""),
            (ended(137, reason="killed by signal 9 (KILL)"), 137, b"weir: job 7 failed: killed by signal 9 (KILL)\n"),
            (ended(126, reason="exit 126: cannot enter '/x': Permission denied"), 126,
             b"weir: job 7 could not start: cannot enter '/x': Permission denied\n"),
            (ended(143, reason="time limit"), 143, b"weir: job 7 failed: time limit\n"),
            (ended(0, "cancelled", reason="cancelled"), 130, b"weir: job 7 was cancelled\n"),
            (ended(None, "lost", reason="lost: it ended unseen"), 3,
             b"weir: job 7 was lost: what became of it is not known\n"),
            (ended(None, "failed", reason="it could not be started"), 1, b"weir: job 7 failed: it could not be started\n"),
        ]:
            with self.subTest(status=status):
                self.attach(lambda r, a, end=end: (a.write(frame(END, end)), a.end()))
                self.check(self.weir("run", "x"), status, b"", said)
                self.assertEqual(self.weir("run", "-q", "x").returncode, status)
                self.server.stop()

    def test_what_could_not_start_is_said_once(self):
        """Quiet or not; where the attempt could write to its stderr, it has said so itself."""
        end = ended(127, reason="exit 127: cannot run 'y': No such file or directory")
        said = b"weir: cannot run 'y': No such file or directory\n"
        self.attach(lambda r, a: (a.write(frame(ATTEMPT, {"attempt": 1}) + frame(STDERR, said) + frame(END, end)), a.end()))
        self.check(self.weir("run", "y"), 127, b"", said)
        self.server.stop()
        self.attach(lambda r, a: (a.write(frame(END, end)), a.end()))
        self.check(self.weir("run", "-q", "y"), 127, b"", b"weir: job 7 could not start: cannot run 'y': No such file or directory\n")

    def test_stream_cut_in_every_place_goes_on(self):
        out, err = b"0123456789" * 3, b"abcdefghij" * 2
        whole = frame(STATE, workload()) + frame(ATTEMPT, {"attempt": 1})

        def send_rest(request, answer, budget):
            from_out, from_err = int(request.query.get("stdout", 0)), int(request.query.get("stderr", 0))
            data = frame(STATE, workload())
            if "attempt" not in request.query:
                data += frame(ATTEMPT, {"attempt": 1})
            data += frame(STDOUT, out[from_out:from_out + 7]) + frame(STDERR, err[from_err:from_err + 5])
            if from_out + 7 >= len(out) and from_err + 5 >= len(err):
                answer.write(data + frame(END, ended(5)))
                answer.end()
                return
            answer.write(data[:budget] if budget else data)
            raise Cut

        state_len = len(frame(STATE, workload()))
        for cut in [0, 1, state_len - 3, state_len + 5, state_len + 13, state_len + 16, state_len + 30, len(whole) + 15]:
            with self.subTest(cut=cut):
                first = [cut]
                self.attach(lambda r, a: send_rest(r, a, first.pop() if first and first[0] else None))
                result = self.weir("run", "x")
                self.assertEqual((result.returncode, result.stdout, result.stderr.replace(
                    b"weir: job 7 is followed again: weir is back\n", b"")), (5, out, err))
                self.server.stop()

    def test_restart_of_the_server_is_said_once(self):
        gate = threading.Event()

        def first(request, answer):
            answer.write(frame(STATE, workload()) + frame(ATTEMPT, {"attempt": 1}) + frame(STDOUT, b"one\n"))
            gate.wait(30)

        def second(request, answer):
            answer.write(frame(STATE, workload()) + frame(STDOUT, b"two\n") + frame(END, ended(0)))
            answer.end()

        calls = self.attach(first, second)
        process = self.popen("run", "x")
        self.assertEqual(process.stdout.readline(), b"one\n")
        self.server.stop()
        gate.set()
        self.assertEqual(process.stderr.readline(), b"weir: job 7 goes on, but weir is away: waiting for it to come back\n")
        self.server.start()
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out, err), (0, b"two\n", b"weir: job 7 is followed again: weir is back\n"))
        self.assertEqual(calls[1], {"attempt": "1", "stdout": "4", "stderr": "0"})

    def test_server_that_starts_over_prints_nothing_twice(self):
        """Of many members the places do not fit into a request: all comes again from 0."""
        n = 3000
        lines = [b"line of %d\n" % i for i in range(n)]

        def send(request, answer, cut):
            self.assertEqual(request.query, {})
            data = frame(STATE, workload(members=n))
            data += b"".join(frame(ATTEMPT, {"attempt": 1}, i) + frame(STDOUT, lines[i], i) for i in range(n))
            if cut:
                answer.write(data[:-5])
                raise Cut
            answer.write(data + frame(END, ended(0)))
            answer.end()

        self.attach(lambda r, a: send(r, a, True), lambda r, a: send(r, a, False))
        self.check(self.weir("run", "-q", "--array", str(n), "x"), 0, b"".join(lines))

    def test_new_attempt_starts_over(self):
        def job(request, answer):
            answer.write(frame(ATTEMPT, {"attempt": 1}) + frame(STDOUT, b"first\n"))
            answer.write(frame(ATTEMPT, {"attempt": 2}) + frame(STDOUT, b"seco"))
            raise Cut

        def rest(request, answer):
            answer.write(frame(STDOUT, b"nd\n") + frame(END, ended(0)))
            answer.end()

        calls = self.attach(job, rest)
        self.check(self.weir("run", "-q", "x"), 0, b"first\nsecond\n")
        self.assertEqual(calls[1], {"attempt": "2", "stdout": "4", "stderr": "0"})

    def test_gap_is_said_and_counted(self):
        def job(request, answer):
            answer.write(frame(ATTEMPT, {"attempt": 1}) + frame(STDOUT, b"0123"))
            answer.write(frame(GAP, {"stream": "stdout", "from": 4, "to": 104}) + frame(STDOUT, b"rest"))
            raise Cut

        calls = self.attach(job, lambda r, a: (a.write(frame(END, ended(0))), a.end()))
        result = self.weir("run", "x")
        self.assertEqual((result.returncode, result.stdout), (0, b"0123rest"))
        self.assertIn(b"weir: job 7 wrote more than is kept: 100 bytes of stdout are gone\n", result.stderr)
        self.assertEqual(calls[1]["stdout"], "108")

    def test_members_are_labelled_by_line(self):
        def job(request, answer):
            answer.write(frame(STATE, workload(members=2)))
            answer.write(frame(STDOUT, b"a", 0) + frame(STDOUT, b"x\ny", 1) + frame(STDOUT, b"b\n", 0))
            answer.write(frame(STDERR, b"e\n", 1) + frame(STDOUT, b"z", 1) + frame(END, ended(0, members=2)))
            answer.end()

        self.attach(job)
        self.check(self.weir("run", "--label", "--members", "2", "x"), 0, b"[1] x\n[0] ab\n[1] yz\n", b"[1] e\n")

    def test_nonsense_is_no_job(self):
        for data in [b"\0" * 12, b"\1\1\0\0" + b"\0" * 8, b"HTTP/1.1 200 OK", b"\3\0\0\0\0\0\0\0\xff\xff\xff\xff",
                     frame(STATE, b"{"), frame(END, b"nul")]:
            with self.subTest(data=data[:16]):
                self.attach(lambda r, a, data=data: (a.write(data), a.end()))
                result = self.weir("run", "x")
                self.assertEqual((result.returncode, result.stdout), (3, b""))
                self.assertRegex(result.stderr, rb"^weir: weir sends [^\n]*\n$")
                self.server.stop()

    def test_wrong_status_is_not_a_jobs_status(self):
        for status, code in [(404, "not-found"), (403, "denied"), (500, "io")]:
            self.start({ATTACH: lambda r, a, s=status, c=code: a.error(s, c, "no")})
            self.check(self.weir("run", "x"), 3, b"", b"weir: no\n")
            self.server.stop()

    def test_closed_stdout(self):
        go, done = threading.Event(), threading.Event()
        self.addCleanup(done.set)

        def job(request, answer):
            answer.write(frame(STDOUT, b"first\n"))
            go.wait(30)
            answer.write(frame(STDOUT, b"second\n"))
            done.wait(30)

        self.attach(job)
        process = self.popen("run", "x")
        self.assertEqual(process.stdout.readline(), b"first\n")
        process.stdout.close()
        go.set()
        self.assertEqual(process.wait(timeout=20), 141)
        self.assertEqual(self.server.count(*CANCEL), 0)


class Signals(Case):
    def run_job(self, state, *more):
        """A job in that state that ends when told to."""
        self.end = threading.Event()
        self.last = ended(130)

        def job(request, answer):
            answer.start()
            answer.write(frame(STATE, workload(state)) + frame(STDOUT, b"follows\n"))
            self.end.wait(30)
            answer.write(frame(END, self.last))
            answer.end()

        def signal_it(request, answer):
            answer.send(202, {})

        def cancel(request, answer):
            self.last = ended(0, "cancelled", reason="cancelled")
            answer.send(202, {})
            self.end.set()

        self.start({ATTACH: job, SIGNAL: signal_it, CANCEL: cancel})
        process = self.popen("run", *more, "x", start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"follows\n")  # so it knows the state
        return process

    def sent(self):
        return [json.loads(r.body)["signal"] for r in self.server.find(*SIGNAL)]

    def test_waiting_job_is_cancelled(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]:
            with self.subTest(number=number):
                process = self.run_job("queued")
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=20), 130)
                self.assertEqual((self.sent(), self.server.count(*CANCEL)), ([], 1))
                self.server.stop()

    def test_running_job_gets_them(self):
        process = self.run_job("running")
        for number, name in [(signal.SIGUSR1, "USR1"), (signal.SIGUSR2, "USR2"), (signal.SIGHUP, "HUP"),
                             (signal.SIGQUIT, "QUIT"), (signal.SIGTERM, "TERM"), (signal.SIGINT, "INT")]:
            process.send_signal(number)
            eventually(lambda: self.sent()[-1:] == [name])
        self.end.set()
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual(self.server.count(*CANCEL), 0)

    def test_second_interrupt_cancels(self):
        process = self.run_job("running")
        process.send_signal(signal.SIGINT)
        eventually(lambda: self.sent() == ["INT"])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual((self.sent(), self.server.count(*CANCEL)), (["INT"], 1))
        self.assertEqual(process.stderr.read(), b"weir: job 7 is being cancelled\nweir: job 7 was cancelled\n")

    def test_signal_to_what_ended_meanwhile(self):
        """The server refuses, as it has ended: its end is what counts."""
        process = self.run_job("running")

        def refuse(request, answer):
            answer.error(409, "exists", "workload 7 has ended (cancelled)")
            self.last = ended(0, "cancelled", reason="cancelled")
            self.end.set()

        self.server.routes[SIGNAL] = refuse
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual((process.stderr.read(), self.server.count(*CANCEL)), (b"weir: job 7 was cancelled\n", 0))

    def test_signal_to_what_has_not_begun(self):
        """A server that answers is not away, whatever it answers."""
        process = self.run_job("starting")
        self.server.routes[SIGNAL] = lambda r, a: a.error(503, "unavailable", "workload 7 has not begun")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual((process.stderr.read(), self.server.count(*CANCEL)), (b"weir: job 7 was cancelled\n", 1))

    def test_stop_and_continue(self):
        process = self.run_job("running")
        process.send_signal(signal.SIGTSTP)
        eventually(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None)
        self.assertEqual(self.sent(), ["TSTP"])
        process.send_signal(signal.SIGCONT)
        eventually(lambda: self.sent() == ["TSTP", "CONT"])
        self.end.set()
        self.assertEqual(process.wait(timeout=20), 130)

    def test_ignored_signals_stay_so(self):
        begun, end = threading.Event(), threading.Event()

        def job(request, answer):
            answer.start()
            answer.write(frame(STATE, workload("running")))
            begun.set()
            end.wait(30)
            answer.write(frame(END, ended(0)))
            answer.end()

        self.start({ATTACH: job, SIGNAL: always(202, {})})
        process = subprocess.Popen(["sh", "-c", f'trap "" HUP; exec "{WEIR}" run x'], env=self.env())
        self.addCleanup(process.wait)
        self.assertTrue(begun.wait(20))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR1)
        eventually(lambda: self.sent() == ["USR1"])
        end.set()
        self.assertEqual(process.wait(timeout=20), 0)

    def test_away_and_interrupted(self):
        process = self.run_job("running")
        self.server.stop()
        self.end.set()
        self.assertEqual(process.stderr.readline(), b"weir: job 7 goes on, but weir is away: waiting for it to come back\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual(process.stderr.read(), b"weir: job 7 goes on: weir cannot be reached\n")

    def test_interrupted_where_nobody_accepts(self):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(os.path.join(self.data, "weir.sock"))
        listener.listen(0)
        for _ in range(2):
            waiting = socket.socket(socket.AF_UNIX)
            self.addCleanup(waiting.close)
            waiting.setblocking(False)
            try:
                waiting.connect(listener.getsockname())
            except BlockingIOError:
                break
        else:
            self.fail("the backlog does not fill")
        process = self.popen("run", "x", start_new_session=True)
        eventually(lambda: catches(process, signal.SIGINT))
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual(process.stderr.read(), b"weir: interrupted: the job was not submitted\n")

    def test_that_it_goes_on_is_said_however_quiet(self):
        process = self.run_job("running", "--quiet")
        self.server.stop()
        self.end.set()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual(process.stderr.read(), b"weir: job 7 goes on: weir cannot be reached\n")

    def submitting(self, submit, *options):
        """A client whose submission submit() answers; the job waits, and ends when it is cancelled."""
        cancelled = threading.Event()

        def job(request, answer):
            answer.start()
            answer.write(frame(STATE, workload("queued")))
            cancelled.wait(30)
            answer.write(frame(END, ended(0, "cancelled", reason="cancelled")))
            answer.end()

        def cancel(request, answer):
            answer.send(202, {})
            cancelled.set()

        self.start({SUBMIT: submit, ATTACH: job, CANCEL: cancel,
                    SIGNAL: lambda r, a: a.error(503, "unavailable", "workload 7 has not begun")})
        return self.popen("run", *options, "x", start_new_session=True)

    def test_interrupted_before_the_answer(self):
        """What was taken is cancelled, as if the signal had come a moment later."""
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]:
            with self.subTest(number=number):
                asked, go = threading.Event(), threading.Event()
                process = self.submitting(lambda r, a: (asked.set(), go.wait(30), a.send(201, workload("queued"))))
                self.assertTrue(asked.wait(20))
                process.send_signal(number)
                go.set()
                self.assertEqual(process.wait(timeout=20), 130)
                self.assertEqual((process.stderr.read(), self.server.count(*CANCEL)), (b"weir: job 7 was cancelled\n", 1))
                self.server.stop()

    def test_interrupted_before_the_answer_and_the_server_restarts(self):
        """Under its key it is asked for again what became of it."""
        asked, go, keys = threading.Event(), threading.Event(), []

        def submit(request, answer):
            keys.append(request.headers["idempotency-key"])
            if len(keys) == 1:
                asked.set()
                go.wait(30)
                raise Cut
            answer.send(200, workload("queued"))

        process = self.submitting(submit)
        self.assertTrue(asked.wait(20))
        process.send_signal(signal.SIGTERM)
        go.set()
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual((process.stderr.read(), self.server.count(*CANCEL)), (b"weir: job 7 was cancelled\n", 1))
        self.assertEqual((len(keys), len(set(keys))), (2, 1))

    def test_interrupted_before_a_refusal(self):
        asked, go = threading.Event(), threading.Event()
        process = self.submitting(lambda r, a: (asked.set(), go.wait(30), a.error(422, "impossible", "no node has 9 GPUs")))
        self.assertTrue(asked.wait(20))
        process.send_signal(signal.SIGINT)
        go.set()
        self.assertEqual((process.wait(timeout=20), process.stderr.read()), (1, b"weir: no node has 9 GPUs\n"))

    def test_interrupted_and_no_answer_comes(self):
        """It is not waited for without end, and after a second signal not at all. Other signals are for a command that runs."""
        for numbers, status, said in [
            ([signal.SIGUSR1, signal.SIGTERM], 143, b"weir: interrupted, and weir does not answer: the job may have been taken (see weir ps)\n"),
            ([signal.SIGINT, signal.SIGTERM], 130, b"weir: interrupted again: the job may have been taken (see weir ps)\n"),
        ]:
            with self.subTest(numbers=numbers):
                asked, go = threading.Event(), threading.Event()
                process = self.submitting(lambda r, a: (asked.set(), go.wait(30)))
                self.addCleanup(go.set)
                self.assertTrue(asked.wait(20))
                for number in numbers:
                    process.send_signal(number)
                self.assertEqual((process.wait(timeout=20), process.stderr.read()), (status, said))
                go.set()
                self.server.stop()

    def test_interrupted_before_it_was_sent(self):
        self.start({})
        self.server.stop()
        for options in [], ["--detach"]:
            process = self.popen("run", *options, "x", start_new_session=True)
            eventually(lambda: catches(process, signal.SIGTERM))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=20), 143)
            self.assertEqual(process.stderr.read(), b"weir: interrupted: the job was not submitted\n")

    def test_detached_and_interrupted_before_the_answer(self):
        """Nobody was told which job it is: it is not left behind."""
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            with self.subTest(number=number):
                asked, go = threading.Event(), threading.Event()
                process = self.submitting(lambda r, a: (asked.set(), go.wait(30), a.send(201, workload("queued"))), "--detach")
                self.assertTrue(asked.wait(20))
                process.send_signal(number)
                go.set()
                self.assertEqual(process.wait(timeout=20), 130)
                self.assertEqual((process.stdout.read(), process.stderr.read()), (b"", b"weir: interrupted: job 7 is cancelled\n"))
                self.assertEqual((self.server.count(*CANCEL), self.server.count(*ATTACH)), (1, 0))
                self.server.stop()

    def test_detached_and_interrupted_and_not_cancelled(self):
        asked, go = threading.Event(), threading.Event()
        self.start({SUBMIT: lambda r, a: (asked.set(), go.wait(30), a.send(201, workload("queued"))),
                    CANCEL: lambda r, a: a.error(503, "unavailable", "weir is stopping")})
        process = self.popen("run", "-dq", "x", start_new_session=True)
        self.assertTrue(asked.wait(20))
        process.send_signal(signal.SIGINT)
        go.set()
        self.assertEqual((process.wait(timeout=20), process.stdout.read()), (3, b""))
        self.assertEqual(process.stderr.read(), b"weir: job 7 goes on: it cannot be cancelled: weir is stopping\n")

    def test_detached_and_interrupted_and_no_answer_comes(self):
        asked, go = threading.Event(), threading.Event()
        process = self.submitting(lambda r, a: (asked.set(), go.wait(30)), "--detach")
        self.addCleanup(go.set)
        self.assertTrue(asked.wait(20))
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual(process.stderr.read(), b"weir: interrupted again: the job may have been taken (see weir ps)\n")

    def test_on_a_terminal_it_says_why_it_waits(self):
        at_ms = 1000 * int(time.mktime(time.struct_time((*time.localtime()[:3], 14, 20, 0, 0, 0, -1))))

        def job(request, answer):
            answer.start()
            for reason in [None, "Resources", "Resources", "Priority"]:
                answer.write(frame(STATE, workload("queued", reason=reason)))
            answer.write(frame(STATE, workload("running")) + frame(END, ended(0)))
            answer.end()

        self.start({ATTACH: job, EXPLAIN: always(200, {"expected_start": {"p50_ms": at_ms, "p90_ms": None}})})
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([WEIR, "run", "x"], env=self.env(), stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        self.assertEqual(process.wait(timeout=20), 0)
        said = b""
        while said.count(b"\n") < 2:  # a terminal may give a line at a time
            said += os.read(ours, 4096)
        self.assertRegex(said.replace(b"\r\n", b"\n"), rb"^weir: job 7 waits: Resources \(expected start 14:20(:00)?\)\n"
                         rb"weir: job 7 waits: Priority \(expected start 14:20(:00)?\)\n$")
        self.assertEqual(self.server.count(*EXPLAIN), 2)


    def test_a_start_that_is_near_has_seconds(self):
        at = time.localtime(time.time() + 300)

        def job(request, answer):
            answer.start()
            answer.write(frame(STATE, workload("queued", reason="Resources")) + frame(END, ended(0)))
            answer.end()

        self.start({ATTACH: job, EXPLAIN: always(200, {"expected_start": {"p50_ms": 1000 * int(time.mktime(at))}})})
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([WEIR, "run", "x"], env=self.env(), stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        self.assertEqual(process.wait(timeout=20), 0)
        self.assertIn(time.strftime("%H:%M:%S)", at).encode(), os.read(ours, 4096))


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
        self.check(self.weir("logs", "no/such"), 1, b"", b"weir: there is no /v1/workloads/no%2Fsuch\n")

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

        self.start({("GET", "/v1/workloads"): page})
        result = self.weir("ps", "-a", "-o", "json", "--queue", "a b&c")
        self.assertEqual(json.loads(result.stdout), jobs)
        self.assertEqual([r.query for r in self.server.requests],
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
    WEIR = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=0)
