"""What weir must survive: killed at any instant, a full disk, a read-only folder, a clock that jumps, a long queue.

The job of these tests writes one line per start into a file, takes a lock per GPU for as long as it runs, and ends with a status that follows
from its number: so a job run twice, lost, or given somebody else's GPU shows."""
import collections
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import weirlib
from api import ask
from weirlib import ENDED, Skip, children_of, freeze, processes_of, wait_for

JOB = r'''
printf '%s %s\n' "$WEIR_JOB_ID" "${WEIR_ARRAY_INDEX:-0}" >> "$TEST_DIR/starts"
for gpu in $(printf %s "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
    exec 9>>"$TEST_DIR/$gpu.lock"
    flock -n 9 || echo "$WEIR_JOB_ID shares $gpu" >> "$TEST_DIR/shared"
done
sleep "$1"
exit $((WEIR_JOB_ID % 7))
'''


def job_args(t, server, seconds, *options):
    server.env['TEST_DIR'] = t.dir
    return (*options, '--', 'sh', '-c', JOB, 'job', str(seconds))


def check_all(t, server, numbers, seconds=120):
    """Every accepted job ended once, with its status, on GPUs of its own, and nothing is left."""
    def all_ended():
        jobs = server.jobs()
        return all(jobs[n]['state'] in ENDED for n in numbers) and jobs

    jobs = wait_for('all jobs to end', all_ended, seconds, every=0.2)
    missing = [n for n in numbers if n not in jobs]
    assert not missing, f'accepted, then forgotten: {missing}'
    for number in numbers:
        job = jobs[number]
        want = int(number) % 7
        assert job['exit_status'] == want, f'job {number}: exit {job["exit_status"]}, not {want}: {job}'
        assert job['state'] == ('succeeded' if want == 0 else 'failed'), job
        assert job['attempt'] == 1, job
    with open(os.path.join(t.dir, 'starts'), encoding='utf-8') as file:
        starts = collections.Counter(line.split()[0] for line in file)
    twice = {n: starts[n] for n in numbers if starts[n] != 1}
    assert not twice, f'started not once: {twice}'
    assert not os.path.exists(os.path.join(t.dir, 'shared')), open(os.path.join(t.dir, 'shared'), encoding='utf-8').read()
    wait_for('the GPUs to be free', lambda: all(not gpu['holders'] for gpu in server.gpus()))
    wait_for('no process to be left', lambda: not processes_of(server.data))


def test_kill_at_random_instants(t):
    """kill -9 of the server at random instants, under short and long jobs, while jobs are submitted."""
    server = t.serve()
    numbers = []
    stop = threading.Event()

    def submit():
        while not stop.is_set():
            seconds = t.random.choice(['0', '0', '0.02', '0.2', '1'])
            gpus = t.random.choice(['1', '1', '1', '2'])
            done = server.cli('run', '--detach', '--gpus', gpus, *job_args(t, server, seconds), check=None)
            if done.returncode == 0:
                numbers.append(done.stdout.decode().strip())
            else:
                assert done.returncode == 3, (done.returncode, done.stderr)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        for _ in range(200 if weirlib.FULL else 40):
            time.sleep(t.random.uniform(0, 0.12))  # the instant of the blow, not a synchronisation
            server.kill()
            server.start()
    finally:
        stop.set()
        thread.join()
    assert len(numbers) > 20, len(numbers)
    assert len(set(numbers)) == len(numbers), 'a number was given twice'
    check_all(t, server, numbers)


def test_jobs_go_on_without_the_server(t):
    server = t.serve()
    numbers = [server.submit(*job_args(t, server, 1)) for _ in range(4)]
    for number in numbers:
        server.wait_state(number, 'running')
    server.kill()
    wait_for('the jobs to end by themselves', lambda: not processes_of(server.data))
    server.start()
    check_all(t, server, numbers)


def launcher_of(server):
    return wait_for('the launcher', lambda: children_of(server.process.pid, 'weir-launcher'))[0]


