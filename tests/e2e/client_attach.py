#!/usr/bin/env python3
"""An attached `weir run` against a scripted server: output over restarts, statuses, signals.

client_attach.py WEIR"""
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
from client_case import ATTACH, CANCEL, EXPLAIN, SIGNAL, SUBMIT, WEIR, Case, catches, eventually
from fake_weir import ATTEMPT, END, GAP, NOTHING, STATE, STDERR, STDOUT, Cut, always, ended, frame, workload


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
        said = b"weir: interrupted: the job was not submitted\n"
        for options, expected in ([], said), (["--detach"], said), (["-q"], b""), (["-dq"], b""):
            process = self.popen("run", *options, "x", start_new_session=True)
            eventually(lambda: catches(process, signal.SIGTERM))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=20), 143)
            self.assertEqual(process.stderr.read(), expected)

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
        """That the job may have been taken is no notice: it is said however quiet."""
        asked, go = threading.Event(), threading.Event()
        process = self.submitting(lambda r, a: (asked.set(), go.wait(30)), "-dq")
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

        self.start({ATTACH: job, EXPLAIN: always(200, {
            "blocking": {"text": "nodes: not enough free GPUs anywhere"},
            "expected_start": {"p50_ms": at_ms, "p90_ms": None, "assumed": True}})})
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([WEIR, "run", "x"], env=self.env(), stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        self.assertEqual(process.wait(timeout=20), 0)
        said = b""
        while said.count(b"\n") < 2:  # a terminal may give a line at a time
            said += os.read(ours, 4096)
        self.assertRegex(said.replace(b"\r\n", b"\n"), rb"^weir: job 7 waits: nodes: not enough free GPUs anywhere \(expected start 14:20(:00)? \S+, a guess\)\n"
                         rb"weir: job 7 waits: nodes: not enough free GPUs anywhere \(expected start 14:20(:00)? \S+, a guess\)\n$")
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
        self.assertIn(time.strftime("%H:%M:%S %Z)", at).encode(), os.read(ours, 4096))


if __name__ == "__main__":
    unittest.main(verbosity=0)
