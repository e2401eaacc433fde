#!/usr/bin/env python3
"""Jobs per second, submission to last exit: weir beside task-spooler and Slurm, in interleaved rounds on one machine.

    jobs_bench.py [--jobs 2000] [--rounds 3] [--peers PEERS_DIR]

N jobs of `true`, 8 at a time: one command line call per job, from one loop ("loop") or from four at once ("x4"), or all in one submission ("array").
Prints a JSON line per run and a table of medians. Run as root; the peers' scripts
(a folder with bench.sh) start and measure tsp and Slurm; without them only weir and `xargs -P8 true` are measured."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEIR = os.path.join(os.environ.get('WEIR_BUILD', os.path.join(ROOT, 'build')), 'weir')


def cpu_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        fields = file.read().rsplit(') ', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as file:
        return [int(word) for word in file.read().split()]


def peak_mib(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith('VmHWM'))


def run_weir(n, mode):
    folder = tempfile.mkdtemp(prefix='weir-bench-')
    data = os.path.join(folder, 'data')
    env = dict(os.environ, WEIR_DATA=data)
    server = subprocess.Popen([WEIR, 'up', '--no-demo', '--simulate', '8xH100', '--data', data, '--listen', '127.0.0.1:0'],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout.readline().startswith(b'ready')
    daemons = [server.pid] + children(server.pid)
    cpu0 = sum(map(cpu_of, daemons))
    began = time.monotonic()
    if mode != 'array':
        k = 4 if mode == 'x4' else 1
        loop = f'(for ((i = j; i < {n}; i += {k})); do "$0" run --detach -- true || exit; done) & pids+=($!)'
        subprocess.run(['bash', '-c', f'for ((j = 0; j < {k}; j++)); do {loop}; done > "$1"; for pid in "${{pids[@]}}"; do wait "$pid" || exit; done',
                        WEIR, os.path.join(folder, 'ids')], check=True, env=env)
    else:
        subprocess.run([WEIR, 'run', '--detach', '--array', str(n), '--', 'true'], check=True, env=env, stdout=subprocess.DEVNULL)
    submitted = time.monotonic()
    count = 1 if mode == 'array' else n
    while True:
        left = json.loads(subprocess.run([WEIR, 'ps', '-o', 'json'], check=True, env=env, capture_output=True).stdout)
        if not left:
            break
        time.sleep(0.02)
    ended = time.monotonic()
    jobs = json.loads(subprocess.run([WEIR, 'ps', '-a', '-o', 'json'], check=True, env=env, capture_output=True).stdout)
    assert len(jobs) == count and all(job['state'] == 'succeeded' for job in jobs), len(jobs)
    last = max(job['ended_ms'] for job in jobs) / 1000 - time.time() + time.monotonic()
    total = min(last, ended) - began
    row = {'peer': f'weir {mode}', 'jobs_s': n / total, 'submit_s': submitted - began, 'total_s': total,
           'daemons_cpu_s': sum(map(cpu_of, daemons)) - cpu0, 'daemons_rss_mib': sum(map(peak_mib, daemons))}
    server.terminate()
    server.wait()
    shutil.rmtree(folder)
    return row


def run_xargs(n):
    began = time.monotonic()
    subprocess.run(['bash', '-c', f'seq {n} | xargs -P8 -n1 true'], check=True)
    total = time.monotonic() - began
    return {'peer': 'xargs -P8 true', 'jobs_s': n / total, 'total_s': total}


def run_peer(n, peer, folder):
    out = subprocess.run([os.path.join(folder, 'bench.sh'), str(n), '1', peer], check=True, capture_output=True).stdout.decode()
    head, row = [line.split('\t') for line in out.splitlines()[:2]]
    cells = dict(zip(head, row))
    return {'peer': peer, 'jobs_s': float(cells['jobs_s']), 'submit_s': float(cells['submit_s']), 'total_s': float(cells['total_s']),
            'daemons_cpu_s': float(cells['dmn_cpu_s']), 'daemons_rss_mib': float(cells['rss_mib'])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--jobs', type=int, default=2000)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--peers', default=os.path.join(ROOT, '../shared/peers'))
    options = parser.parse_args()
    rows = []
    for _ in range(options.rounds):
        runs = [lambda: run_xargs(options.jobs)] + [lambda mode=mode: run_weir(options.jobs, mode) for mode in ('loop', 'x4', 'array')]
        if os.path.exists(os.path.join(options.peers, 'bench.sh')):
            # tsp hangs beyond about a thousand queued jobs: it gets as many as it can carry.
            runs += [lambda: run_peer(min(options.jobs, 900), 'tsp', options.peers), lambda: run_peer(min(options.jobs, 500), 'slurm', options.peers),
                     lambda: run_peer(min(options.jobs, 500), 'slurm-x4', options.peers)]
        for run in runs:
            rows.append(run())
            print(json.dumps(rows[-1]), flush=True)
    print()
    for peer in dict.fromkeys(row['peer'] for row in rows):
        of = [row for row in rows if row['peer'] == peer]
        cells = {key: statistics.median(row[key] for row in of) for key in of[0] if key != 'peer'}
        print(f'{peer:16}', '  '.join(f'{key} {value:.2f}' for key, value in cells.items()))


if __name__ == '__main__':
    main()
