#!/usr/bin/env python3
"""The other commands against a scripted server; and help, man pages and completion of all of them.

commands.py WEIR"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
from client_case import CANCEL, EXPLAIN, ONE, SUBMIT, WEIR, Case, eventually
from fake_weir import Cut, FakeWeir, always, workload

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GPU = {"key": "GPU-1", "model": "NVIDIA H100", "class": "h100-sxm", "node": "a", "index": 0, "state": "in-use", "health": "healthy",
       "cordoned": False, "holders": [{"id": "7", "name": "job", "owner": "me", "member": 0, "gpus": 1, "memory_bytes": None}],
       "foreign_processes": 0, "memory_bytes": 85520809984, "held": 1}


def queue(name, parent=None, **more):
    return {"name": name, "parent": parent, "priority": 0, "weight": 1, "isolation": "none", "preemptible": True,
            "max_run_ms": None, "guaranteed": {}, "limit": {}, "held": {}, "wanted": {}, "waiting": 0, "created_ms": 1, **more}


def items(*objects):
    return always(200, {"items": list(objects)})


class Looking(Case):
    def test_get_of_every_kind(self):
        node = {"name": "a", "pool": None, "state": "cordoned", "phase": "cordoned", "cause": "maintenance", "gpus": 8,
                "capacity": {"gpu": 8, "cpu": 64, "memory": 25232932864}, "held": {"gpu": 1.5}}
        event = {"seq": 12, "at_ms": 1000, "actor": "me", "kind": "task.state", "subject": "workload/7", "cause": None,
                 "before": "queued", "after": "running"}
        self.start({("GET", "/v1/gpus"): items(GPU), ("GET", "/v1/nodes"): items(node), ("GET", "/v1/events"): items(event),
                    ("GET", "/v1/queues"): items(queue("q")), ("GET", "/v1/workloads"): items(workload())})
        self.assertEqual(self.weir("get", "gpus").stdout.decode(), """\
KEY    NODE  INDEX  MODEL        MIG    MEMORY  STATE   HELD  HOLDERS
GPU-1  a         0  NVIDIA H100  -    79.6 GiB  in-use     1  7
""")
        self.assertEqual(self.weir("get", "no").stdout.decode(), """\