def test_the_launcher_dies_with_requests(t):
    """What it had not begun begins once, in the next launcher; what was cancelled meanwhile does not; what ran goes on."""
    server = t.serve('--simulate', '4xH100')
    running = server.submit(*job_args(t, server, 2))
    server.wait_state(running, 'running')
    launcher = launcher_of(server)
    freeze(launcher)
    sent = [server.submit(*job_args(t, server, 0.1)) for _ in range(2)]
    cancelled = server.submit(*job_args(t, server, 0.1))
    for number in (*sent, cancelled):
        server.wait_state(number, 'starting')
    server.cli('cancel', cancelled)
    server.wait_state(cancelled, 'stopping')
    os.kill(launcher, signal.SIGKILL)
    assert server.wait_ended(cancelled)['state'] == 'cancelled'
    for number in sent:
        assert server.wait_ended(number)['exit_status'] == int(number) % 7
    assert server.wait_ended(running)['exit_status'] == int(running) % 7
    with open(os.path.join(t.dir, 'starts'), encoding='utf-8') as file:
        starts = sorted(line.split()[0] for line in file)
    assert starts == sorted([running, *sent]), starts
    wait_for('the GPUs to be free', lambda: all(not gpu['holders'] for gpu in server.gpus()))
    assert launcher_of(server) != launcher


def test_the_launcher_cannot_be_started_again(t):
    """It is tried until it works, and said once."""
    server = t.serve()
    launcher = launcher_of(server)
    away = server.data + '.away'
    os.rename(server.data, away)
    os.kill(launcher, signal.SIGKILL)
    wait_for('it to be said', lambda: 'no job starts' in server.tail())
    time.sleep(2.5)  # for two more tries
    assert server.tail().count('no job starts') == 1, server.tail()
    os.rename(away, server.data)
    server.cli('run', '--', 'true')
    assert server.tail().count('jobs start again') == 1, server.tail()


def small_disk(t):
    if os.geteuid() != 0:
        raise Skip('needs root to mount a small tmpfs')
    disk = os.path.join(t.dir, 'disk')
    os.mkdir(disk)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=12m,mode=755', 'tmpfs', disk], check=True)
    t.cleanups.append(lambda: subprocess.run(['umount', '-l', disk], check=False))
    return disk


def fill(disk):
    """Leaves no room. Returns the file that takes it."""
    filler = os.path.join(disk, 'filler')
    with open(filler, 'wb', buffering=0) as file:
        try:
            while True:
                file.write(b'x' * 65536)
        except OSError:
            return filler


def test_a_full_disk(t):
    """Nothing accepted is lost; what cannot be accepted is refused with a reason; it goes on when there is space again."""
    disk = small_disk(t)
    server = t.serve(data=os.path.join(disk, 'data'))
    numbers = [server.submit(*job_args(t, server, 0.3)) for _ in range(20)]
    filler = fill(disk)
    refused = 0
    for _ in range(200):
        done = server.cli('run', '--detach', *job_args(t, server, 0), check=None)
        if done.returncode == 0:
            numbers.append(done.stdout.decode().strip())
        else:
            refused += 1
            assert b'disk is full' in done.stderr or b'no space' in done.stderr.lower(), done.stderr
            break
    assert refused, 'a full disk took 200 jobs'
    server.kill()
    os.unlink(filler)
    server.start()
    numbers += [server.submit(*job_args(t, server, 0)) for _ in range(5)]
    check_all(t, server, numbers)


def test_a_full_disk_empties_while_up(t):
    """The server stays up over the full disk, and takes jobs again without a restart."""
    disk = small_disk(t)
    server = t.serve(data=os.path.join(disk, 'data'))
    numbers = [server.submit(*job_args(t, server, 1)) for _ in range(12)]
    filler = fill(disk)
    time.sleep(2.5)  # jobs end while there is no room to write it down
    os.unlink(filler)
    wait_for('jobs to be taken again',
             lambda: server.cli('run', '--detach', '--', 'true', check=None).returncode == 0, 30, every=0.2)
    check_all(t, server, numbers)


