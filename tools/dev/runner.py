"""Runs the stages of a check side by side, each after those it needs, and says in one line how each went."""

import subprocess
import sys
import threading
import time

from results import Counts

# Heavy stages use all cores by themselves; two at a time keep them busy while one of them links or waits.
HEAVY_AT_ONCE = 2
LIGHT_AT_ONCE = 2


class Stage:
    """One line of the report.

    work() returns (Counts, text): what to add to the sum, and what to show when something failed. needs names the
    stages whose result it uses: it does not run when one of them failed.
    """

    def __init__(self, name, about, work, needs=(), heavy=False):
        self.name, self.about, self.work, self.needs, self.heavy = name, about, work, needs, heavy
        self.done = threading.Event()
        self.counts = Counts()
        self.good = False


def run_command(command, **options):
    """(whether it succeeded, its output)."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options
    )
    return done.returncode == 0, done.stdout.decode(errors="replace")


def command_stage(*commands, **options):
    """work() of a stage that is one test: the commands one after the other, until one fails. What they say is shown:
    warnings, if nothing failed."""

    def work():
        said = ""
        for command in commands:
            good, output = run_command(command, **options)
            said += output
            if not good:
                return Counts(failed=1), said or f"failed without a word: {' '.join(command)}"
        return Counts(1), said

    return work


class Runner:
    def __init__(self, stages):
        self.stages = {stage.name: stage for stage in stages}
        self.heavy = threading.Semaphore(HEAVY_AT_ONCE)
        self.light = threading.Semaphore(LIGHT_AT_ONCE)
        self.printing = threading.Lock()

    def report(self, word, stage, seconds, text, show_counts):
        with self.printing:
            note = f"  {stage.counts}" if show_counts else ""
            print(f"{word:<5} {stage.name:<14} {seconds:7.1f} s{note}")
            for line in text.splitlines():
                print(f"      {line}")
            sys.stdout.flush()

    def run_stage(self, stage):
        needs = [self.stages[name] for name in stage.needs if name in self.stages]
        for need in needs:
            need.done.wait()
        broken = [need.name for need in needs if not need.good]
        if broken:
            self.report("-", stage, 0, f"not run: {', '.join(broken)} failed", False)
            stage.counts = Counts(skipped=1)
            stage.done.set()
            return
        with self.heavy if stage.heavy else self.light:
            start = time.monotonic()
            try:
                stage.counts, text = stage.work()
            except Exception as problem:  # a fault of the check itself must not pass as success
                stage.counts, text = Counts(failed=1), f"the stage itself failed: {problem!r}"
            seconds = time.monotonic() - start
        single = stage.counts in (Counts(1), Counts(failed=1), Counts(skipped=1))
        stage.good = not stage.counts.failed
        word = "ok" if stage.good else "FAIL"
        self.report(word, stage, seconds, text, not single)
        stage.done.set()

    def run(self):
        """The sum over all stages."""
        threads = [
            threading.Thread(target=self.run_stage, args=(stage,), daemon=True) for stage in self.stages.values()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = Counts()
        for stage in self.stages.values():
            total += stage.counts
        return total
