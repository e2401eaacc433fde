#!/usr/bin/env python3
"""What weir costs at rest: memory of each of its processes and CPU time, with 16 simulated GPUs, finished jobs kept and jobs waiting.

footprint.py [--finished 1000] [--queued 100] [--seconds 20]"""
import argparse
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
import weirlib
from weirlib import Server, children_of, wait_for

MIB = 1024


def memory_of(pid):
    """PSS and what is private, in KiB."""
    pss = private = 0
    with open(f'/proc/{pid}/smaps_rollup', encoding='utf-8') as file:
        for line in file:
            if line.startswith('Pss:'):
                pss = int(line.split()[1])
            elif line.startswith('Private_'):
                private += int(line.split()[1])
    return pss, private


def cpu_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        fields = file.read().rsplit(') ', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument('--finished', type=int, default=1000)
    args.add_argument('--queued', type=int, default=100)
    args.add_argument('--seconds', type=float, default=20)
    args = args.parse_args()
    with tempfile.TemporaryDirectory(prefix='weir-footprint-') as folder:
        server = Server(os.path.join(folder, 'data'), ('--simulate', '16xH100'), env={'TEST_DATA': folder})
        try:
            if args.finished:
                server.cli('run', '--array', str(args.finished), '--', 'true')
            holders = [server.submit('--gpus', '1', '--', 'sleep', '3600') for _ in range(16)]
            for number in holders:
                server.wait_state(number, 'running')
            if args.queued:
                server.submit('--array', str(args.queued), '--', 'sleep', '3600')
            time.sleep(2)
            main_pid = server.process.pid
            below = children_of(main_pid)
            shims = [pid for child in below for pid in children_of(child)]
            began = {pid: cpu_of(pid) for pid in [main_pid, *below, *shims]}
            time.sleep(args.seconds)
            print(f'{args.finished} finished, 16 running, {args.queued} queued, 16 simulated GPUs')
            for name, pids in (('weir up', [main_pid]), ('launcher', below), ('shims', shims)):
                memory = [memory_of(pid) for pid in pids]
                cpu = sum(cpu_of(pid) - began[pid] for pid in pids)
                if pids:
                    print(f'{name:9} {len(pids):3} processes  PSS {sum(m[0] for m in memory) / MIB:6.1f} MiB  '
                          f'private {sum(m[1] for m in memory) / MIB:6.1f} MiB  CPU {100 * cpu / args.seconds:5.2f} % of a core')
        finally:
            server.stop()
            for pid in weirlib.processes_of(folder):
                os.kill(pid, 9)


if __name__ == '__main__':
    main()