def test_a_limit_of_file_size(t):
    """It is as a full disk is: the server stays up, and its jobs do not take over how it goes on."""
    server = t.serve()
    running = server.submit('--', 'sh', '-c', 'grep SigIgn /proc/self/status; sleep 600')
    server.wait_state(running, 'running')
    wait_for('its signals', lambda: b'SigIgn:\t0000000000000000\n' == server.cli('logs', running).stdout)
    subprocess.run(['prlimit', '--pid', str(server.process.pid), '--fsize=4096:unlimited'], check=True)
    failed = wait_for('a write to fail', lambda: [d for d in [server.cli('run', '--detach', '--', 'true', check=None)] if d.returncode != 0])
    assert b'disk is full' in failed[0].stderr, failed
    subprocess.run(['prlimit', '--pid', str(server.process.pid), '--fsize=unlimited:unlimited'], check=True)
    wait_for('jobs to be taken again', lambda: server.cli('run', '--detach', '--', 'true', check=None).returncode == 0, 30, every=0.2)
    assert server.job(running)['state'] == 'running' and server.process.poll() is None


def test_a_failed_write_disturbs_no_launch(t):
    """The state is built anew then; what the launcher has in hand begins all the same, and at once."""
    disk = small_disk(t)
    server = t.serve(data=os.path.join(disk, 'data'))
    launcher = launcher_of(server)
    freeze(launcher)
    number = server.submit(*job_args(t, server, 0))
    server.wait_state(number, 'starting')
    filler = fill(disk)
    failed = wait_for('a write to fail', lambda: [d for d in [server.cli('run', '--detach', '--', 'true', check=None)] if d.returncode != 0])
    assert b'disk is full' in failed[0].stderr, failed
    os.unlink(filler)
    os.kill(launcher, signal.SIGCONT)
    check_all(t, server, [number])
    said = server.cli('get', 'events', '-o', 'json').stdout.decode()
    assert 'workload.started' in said and 'requeued' not in said, said


def test_a_read_only_folder(t):
    """A folder that cannot be written to is refused at the start, in one line."""
    if os.geteuid() != 0:
        raise Skip('needs root to mount read-only')
    disk = os.path.join(t.dir, 'disk')
    os.mkdir(disk)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=8m,mode=755', 'tmpfs', disk], check=True)
    t.cleanups.append(lambda: subprocess.run(['umount', '-l', disk], check=False))
    server = t.serve(data=os.path.join(disk, 'data'))
    numbers = [server.submit(*job_args(t, server, 0)) for _ in range(3)]
    check_all(t, server, numbers)
    server.stop()
    wait_for('nothing to write there any more',
             lambda: subprocess.run(['mount', '-o', 'remount,ro', disk], stderr=subprocess.DEVNULL, check=False).returncode == 0)
    done = subprocess.run([weirlib.WEIR, 'up', '--data', server.data, '--simulate', '8xH100'], capture_output=True, timeout=20)
    assert done.returncode in (1, 3), (done.returncode, done.stderr)
    assert done.stderr.decode().count('\n') == 1, done.stderr
    subprocess.run(['mount', '-o', 'remount,rw', disk], check=True)
    server.start()
    assert set(numbers) <= set(server.jobs())


def skewed(t):
    """A server whose wall clock can be set, and the function that sets it: seconds off the right time."""
    skew = os.path.join(weirlib.BUILD, 'tests/e2e/libskew.so')
    if not os.path.exists(skew):
        raise Skip('libskew.so was not built')
    offset = os.path.join(t.dir, 'offset')

    def jump(seconds):
        with open(offset + '.new', 'w', encoding='utf-8') as file:
            file.write(str(seconds))
        os.rename(offset + '.new', offset)

    jump(0)
    return t.serve(env={'LD_PRELOAD': skew, 'SKEW_FILE': offset}), jump