NAME  STATE     GPUS  CAPACITY                 HELD      CAUSE
a     cordoned     8  8 GPUs, 64 CPUs, 23.5Gi  1.5 GPUs  maintenance
""")
        self.assertRegex(self.weir("get", "ev").stdout.decode(), r"(?m)^ 12  .*  task.state  workload/7  me +running  -$")
        self.assertRegex(self.weir("get", "ev", "-o", "wide").stdout.decode(), r"(?m)^ 12  .*  me +queued  running  -$")
        for word, name in [("g", b"GPU-1"), ("queues", b"q"), ("job", b"7"), ("nodes", b"a"), ("events", b"12")]:
            self.check(self.weir("get", word, "-o", "name"), 0, name + b"\n")
        self.assertEqual(json.loads(self.weir("get", "gpus", "-o", "json").stdout), [GPU])
        self.check(self.weir("get", "gpsu"), 2, b"", b"weir: get: there is no kind 'gpsu' (did you mean gpus?)\n")
        self.check(self.weir("get", "gpus", "-a"), 2, b"", b"weir: get: --all is for workloads\n")
        self.check(self.weir("get", "gpus", "-w"), 2, b"", b"weir: get: --watch is for events (see weir get --help)\n")
        self.check(self.weir("get", "gpus", "--tail", "3"), 2, b"", b"weir: get: --tail is for events (see weir get --help)\n")
        self.assertRegex(self.weir("get", "ev").stdout.decode(), r" 19(70-01-01|69-12-31) \d\d:\d\d:01 \S+  task")

    def test_events_of_one_thing(self):
        self.start({("GET", "/v1/events"): items(), ("GET", "/v1/workloads/job"): always(200, workload(members=4)),
                    ("GET", "/v1/workloads/7"): always(200, workload(members=4)), ("GET", "/v1/workloads/8"): always(200, workload(id="8")),
                    ("GET", "/v1/nodes/a"): always(200, {"name": "a"}), ("GET", "/v1/gpus/GPU-"): always(200, GPU),
                    ("GET", "/v1/queues/3"): always(200, queue("3"))})
        for of, subject in [
                ("7", "workload/7"), ("job", "workload/7"), ("workload/job", "workload/7"), ("job/7", "workload/7"), ("node/a", "node/a"),
                ("7/3", "workload/7/3"), ("workload/7/03", "workload/7/3"), ("8/0", "workload/8"), ("gpu/GPU-", "gpu/GPU-1"),
                ("GPU-", "gpu/GPU-1"), ("queue/3", "queue/3"), ("q/3", "queue/3")]:
            self.check(self.weir("get", "events", of, "-o", "json"), 0, b"[]\n")
            self.assertEqual(self.server.requests[-1].query["subject"], subject, of)
        for of, said in [("9", "there is no /v1/workloads/9"), ("node/b", "there is no /v1/nodes/b"), ("gpu/GPU-2", "there is no /v1/gpus/GPU-2"),
                         ("7/4", "workload 7 has no member 4 (the last one is 3)"), ("8/1", "workload 8 has no member 1 (the last one is 0)"),
                         ("", "there is no workload '' (`weir ps -a` lists them)"), ("a/b", "there is no workload 'a/b' (`weir ps -a` lists them)"),
                         ("queue/", "there is no queue '' (`weir get queues` lists them)")]:
            for more in [], ["-w"], ["--tail", "1"]:
                self.check(self.weir("get", "events", of, *more), 1, b"", f"weir: {said}\n".encode())
        self.check(self.weir("get", "events", "3", "-a"), 2, b"", b"weir: get: --all is for workloads\n")
        self.check(self.weir("get", "events", "-s", "failed"), 2, b"", b"weir: get: --state is for workloads and tasks\n")

    def test_a_drained_node(self):
        """Its state is what the server says, in every form."""
        node = {"name": "a", "state": "drained", "phase": "draining", "cause": None, "gpus": 8, "capacity": {"gpu": 8}, "held": {}}
        self.start({("GET", "/v1/nodes"): items(node), ("GET", "/v1/nodes/a"): always(200, node)})
        self.assertRegex(self.weir("get", "nodes").stdout.decode(), r"(?m)^a +drained ")
        self.assertEqual(json.loads(self.weir("get", "nodes", "-o", "json").stdout), [node])
        self.assertRegex(self.weir("describe", "node", "a").stdout.decode(), r"(?m)^State: +drained$")

    def test_recent_events(self):
        """The server is asked for them, and no page more than `next` leads to."""
        def event(seq):
            return {"seq": seq, "at_ms": seq * 1000, "actor": "me", "kind": "k", "subject": "s", "cause": None, "before": None, "after": None}

        def page(request, answer):
            pages = {None: {"items": [], "next": "1-9-0-4-2"}, "1-9-0-4-2": {"items": [event(3), event(4)], "next": "4-9"},
                     "4-9": {"items": [event(7)]}}
            always(200, pages[request.query.get("after")])(request, answer)

        def asked(*args):
            del self.server.requests[:]
            result = self.weir("get", "events", "-o", "name", *args)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"3\n4\n7\n", b""))
            queries = [dict(request.query) for request in self.server.requests if request.path == "/v1/events"]
            self.assertEqual([query.pop("after", None) for query in queries], [None, "1-9-0-4-2", "4-9"])
            self.assertEqual(queries[1:], queries[:1] * 2)
            self.assertEqual(queries[0].pop("limit"), "1000")
            return queries[0]

        self.start({("GET", "/v1/events"): page, ("GET", "/v1/workloads/5"): always(200, workload(id="5"))})
        self.assertEqual(asked(), {})
        self.assertEqual(asked("--tail", "2"), {"tail": "2"})
        self.assertEqual(asked("-n", "0"), {"tail": "0"})
        self.assertEqual(asked("5", "-n", "7"), {"tail": "7", "subject": "workload/5"})
        query = asked("--since", "35m", "--tail", "1")
        self.assertEqual(query.pop("tail"), "1")
        self.assertAlmostEqual(int(query.pop("since_ms")), (time.time() - 35 * 60) * 1000, delta=60000)
        self.assertEqual(query, {})
        self.assertEqual(len(json.loads(self.weir("get", "events", "--since", "35m", "-o", "json").stdout)), 3)
        self.assertEqual(self.weir("get", "events", "-w", "--tail", "1").returncode, 2)
        self.assertEqual(self.weir("get", "events", "--tail", "-1").returncode, 2)

    def test_get_one(self):
        self.start({("GET", "/v1/gpus/GPU-1"): always(200, GPU)})
        self.assertEqual(json.loads(self.weir("get", "gpu", "GPU-1", "-o", "json").stdout), GPU)
        self.assertIn(b"holders:\n- id: \"7\"\n", self.weir("get", "gpu", "GPU-1", "-o", "yaml").stdout)
        self.check(self.weir("get", "gpu", "GPU-2"), 1, b"", b"weir: there is no /v1/gpus/GPU-2\n")

    def test_events_are_watched_over_a_restart(self):
        lines = ["retry: 10\nid: 5\n\n"] + [
            f'id: {seq}\nevent: x\ndata: {{"seq": {seq}, "at_ms": 1000, "actor": "me", "kind": "task.state", "subject": '
            f'"workload/7", "cause": null, "before": "queued", "after": "running"}}\n\n' for seq in (6, 7)]
        seen = []

        def events(request, answer):
            seen.append((request.query.get("after"), request.headers["accept"]))
            answer.start()
            answer.write("".join(lines[:2] if len(seen) == 1 else lines[2:]).encode())
            if len(seen) == 1:
                raise Cut
            time.sleep(30)

        self.start({("GET", "/v1/events"): events})
        process = self.popen("get", "events", "-w", "-o", "json")
        got = [json.loads(process.stdout.readline())["seq"] for _ in range(2)]
        self.assertEqual((got, seen), ([6, 7], [(None, "text/event-stream"), ("6", "text/event-stream")]))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), -signal.SIGINT)

    def test_watch_without_a_server_ends(self):
        self.assertEqual(self.weir("get", "events", "-w").returncode, 3)

    def test_queue_tree(self):
        self.start({("GET", "/v1/queues"): items(
            queue("a", guaranteed={"gpu": 4, "cpu": 16}, limit={"gpu": 6}, held={"gpu": 2.5}, wanted={"gpu": 8}, waiting=3),
            queue("b", "z"), queue("c", "b"), queue("z"))})
        self.assertEqual(self.weir("queue").stdout.decode(), """\
