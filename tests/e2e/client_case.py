"""What the tests of the command line against a scripted server share."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from fake_weir import FakeWeir, always, workload

# Whoever started this in the background had these ignored, and so would the commands be.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    signal.signal(_number, signal.SIG_DFL)

WEIR = os.path.abspath(sys.argv.pop(1))
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