def test_a_back_off_outlives_neither_a_clock_set_back_nor_that_and_a_restart(t):
    """Two seconds of back-off stay about two seconds, also when the clock goes back by an hour meanwhile."""
    server, jump = skewed(t)
    for seconds, is_restarted in ((-3600, False), (-7200, True)):
        number = server.submit('--retries', '1', '--backoff', '2s', '--', 'sh', '-c', 'exit 3', env={'LD_PRELOAD': ''})
        wait_for('the first failure', lambda: server.job(number)['attempt'] == 1 and server.job(number)['state'] == 'queued')
        if is_restarted:
            server.kill()
        jump(seconds)
        if is_restarted:
            server.start()
        job = server.wait_ended(number, seconds=20)
        assert job['attempt'] == 2, job


def test_the_clock_jumps(t):
    """An hour forwards and back: nothing is stopped early or twice, and durations stay right."""
    server, jump = skewed(t)
    plain = {'LD_PRELOAD': ''}
    limited = server.submit('--time', '30m', *job_args(t, server, 3), env=plain)
    numbers = [limited]
    server.wait_state(limited, 'running')
    for seconds in (3600, -3600, 0):
        jump(seconds)
        numbers += [server.submit(*job_args(t, server, 0.1), env=plain) for _ in range(3)]
        for number in numbers[1:]:
            server.wait_ended(number)
        if seconds == 3600:
            server.kill()
            server.start()
    check_all(t, server, numbers)


def test_ten_thousand_queued(t):
    """A long queue: all of it is there, in order, over a kill; the answer stays quick."""
    server = t.serve('--simulate', '2xH100')
    n = 10000
    holder = [server.submit('--gpus', '2', '--name', 'holder', '--', 'sleep', '1000')]
    # One array of ten thousand would be one workload: these are as many submissions, a thousand to a request.
    doc = 'apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {{name: many-{}}}\nspec: {{command: ["true"]}}\n'
    for first in range(0, n, 1000):
        text = '---\n'.join(doc.format(i) for i in range(first, first + 1000))
        server.cli('apply', '-f', '-', input=text.encode(), stdin=None)
    assert len(server.jobs()) == n + 1
    began = time.monotonic()
    server.submit('--', 'true')
    assert time.monotonic() - began < 5
    server.kill()
    server.start()
    jobs = server.jobs()
    assert len(jobs) == n + 2
    assert sum(job['state'] == 'queued' for job in jobs.values()) == n + 1
    server.cli('cancel', holder[0])
    wait_for('the first hundred to end', lambda: sum(job['state'] == 'succeeded' for job in server.jobs().values()) >= 100, 60, every=0.5)


def test_memory_of_a_large_apply(t):
    """It grows with the documents and the jobs that are queued, not with their product."""
    server = t.serve('--simulate', '16xH100')
    server.wait_state(server.submit('--gpus', '16', '--', 'sleep', '1000'), 'running')
    one = 'apiVersion: weir.dev/v1\nkind: Workload\nspec: {command: ["true"]}\n'
    for _ in range(2):
        status, _, answer = ask(server, 'POST', '/v1/apply', '---\n'.join([one] * 4000), {'Content-Type': 'application/yaml'})
        assert status == 200, answer
    with open(f'/proc/{server.process.pid}/status', encoding='utf-8') as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith('VmHWM'))
    assert peak < 200 * 1024, f'{peak // 1024} MiB at its highest, for 8,000 queued jobs of one line each'


def test_the_models_of_accepted_jobs_have_gone(t):
    """What was accepted is there whatever became of the fleet: it waits, and says for what; what runs is taken over."""
    server = t.serve('--simulate', '2xH100')
    server.cli('apply', '-f', '-', stdin=None,
               input=b'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: q}\nspec: {limit: {gpu/h100: 1}}\n')
    runs = server.submit('--gpus', '2', '--gpu-model', 'H100', '--', 'sh', '-c', 'sleep 2; exit 4')
    waits = server.submit('--gpu-model', 'H100', '--', 'true')
    server.wait_state(runs, 'running')
    server.kill()
    server.args = ['--simulate', '2xL40S']
    server.start()
    assert server.wait_ended(runs)['exit_status'] == 4
    assert server.wait_ended(server.submit('--', 'true'))['state'] == 'succeeded'
    assert server.job(waits)['state'] == 'queued'
    said = server.cli('explain', waits).stdout.decode()
    assert 'h100' in said, said
    refused = server.cli('run', '--detach', '--gpu-model', 'H100', '--', 'true', check=1).stderr.decode()
    assert "no GPU here is of the model 'H100'" in refused and 'there are: l40s' in refused and 'h100-' not in refused, refused
    server.stop()
    server.args = ['--simulate', '2xH100']
    server.start()
    assert server.wait_ended(waits)['state'] == 'succeeded'