QUEUE  GUARANTEED  LIMIT  HELD  WANTED  WAITING
a        4,cpu=16      6   2.5       8        3
z               -      -     -       -        0
  b             -      -     -       -        0
    c           -      -     -       -        0
""")
        self.assertEqual(len(json.loads(self.weir("queue", "-o", "json").stdout)), 4)

    def test_explain(self):
        reason = {"level": "queue", "code": "QueueLimit", "subject": "queue/a", "text": "its limit is reached", "children": []}
        answer = {"id": "7", "name": "job", "state": "queued", "position": 2, "blocking": {**reason},
                  "reasons": [{"level": "workload", "code": "None", "subject": None, "text": "ok", "children": [reason]}],
                  "unblock": {"kind": "raise-limit"}, "expected_start": {"p50_ms": 1, "p90_ms": 2},
                  "text": ["ok", "its limit is reached", "raise the limit", "starts about 14:20"]}
        self.start({EXPLAIN: always(200, answer)})
        self.assertEqual(self.weir("explain", "7").stdout.decode(), """\
job 7 (job): queued, now number 2 of those that wait
  - ok
    - its limit is reached  ← this blocks it
  raise the limit
  starts about 14:20
""")
        self.assertEqual(json.loads(self.weir("explain", "7", "-o", "json").stdout), answer)

    def test_describe(self):
        now = int(time.time() * 1000)
        job = workload("running", submitted_ms=now - 65000, gpus=["GPU-1", "GPU-2"], demo=True,
                       tasks=[{"member": 0, "state": "running"}], spec={"command": ["sh", "-c", "x\ny\033"], "memory": "1Gi", "umask": 18})
        self.start({ONE: always(200, job), ("GET", "/v1/gpus/GPU-1"): always(200, GPU)})
        text = self.weir("describe", "job", "7").stdout.decode()
        self.assertIn("ID:               7\n", text)
        self.assertRegex(text, r"\nSubmitted:        .* \(1m0[5-9]s ago\)\n")
        self.assertIn("\nGPUs:             GPU-1\n                  GPU-2\n", text)
        self.assertIn("\nTasks:\n  Member:           0\n  State:            running\n", text)
        self.assertIn("\n  command:          sh -c x\\ny?\n", text)
        self.assertIn("\n  umask:            0022\n", text)
        self.assertNotIn("Reason", text)
        self.assertIn("Memory:           79.6 GiB\n", self.weir("describe", "gpu", "GPU-1").stdout.decode())
        self.start({ONE: always(200, workload("running", spec={"umask": 18, "env": {"A": "b"}, "gpus": "1"}))})
        text = self.weir("describe", "job", "7").stdout.decode()
        self.assertTrue(text.endswith("Spec:\n  umask:            0022\n  gpus:             1\nEnvironment:\n  A:                b\n"), text)
        self.assertIn(b"\n  umask: 0022\n", self.weir("get", "job", "7", "-o", "yaml").stdout)
        self.start({("GET", "/v1/queues/a"): always(200, queue("a", held={}))})
        self.assertIn(b"\nHeld:             0\n", self.weir("describe", "queue", "a").stdout)
        self.check(self.weir("describe", "events", "1"), 2, b"", b"weir: describe: events have no names\n")

    def test_describe_of_what_waits_explains(self):
        self.start({ONE: always(200, workload("queued")),
                    EXPLAIN: always(200, {"reasons": [], "text": ["not enough free GPUs anywhere"]})})
        self.assertIn(b"Explanation:\n  not enough free GPUs anywhere\n", self.weir("describe", "wl", "7").stdout)

    def test_snapshot(self):
        body = {"version": 1, "rest": "x" * 100000}
        self.start({("GET", "/v1/snapshot"): always(200, body)})
        self.assertEqual(json.loads(self.weir("snapshot").stdout), body)
        path = os.path.join(self.data, "out.json")
        self.check(self.weir("snapshot", "-o", path), 0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file), body)
        self.server.stop()
        self.assertEqual(self.weir("snapshot", "-o", path + "2").returncode, 3)
        self.assertEqual([name for name in os.listdir(self.data) if "out.json" in name], ["out.json"])
        result = self.weir("snapshot", "-o", "/no/such/dir/file")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, rb"^weir: write '/no/such/dir/file': [^\n]*\n$")


class Names(Case):
    def test_words_that_can_name_nothing(self):
        """They are told from what they are meant to be: the server could only say that a path is wrong."""
        self.start({})
        job, queue_, gpu, node = (("workload", "weir ps -a"), ("queue", "weir get queues"), ("GPU", "weir get gpus"), ("node", "weir get nodes"))
        for command, (thing, listing) in [
            (["describe", "job"], job), (["get", "workload"], job), (["get", "tasks"], job), (["explain"], job), (["logs"], job),
            (["cancel"], job), (["signal"], job), (["delete", "wl"], job), (["delete", "queue"], queue_), (["get", "queue"], queue_),
            (["describe", "queue"], queue_), (["get", "gpu"], gpu), (["describe", "gpu"], gpu), (["get", "node"], node),
            (["cordon"], node), (["uncordon"], node), (["drain"], node)]:
            for word in "", "a/b", "/", ".", "..", "7/x", "a/7/2":
                with self.subTest(command=command, word=word):
                    which = f"cancel {word}: " if command == ["cancel"] else ""
                    said = f"weir: {which}there is no {thing} '{word}' (`{listing}` lists them)\n"
                    self.check(self.weir(*command, word), 1, b"", said.encode())
            self.assertIn(f"there is no {thing} 'a?b'".encode(), self.weir(*command, b"a\xffb").stderr)
        self.check(self.weir("cordon", "gpu/"), 1, b"", b"weir: there is no GPU '' (`weir get gpus` lists them)\n")
        self.check(self.weir("ps", "-Q", "a/b"), 1, b"", b"weir: there is no queue 'a/b' (`weir get queues` lists them)\n")
        self.assertEqual(self.server.requests, [])

    def test_a_job_as_it_is_printed(self):
        self.start({ONE: always(200, workload("failed")), EXPLAIN: always(200, {"id": "7", "state": "failed"}),
                    ("GET", "/v1/workloads/7/tasks"): items(), ("POST", "/v1/workloads/7/signal"): always(202, {"id": "7"}), CANCEL: always(202, {"id": "7"})})
        for command in ["describe", "job"], ["get", "job"], ["get", "tasks"], ["explain"], ["signal"], ["cancel"]:
            self.assertEqual(self.weir(*command, "workload/7").returncode, 0, command)
            result = self.weir(*command, "7/2")
            self.assertEqual((result.returncode, result.stdout), (2, b""), command)
        self.check(self.weir("explain", "workload/7/2"), 2, b"", b"weir: explain: '7/2' is one member of a job (all of it is 7)\n")


class Changing(Case):
    def write(self, name, text):
        path = os.path.join(self.data, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_apply_sends_all_at_once(self):
        self.start({("POST", "/v1/apply"): always(200, {"dry_run": False, "items": [
            {"kind": "Queue", "name": "q", "action": "created"}, {"kind": "Workload", "name": "w", "id": "3", "action": "created"}]})})
        one, two = self.write("1.yaml", "a: 1\n"), self.write("2.yaml", "b: 2\n")
        self.check(self.weir("apply", "-f", one, "--file", two, "-f", "-", data=b"c: 3"), 0,
                   b"queue/q created\nworkload/3 created (w)\n")
        request = self.server.requests[0]
        self.assertEqual((request.body, request.headers["content-type"]), (b"a: 1\n---\nb: 2\n---\nc: 3\n", "application/yaml"))
        self.check(self.weir("apply", "-f", one, "-o", "name"), 0, b"queue/q\nworkload/3\n")
        self.assertEqual(len(json.loads(self.weir("apply", "-f", one, "-o", "json").stdout)), 2)
        self.weir("apply", "-f", one, "--dry-run")
        self.assertEqual(self.server.requests[-1].query, {"dryRun": "true"})

    def test_apply_names_file_line_and_column(self):
        self.start({("POST", "/v1/apply"): lambda r, a: a.error(400, "invalid", "'x' is not a quantity", field="spec.gpus",
                                                                hint="write 2", line=6, column=8)})
        one, two = self.write("1.yaml", "a: 1\nb: 2\n"), self.write("2.yaml", "a: 1\nb: 2\nspec:\n  gpus: x\n")
        self.check(self.weir("apply", "-f", one, "-f", two), 2, b"",
                   f"weir: {two}:3:8: spec.gpus: 'x' is not a quantity (write 2)\n".encode())

    def test_apply_refuses_before_anything_is_sent(self):
        self.start({})
        good, bad = self.write("good.yaml", "a: 1\n"), self.write("bad.yaml", "a: 1\nb: [\n")
        result = self.weir("apply", "-f", good, "-f", bad)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr.decode(), rf"^weir: {re.escape(bad)}:\d+:\d+: [^\n]*\n$")
        missing = os.path.join(self.data, "none.yaml")
        self.check(self.weir("apply", "-f", missing), 2, b"",
                   f"weir: {missing}: it cannot be read: No such file or directory\n".encode())
        self.check(self.weir("apply", "-f", self.write("empty.yaml", "# no\n---\n")), 2, b"",
                   b"weir: apply: there is nothing to apply\n")
        self.check(self.weir("apply"), 2, b"", b"weir: apply: -f is missing (for example weir apply -f queues.yaml)\n")
        self.assertEqual(self.server.requests, [])

    def test_delete(self):
        self.start({("DELETE", "/v1/queues/q"): always(202, {}), ("DELETE", "/v1/gpus/GPU-1"): always(202, {}), CANCEL: always(202, {"id": "7", "was": "queued"}),
                    ("DELETE", "/v1/queues/full"): lambda r, a: a.error(409, "exists", "the queue 'full' is not empty")})
        self.check(self.weir("delete", "queue", "q"), 0, b"queue/q deleted\n")
        self.check(self.weir("delete", "wl", "7"), 0, b"workload/7 cancelled\n")
        self.check(self.weir("delete", "queue", "full"), 1, b"", b"weir: the queue 'full' is not empty\n")
        self.check(self.weir("delete", "node", "x"), 2, b"",
                   b"weir: delete: a node cannot be deleted (queues, workloads, GPU setups and GPUs can; see weir cordon)\n")
        self.check(self.weir("delete", "gpu", "GPU-1"), 0, b"gpu/GPU-1 deleted\n")

    def test_phases(self):
        routes = {("POST", f"/v1/{kind}/{phase}"): always(202, {}) for kind in ("nodes/a", "gpus/GPU-1", "gpus/odd")
                  for phase in ("cordon", "uncordon")}
        self.start({**routes, ("POST", "/v1/nodes/a/drain"): always(202, {})})
        self.check(self.weir("cordon", "a", "GPU-1", "odd", "gpu/odd"), 0,
                   b"node/a cordoned\ngpu/GPU-1 cordoned\ngpu/odd cordoned\ngpu/odd cordoned\n")
        self.check(self.weir("uncordon", "node/a"), 0, b"node/a uncordoned\n")
        self.check(self.weir("drain", "a"), 0, b"node/a draining\n")
        self.check(self.weir("cordon", "b"), 1, b"", b"weir: there is no /v1/nodes/b/cordon\n")
        self.assertEqual(self.weir("drain", "GPU-1").returncode, 2)

    def test_faults(self):
        bodies = []

        def order(request, answer):
            bodies.append(json.loads(request.body))
            if "quake" in request.body.decode():
                answer.error(400, "invalid", "character 7: a fault expected, not 'quake'", field="faults[0]", line=1, column=12)
            else:
                answer.send(202, {"faults": 1})

        self.start({("POST", "/v1/simulation/faults"): order})
        self.check(self.weir("sim", "fault", "gpu", "3", "xid", "79"), 0, b"gpu 3 xid 79: done\n")
        self.check(self.weir("sim", "fault", "--node", "sim-2", "gpu all power 400"), 0,
                   b"node sim-2 gpu all power 400: done\n")
        self.check(self.weir("sim", "fault", "gpu", "0", "quake"), 2, b"",
                   b"weir: sim fault 'gpu 0 quake': character 7: a fault expected, not 'quake'\n")
        self.assertEqual(bodies[:2], [{"faults": ["gpu 3 xid 79"]}, {"faults": ["node sim-2 gpu all power 400"]}])
        self.check(self.weir("sim", "faults", "gpu"), 2, b"", b"weir: sim: 'faults': it must be one of fault (did you mean fault?)\n")
        self.assertEqual(self.weir("sim", "fault").returncode, 2)

    def test_over_tcp_with_a_token(self):
        self.start({("GET", "/v1/workloads"): lambda r, a: a.send(200, {"items": [workload(
            name=r.headers["authorization"], queue=r.headers["host"])]})})
        tcp = self.forward()
        env = self.env(WEIR_SERVER=f"http://127.0.0.1:{tcp}/", WEIR_TOKEN="t0ken")
        got = json.loads(self.weir("ps", "-o", "json", env=env).stdout)[0]
        self.assertEqual((got["name"], got["queue"]), ("Bearer t0ken", f"127.0.0.1:{tcp}"))
        self.assertEqual(self.weir("ps", env=self.env(WEIR_SERVER="http://127.0.0.1:1")).returncode, 3)

    def forward(self):
        """The fake on a port of the loopback too."""
        import socket
        import threading
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        threading.Thread(target=self.server.accept, args=(listener,), daemon=True).start()
        return listener.getsockname()[1]

    def test_long_path_of_the_socket(self):
        deep = os.path.join(self.data, *["d" * 60] * 4)
        os.makedirs(deep)
        here = os.getcwd()
        os.chdir(deep)
        self.addCleanup(os.chdir, here)
        server = FakeWeir(".", {SUBMIT: always(201, workload())})
        self.addCleanup(server.stop)
        self.check(self.weir("run", "-d", "true", env=self.env(WEIR_DATA=deep)), 0, b"7\n")


class Tokens(Case):
    def read(self):
        with open(os.path.join(self.data, "tokens"), encoding="utf-8") as file:
            return file.read()

    def test_life_of_a_token(self):
        result = self.weir("token", "create", "--role", "submit", "--user", "alice")
        token = result.stdout.decode().strip()
        self.assertRegex(token, "^[0-9a-f]{64}$")
        self.assertEqual(self.read(), f"{token} submit alice\n")
        self.assertEqual(os.stat(os.path.join(self.data, "tokens")).st_mode & 0o777, 0o600)
        with open(os.path.join(self.data, "tokens"), "a", encoding="utf-8") as file:
            file.write("# by hand\n\n0123456789abcdefg  read\tbob")
        second = self.weir("token", "create", "-r", "admin", "-u", "alice").stdout.decode().strip()
        self.assertEqual(self.read(), f"{token} submit alice\n# by hand\n\n0123456789abcdefg  read\tbob\n{second} admin alice\n")
        listed = self.weir("token", "list").stdout.decode()
        self.assertEqual(listed, f"TOKEN      ROLE    USER\n{token[:8]}…  submit  alice\n01234567…  read    bob\n"
                                 f"{second[:8]}…  admin   alice\n")
        self.check(self.weir("token", "revoke", token[:8]), 0, b"1 revoked\n")
        self.check(self.weir("token", "revoke", "--user", "bob"), 0, b"1 revoked\n")
        self.assertEqual(self.read(), f"# by hand\n\n{second} admin alice\n")
        self.assertEqual(sorted(os.listdir(self.data)), ["tokens"])

    def test_refusals(self):
        for args, status, said in [
            (["creat"], 2, b"weir: token: 'creat': it must be one of create|list|revoke (did you mean create?)\n"),
            (["create", "-u", "a"], 2, b"weir: token create: --role and --user are needed "),
            (["create", "-u", "a b", "-r", "read"], 2, b"weir: token create: --user 'a b' holds a blank\n"),
            (["create", "-u", "a", "-r", "root"], 2, b"weir: token: --role 'root': it must be one of "),
            (["revoke"], 2, b"weir: token revoke: which one? "),
            (["revoke", "abc"], 2, b"weir: token revoke: give at least 8 characters of it\n"),
            (["revoke", "abcdefgh"], 1, b"weir: token revoke: there is no such token\n"),
            (["list", "x"], 2, b"weir: token list: 'x' is one word too many\n"),
            (["list", "--data", "/no/such/dir"], 1, b"weir: open the data directory '/no/such/dir': "),
        ]:
            result = self.weir("token", *args)
            self.assertEqual((result.returncode, result.stdout, result.stderr[:len(said)]), (status, b"", said))
            self.assertEqual(result.stderr.count(b"\n"), 1)
        self.assertEqual(os.listdir(self.data), [])
        with open(os.path.join(self.data, "tokens"), "w", encoding="utf-8") as file:
            file.write("# x\nshort read bob\n")
        self.check(self.weir("token", "list"), 2, b"",
                   b"weir: line 2 of the token file: not a token (a token is 16 to 256 letters, digits and - . _ ~ + / =)\n")

    def test_a_user_who_is_not_there_is_warned_of(self):
        result = self.weir("token", "create", "--data", self.data, "--role", "submit", "--user", "nobody-here")
        said = b"weir: this machine has no account 'nobody-here': a weir that root runs takes no jobs with this token\n"
        self.assertEqual((result.returncode, result.stderr), (0, said if os.geteuid() == 0 else b""))
        self.check(self.weir("token", "create", "--data", self.data, "--role", "read", "--user", "nobody-here"), 0,
                   mock.ANY)

    def test_many_at_once_lose_none(self):
        processes = [self.popen("token", "create", "-r", "read", "-u", f"u{i}") for i in range(20)]
        tokens = {process.communicate(timeout=60)[0].decode().strip() for process in processes}
        self.assertEqual({line.split()[0] for line in self.read().splitlines()}, tokens)
        self.assertEqual(len(tokens), 20)


class Deploy(Case):
    def test_the_unit(self):
        """What systemd itself says of it, and that its command line is one weir takes."""
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze")
        with open(os.path.join(ROOT, "deploy/systemd/weir.service.in"), encoding="utf-8") as file:
            text = file.read()
        os.symlink(WEIR, os.path.join(self.data, "weir"))
        unit = os.path.join(self.data, "weir.service")
        for change, is_good in [(("@bindir@", self.data), True), (("RestartSec", "RestartSoon"), False)]:
            text = text.replace(*change)
            with open(unit, "w", encoding="utf-8") as file:
                file.write(text)
            result = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    check=False)
            about = [line for line in result.stdout.splitlines() if b"weir.service" in line]
            self.assertEqual(about == [], is_good, result.stdout)
        (command,) = re.findall(r"(?m)^ExecStart=(.*)$", text)
        words = command.replace("$WEIR_UP_OPTIONS", "--nosuch").split()
        result = subprocess.run(words, env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no option --nosuch", result.stderr.decode())


class Xid(Case):
    """Without a server: none is started here."""
    LINE = ("NVRM: Xid (PCI:0008:01:00): 145, pid=7, name=a, RLW_RXPIPE Fatal XC0 i0 Link 04 (0x00000086 0x00000001 0x00000000 "
            "0x00000000 0x00000000 0x00000000)")

    def test_a_code(self):
        text = self.weir("xid", "64").stdout.decode()
        self.assertTrue(text.startswith("Xid 64  DRAM_RETIREMENT_FAILURE\n"))
        for line in ("Whose fault    the hardware's", "weir           takes the GPU out: nothing more is placed on it",
                     r"By hand        RESET_GPU: drain the GPU and reset it \(.*\)", "Then           SUPPORT: .*"):
            self.assertRegex(text, f"(?m)^{line}$")
        answer = json.loads(self.weir("xid", "31", "-o", "json").stdout)
        self.assertEqual((answer["code"], answer["known"], answer["origin"], answer["action"], answer["outcome"], answer["then"]),
                         (31, True, "app", "RESTART_APP", "job", None))

    def test_a_code_of_a_switch(self):
        self.assertIn(b"\nClass          fatal-port\n", self.weir("xid", "sxid", "20034").stdout)
        answer = json.loads(self.weir("xid", "sxid", "20034", "-o", "json").stdout)
        self.assertEqual((answer["kind"], answer["action"], answer["outcome"]), ("sxid", "RESET_FABRIC", "fabric"))
        self.check(self.weir("xid", "sxid"), 2, b"", b"weir: xid: sxid needs the number of one (for example weir xid sxid 20034)\n")

    def test_all_codes(self):
        lines = self.weir("xid").stdout.decode().splitlines()
        self.assertEqual(lines[0].split(), ["XID", "ACTION", "ORIGIN", "NAME", "MEANING"])
        self.assertEqual([int(line.split()[0]) for line in lines[1:]], list(range(1, 177)))
        answers = json.loads(self.weir("xid", "-o", "json").stdout)
        self.assertEqual([answer["code"] for answer in answers], list(range(1, 177)))

    def test_an_unknown_code_says_what_is_known(self):
        result = self.weir("xid", "999")
        self.assertEqual((result.returncode, result.stderr), (1, b""))
        self.assertTrue(result.stdout.startswith(b"Xid 999 is not in the catalogue, which knows 1 to 176\n"))
        self.assertIn(b"\nBy hand        WATCH: ", result.stdout)
        self.assertEqual(self.weir("xid", "sxid", "1").returncode, 1)
        self.assertFalse(json.loads(self.weir("xid", "999", "-o", "json").stdout)["known"])

    def test_a_line(self):
        text = self.weir("xid", self.LINE).stdout.decode()
        for line in ("Class          xid:145/RLW_RXPIPE;fabric", "Device         0008:01:00.0", "Process        7",
                     r"Registers      0x86 0x1 0x0 0x0 0x0 0x0", r"Why            its registers say so \(sub-code\)"):
            self.assertRegex(text, f"(?m)^{line}$")
        event = json.loads(self.weir("xid", "Feb  7 15:10:02 n kernel: " + self.LINE, "-o", "json").stdout)["events"][0]
        self.assertEqual((event["action"], event["authority"], event["pid"], event["text"]), ("RESET_GPU", "sub-code", 7, self.LINE))

    def test_lines_come_to_one_incident(self):
        lines = ("NVRM: Xid (PCI:0000:3b:00): 31, Ch 1\nNVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) "
                 "to 0x2 (Node Reboot Required)")
        self.assertRegex(self.weir("xid", lines).stdout.decode(), r"(?s)\nTogether: 2 events of 0000:3b:00.0\n.*REBOOT_NODE: ")
        answer = json.loads(self.weir("xid", "-o", "json", lines).stdout)
        self.assertEqual((len(answer["events"]), [one["action"] for one in answer["incidents"]]), (2, ["REBOOT_NODE"]))

    def test_a_forged_record_is_no_evidence(self):
        text = "{},901,5140900,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
        self.assertIn(b"a process wrote it, not the kernel: it is evidence of nothing\n", self.weir("xid", text.format(12)).stdout)
        self.assertIn(b"REBOOT_NODE", self.weir("xid", text.format(4)).stdout)

    def test_what_is_neither(self):
        self.check(self.weir("xid", "foo\x1b"), 2, b"",
                   b"weir: xid: 'foo?' is no code, and no log line about a GPU's fault (give a number, or the whole line in quotes)\n")
        self.check(self.weir("xid", "79", "80"), 2, b"",
                   b"weir: xid: '80' is one word too many (a log line goes in quotes, as one word)\n")
        self.assertEqual(self.weir("xid", "4294967296").returncode, 2)


class Help(Case):
    def test_what_is_lost_is_no_success(self):
        """Short and long texts: those longer than the buffer are written past it."""
        for args in (["--version"], ["--help"], ["run", "--help"], ["help", "--completion", "bash"], ["help", "--man", "run"]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([WEIR, *args], stdout=full, stderr=subprocess.PIPE, env=self.env(), check=False)
            self.assertEqual(result.returncode, 3, args)

    def commands(self):
        text = self.weir("--help").stdout.decode()
        return re.findall(r"(?m)^  ([a-z]+)  ", text.split("weir COMMAND --help")[0])

    def test_every_command_helps(self):
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 15)
        for command in commands:
            for args in ([command, "--help"], ["help", command], [command, "-h"]):
                result = self.weir(*args)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                text = result.stdout.decode()
                self.assertTrue(text.startswith(f"weir {command}: "))
                self.assertIn(f"usage: weir {command} [OPTION]…", text)
                self.assertRegex(text, rf"(?m)^Examples?:\n  .*weir {command}")
                self.assertNotRegex(text, r"(?m) $")
        self.check(self.weir("help", "rn"), 2, b"", b"weir: help: there is no command 'rn' (see weir --help)\n")
        self.assertEqual(self.weir().returncode, 2)

    def test_examples_are_understood(self):
        """Each example is at least parsed: a wrong one would be refused with status 2."""
        for command in self.commands():
            if command in ("up", "help", "replay", "token", "apply"):
                continue
            text = self.weir(command, "--help").stdout.decode()
            for example in re.findall(rf"(?m)^  (weir {command}.*)$", text.split("Options:")[0]):
                result = subprocess.run(["sh", "-c", example.replace("weir", f'"{WEIR}"', 1)], stderr=subprocess.PIPE,
                                        env=self.env(), stdout=subprocess.PIPE, cwd=self.data, check=False)
                self.assertIn(result.returncode, (0, 3), (example, result.stderr))

    def test_every_status_of_run_is_told(self):
        text = " ".join(self.weir("run", "--help").stdout.decode().split("Exit status:")[1].split())
        with open(os.path.join(ROOT, "docs/jobs.md"), encoding="utf-8") as file:
            table = file.read().split("What `weir run` returns:")[1].split("##")[0]
        for status in "126", "127", "130", "141", "1", "2", "3":
            self.assertRegex(text, rf"\b{status}\b")
            self.assertRegex(table, rf"(?m)^\|.*\b{status}\b.*\|")

    def test_version(self):
        text = self.weir("--version").stdout.decode()
        self.assertRegex(text, r"^weir \d+\.\d+\.\d+( \([0-9a-f]+\))?\n")
        for name in ("libuv ", "SQLite ", "libyaml ", "compiler "):
            self.assertIn(name, text)
        self.assertEqual(self.weir("version").stdout.decode(), text)

    def test_man_pages(self):
        self.check(self.weir("help", "--man", "all", self.data), 0)
        pages = sorted(name for name in os.listdir(self.data) if name.endswith(".1"))
        self.assertEqual(pages, sorted(["weir.1"] + [f"weir-{command}.1" for command in self.commands()]))
        with open(os.path.join(self.data, "weir-run.1"), "rb") as file:
            self.assertEqual(self.weir("help", "--man", "run").stdout, file.read())
        for page in pages:
            with open(os.path.join(self.data, page), encoding="utf-8") as file:
                self.assertNotIn("...", file.read(), page)
        with open(os.path.join(self.data, "weir.1"), encoding="utf-8") as file:
            overview = file.read()
        for text in (".SH EXAMPLES", ".SH FILES", ".SH ENVIRONMENT", "weir.service", "weir.sock", "/etc/default/weir"):
            self.assertIn(text, overview)
        if shutil.which("groff") is None:
            self.skipTest("no groff to lint them")
        for page in pages:
            result = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", os.path.join(self.data, page)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""), page)
            self.assertIn(b"EXIT STATUS", re.sub(rb"\x1b\[\d*m|.\x08", b"", result.stdout))

    def complete(self, *words, **more):
        script = self.weir("help", "--completion", "bash").stdout.decode()
        call = f"COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _weir; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        result = subprocess.run(["bash", "--norc", "-c", script + call], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=self.data, check=False, env=self.env(**more))
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode().split()

    def test_completion_of_names(self):
        """The server is asked, with the same --data; what it says cannot mean anything to the shell."""
        node = {"name": "a-1", "phase": "ready", "gpus": 1, "capacity": {}, "held": {}}
        self.start({
            ("GET", "/v1/workloads"): lambda r, a: a.send(200, {"items": [workload("running", name="train", members=3)] + (
                [workload("succeeded", id="9", name="old")] if r.query.get("all") else [])}),
            ("GET", "/v1/gpus"): items(GPU, {**GPU, "key": "$(touch${IFS}x)"}, {**GPU, "key": "*"}),
            ("GET", "/v1/nodes"): items(node), ("GET", "/v1/queues"): items(queue("vision"), queue("other"))})
        for words, names in [
            (["cancel", ""], ["7", "train"]), (["cancel", "7", "tr"], ["train"]), (["logs", ""], ["7", "train", "9", "old"]),
            (["logs", "7", ""], []), (["logs", "-n", "5", "o"], ["old"]), (["logs", "--tail", "=", "5", "o"], ["old"]),
            (["explain", "t"], ["train"]), (["get", "gpu", ""], ["GPU-1"]), (["get", "-o", "json", "gpus", "G"], ["GPU-1"]),
            (["get", "gpu", "GPU-1", ""], []), (["get", "events", "G"], ["GPU-1"]), (["get", "ev", ""], ["7", "train", "9", "old", "GPU-1"]),
            (["get", "events", "7", ""], []), (["get", "tasks", ""], ["7", "train", "9", "old"]), (["get", "member", "o"], ["old"]),
            (["describe", "tasks", ""], []), (["describe", "workload", ""], ["7", "train", "9", "old"]),
            (["describe", "node", ""], ["a-1"]), (["delete", "queue", ""], ["vision", "other"]), (["delete", "wl", "7", ""], ["7", "train"]),
            (["delete", "queue", "other", "v"], ["vision"]), (["cordon", ""], ["a-1", "GPU-1"]), (["drain", "x", ""], ["a-1"]),
            (["run", "--queue", "v"], ["vision"]), (["ps", "--queue", "=", "v"], ["vision"]), (["ps", ""], []),
            (["run", "--", "python", "--name", "-"], []), (["help", "des"], ["describe"]), (["help", "run", ""], []),
        ]:
            self.assertEqual(self.complete(WEIR, *words), names, words)
            self.assertEqual(self.complete(WEIR, words[0], "--data", self.data, *words[1:], WEIR_DATA="/no/such"), names, words)
        self.assertNotIn("x", os.listdir(self.data))

    def test_completion_does_not_wait_for_a_server(self):
        self.start({("GET", "/v1/workloads"): lambda r, a: time.sleep(20)})
        began = time.monotonic()
        self.assertEqual(self.complete(WEIR, "cancel", ""), [])
        self.assertLess(time.monotonic() - began, 10)
        self.server.stop()
        self.assertEqual(self.complete(WEIR, "cancel", ""), [])

    def test_completion(self):
        self.assertEqual(self.complete("weir", "ca"), ["cancel"])
        self.assertEqual(self.complete("weir", "--data", "x", "ps", "--sta"), ["--state"])
        self.assertEqual(self.complete("weir", "ps", "--state", "s"), ["starting", "stopping", "succeeded"])
        self.assertEqual(self.complete("weir", "get", ""), ["workloads", "tasks", "queues", "gpus", "gpusetups", "nodes", "events"])
        self.assertEqual(self.complete("weir", "get", "g"), ["gpus", "gpusetups"])
        self.assertIn("--gpus", self.complete("weir", "run", "-"))
        os.mkdir(os.path.join(self.data, "folder"))
        self.assertEqual(self.complete("weir", "run", "--cwd", "fold"), ["folder"])
        self.assertEqual(self.complete("weir", "run", "--name", ""), [])
        for command in self.commands():
            self.assertIn("--help", self.complete("weir", command, "--h"))


if __name__ == "__main__":
    unittest.main(verbosity=0)