def test_two_servers_on_one_folder(t):
    server = t.serve()
    done = subprocess.run([weirlib.WEIR, 'up', '--data', server.data, '--simulate', '8xH100'], capture_output=True, timeout=20)
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert str(server.process.pid) in done.stderr.decode(), done.stderr
    server.submit('--', 'true')


def test_a_kill_loses_no_decision(t):
    """What was told before the kill is in the log; a record that was cut off is left out."""
    server = t.serve('--simulate', '2xH100')

    def replay(data):
        done = subprocess.run([weirlib.WEIR, 'replay', '--data', data, '-o', 'json'], capture_output=True, timeout=60)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    before = 0
    for _ in range(5):
        server.cli('run', '--', 'true')  # taken, started, ended: three decisions at the least
        server.kill()
        after = replay(server.data)
        assert after['ticks'] >= before + 3 and after['differ'] == after['torn'] == 0, (before, after)
        before = after['ticks']
        server.start()
    server.kill()
    before = replay(server.data)['ticks']
    newest = max(os.listdir(os.path.join(server.data, 'decisions')))
    path = os.path.join(server.data, 'decisions', newest)
    os.truncate(path, os.path.getsize(path) - 7)
    after = replay(server.data)
    assert after['ticks'] == before - 1 and after['torn'] == 1 and after['differ'] == 0, (before, after)
    server.start()
    server.cli('run', '--', 'true')
    server.kill()
    assert replay(server.data)['ticks'] >= before + 2


def refused_start(server):
    """What a start is refused with: one line."""
    done = subprocess.run([weirlib.WEIR, 'up', '--no-demo', '--data', server.data, '--listen', '127.0.0.1:0', '--simulate', '8xH100'],
                          capture_output=True, timeout=20)
    text = done.stderr.decode().rstrip('\n')
    assert done.returncode in (1, 2, 3) and '\n' not in text, (done.returncode, text)
    return text


def noise(t, path):
    with open(path, 'r+b') as file:
        file.write(t.random.randbytes(max(os.path.getsize(path), 70000)))


def test_damaged_slots(t):
    """The records of running jobs: what had a shim goes on; else nothing is run twice, and a start says what to do."""
    server = t.serve('--simulate', '4xH100')
    slots = os.path.join(server.data, 'slots')
    gate = os.path.join(t.dir, 'gate')
    marks = os.path.join(t.dir, 'marks')
    script = f'echo x >> {marks}; while [ ! -e {gate} ]; do sleep 0.02; done; exit 3'
    number = server.submit('--gpus', '4', '--', 'sh', '-c', script)
    server.wait_state(number, 'running')
    server.kill()
    noise(t, slots)
    server.start()  # its shim lives, and will write down its end
    open(gate, 'w', encoding='utf-8').close()
    assert server.wait_ended(number)['exit_status'] == 3
    assert server.wait_ended(server.submit('--', 'true'))['state'] == 'succeeded'
    os.unlink(gate)
    number = server.submit('--gpus', '4', '--', 'sh', '-c', script)
    server.wait_state(number, 'running')
    server.kill()
    open(gate, 'w', encoding='utf-8').close()
    wait_for('it to end by itself', lambda: not processes_of(server.data))
    noise(t, slots)
    said = refused_start(server)
    assert said.startswith(f"weir: what became of workload {number} cannot be told: '{slots}': slot ") and 'move it away' in said, said
    os.rename(slots, slots + '.damaged')
    server.start()
    assert server.wait_ended(number)['state'] == 'lost'
    for n_kept in (None, 0, 512):  # gone, empty, restored from a copy that was cut short
        if os.path.exists(gate):
            os.unlink(gate)
        number = server.submit('--gpus', '4', '--', 'sh', '-c', script)
        server.wait_state(number, 'running')
        server.kill()
        with open(slots, 'rb') as file:
            whole = file.read()
        os.unlink(slots)
        if n_kept is not None:
            with open(slots, 'xb') as file:
                file.write(whole[:n_kept])
        server.start()
        assert server.wait_ended(number)['state'] == 'lost'
        assert not processes_of(server.data), 'it runs on, and its GPUs are free'
        open(gate, 'w', encoding='utf-8').close()
        assert server.wait_ended(server.submit('--gpus', '4', '--', 'true'))['state'] == 'succeeded'
    with open(marks, encoding='utf-8') as file:
        assert file.read() == 'x\n' * 5, 'run twice'


def test_damaged_files(t):
    """Of whatever is not what it should be in the folder: its path and what to do, or it is made good without a word."""
    server = t.serve()
    server.cli('run', '--', 'echo', 'hi')
    server.stop()
    whole = server.data + '.whole'
    shutil.copytree(server.data, whole, ignore=lambda folder, names: [n for n in names if n in ('notify', 'weir.sock')])

    def put_file(path):
        if os.path.isdir(path):
            shutil.rmtree(path)
        with open(path, 'wb') as file:
            file.write(t.random.randbytes(9000))
        os.chmod(path, 0o600)

    def put_folder(path):
        if os.path.lexists(path) and not os.path.isdir(path):
            os.unlink(path)
        os.makedirs(os.path.join(path, 'something'))

    for name, put, advice in (('slots', put_folder, 'move it away'), ('notify', put_file, 'move it away'), ('notify', put_folder, 'move it away'),
                              ('out', put_file, 'move it away'), ('decisions', put_file, 'move it away'), ('weir.db', put_file, 'move it away'),
                              ('tokens', put_file, 'move it away'), ('tokens', put_folder, 'move it away'), ('weir.sock', put_file, '')):
        shutil.rmtree(server.data)
        shutil.copytree(whole, server.data)
        put(os.path.join(server.data, name))
        said = refused_start(server)
        assert f"'{server.data}/{name}'" in said and advice in said, (name, put.__name__, said)
        if advice:
            os.rename(os.path.join(server.data, name), os.path.join(server.data, name + '.away'))
            server.start()
            assert server.cli('run', '--', 'echo', 'hi').stdout == b'hi\n'
            server.stop()
    segment = os.listdir(os.path.join(whole, 'decisions'))[0]
    for name in ('slots', 'lock', f'decisions/{segment}', 'sim/fleet', 'lib/libnvidia-ml.so.1'):
        shutil.rmtree(server.data)
        shutil.copytree(whole, server.data)
        put_file(os.path.join(server.data, name))
        server.start()
        assert server.cli('run', '--', 'echo', 'hi').stdout == b'hi\n', name
        server.stop()


def put_store(server, kept):
    for suffix in ('', '-wal', '-shm'):
        path = os.path.join(server.data, 'weir.db' + suffix)
        if os.path.exists(path):
            os.unlink(path)
        if os.path.exists(kept + suffix):
            shutil.copy(kept + suffix, path)


def test_a_store_from_another_time(t):
    """Made anew or brought back from earlier, it knows nothing of later jobs: their numbers, output and GPUs are not given twice."""
    server = t.serve('--simulate', '4xH100')
    kept = server.data + '.kept'
    early = server.submit('--gpus', '4', '--', 'sleep', '60')
    server.wait_state(early, 'running')
    server.kill()
    for suffix in ('', '-wal'):
        shutil.copy(os.path.join(server.data, 'weir.db' + suffix), kept + suffix)
    server.start()
    server.cli('cancel', early)
    server.wait_ended(early)
    for how in ('brought back', 'made anew'):
        server.cli('run', '--', 'echo', 'secret')
        running = [server.submit('--gpus', gpus, '--', 'sh', '-c', 'echo $WEIR_JOB_ID; sleep 60') for gpus in ('3', '1')]
        for number in running:
            server.wait_state(number, 'running')
            wait_for('its output', lambda number=number: server.cli('logs', number).stdout == f'{number}\n'.encode())
        server.kill()
        put_store(server, kept if how == 'brought back' else '')
        server.start()
        assert not processes_of(server.data), 'jobs nobody knows hold GPUs that are given to others'
        if how == 'brought back':
            assert server.wait_ended(early)['state'] == 'lost', 'its slot is a later job\'s'
        assert server.cli('run', '--gpus', '4', '--', 'echo', 'mine').stdout == b'mine\n', how
        numbers = [int(number) for number in server.jobs()]
        assert max(numbers) > max(int(number) for number in running), (how, numbers)


def test_a_copy_is_refused_beside_the_original(t):
    """It would take what runs under the original for its own, and end what its own files know nothing of."""
    server = t.serve('--simulate', '2xH100')
    running = server.submit('--', 'sleep', '60')
    server.wait_state(running, 'running')
    copy = os.path.join(t.dir, 'copy')
    os.mkdir(copy, 0o700)
    server.stop()
    for name in ('weir.db', 'slots'):
        shutil.copy(os.path.join(server.data, name), copy)
    server.start()
    done = subprocess.run([weirlib.WEIR, 'up', '--no-demo', '--simulate', '2xH100', '--data', copy, '--listen', '127.0.0.1:0'],
                          capture_output=True, timeout=60, check=False, env=server.env)
    assert done.returncode == 1 and f'is in use by weir (pid {server.process.pid})' in done.stderr.decode(), done
    assert server.job(running)['state'] == 'running' and processes_of(server.data), server.job(running)


def test_damaged_output(t):
    """Nobody can tell output that was overwritten; where it cannot be read, logs says so, and a job's end still comes."""
    server = t.serve()
    number = server.cli('run', '--detach', '--', 'echo', 'hi').stdout.decode().strip()
    server.wait_ended(number)
    folder = os.path.join(server.data, 'out', number + '.0.1')
    shutil.rmtree(folder)
    with open(folder, 'wb') as file:
        file.write(b'nonsense')
    said = server.cli('logs', number, check=None)
    assert said.returncode == 3 and f"'out/{number}.0.1'" in said.stderr.decode(), said
    shutil.rmtree(os.path.join(server.data, 'out'))
    open(os.path.join(server.data, 'out'), 'w', encoding='utf-8').close()
    assert server.cli('run', '--', 'sh', '-c', 'echo lost; exit 4', check=4).stdout == b''


def test_a_damaged_store(t):
    server = t.serve()
    server.submit('--', 'true')
    server.stop()
    path = os.path.join(server.data, 'weir.db')
    with open(path, 'r+b') as file:
        file.seek(0)
        file.write(b'not a database any more')
    done = subprocess.run([weirlib.WEIR, 'up', '--data', server.data, '--simulate', '8xH100'], capture_output=True, timeout=20)
    text = done.stderr.decode()
    assert done.returncode == 3 and text.count('\n') == 1 and 'weir.db' in text, (done.returncode, text)
    with open(path, 'rb') as file:
        assert file.read(23) == b'not a database any more', 'the damaged file was touched'


def test_a_store_whose_queues_make_no_tree(t):
    """What it misses or says otherwise is named, too, not only what SQLite cannot read."""
    server = t.serve()
    server.cli('apply', '-f', '-', input=b'{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: round}}', stdin=None)
    server.stop()
    path = os.path.join(server.data, 'weir.db')
    whole = path + '.whole'
    shutil.copy(path, whole)
    for change, expected in (("UPDATE queues SET spec = '{\"parent\": \"round\"}' WHERE name = 'round'", "stored queue 'round' cannot be below 'round'"),
                             ("UPDATE queues SET spec = '{\"parent\": \"gone\"}' WHERE name = 'round'", "stored queue 'round' cannot be below 'gone'"),
                             ("DELETE FROM meta WHERE name = 'next_number'", f"'{path}': the store misses a value it needs")):
        shutil.copy(whole, path)
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute(change)
        said = refused_start(server)
        assert expected in said, (change, said)


if __name__ == '__main__':
    weirlib.main(globals())
