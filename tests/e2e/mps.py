"""GPUs that jobs share under MPS. Names of tests are short: the sockets below their folders have to fit into the kernel's limit."""
import json
import os
import shutil
import signal
import subprocess
import time

import weirlib
from weirlib import wait_for

TWO = ('--simulate', '2xH100')
MEMORY = ('--gpu-memory', '20Gi', '--isolation', 'memory')


def fake(t, behaviour=''):
    """A control program that behaves so, and notes its starts."""
    os.makedirs(t.dir + '/fake', exist_ok=True)
    program = t.dir + '/fake/control'
    shutil.copy(os.path.join(weirlib.ROOT, 'tests', 'support', 'fake_mps_control.py'), program)
    os.chmod(program, 0o755)
    behave(t, behaviour)
    return program


def behave(t, behaviour):
    with open(t.dir + '/fake/behaviour', 'w', encoding='utf-8') as file:
        file.write(behaviour)


def starts(t):
    try:
        with open(t.dir + '/fake/starts', encoding='utf-8') as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def folder_of(gpu):
    return gpu['key'].rpartition('-')[2]


def daemons(t):
    """Pids of the control daemons of this test, by the folders of their GPUs."""
    found = {}
    for name in os.listdir('/proc'):
        try:
            if not name.isdigit() or weirlib.stat_of(int(name))[0] == 'Z':
                continue
            with open(f'/proc/{name}/environ', encoding='utf-8', errors='replace') as file:
                env = dict(entry.split('=', 1) for entry in file.read().split('\0') if '=' in entry)
            folder = env.get('WEIR_MPS_DAEMON', '')
            if folder.startswith(t.data + '/'):
                found.setdefault(os.path.basename(folder), []).append(int(name))
        except (OSError, TypeError):
            continue
    return found


def serve(t, *args):
    """Its daemons go with the test."""
    server = t.serve(*TWO, *args)

    def end():
        for pids in daemons(t).values():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    t.cleanups.append(end)
    return server


def mps(server):
    return [gpu['mps'] for gpu in server.gpus()]


def gpu_of(server, job):
    return next(gpu for gpu in server.gpus() if any(holder['id'] == job for holder in gpu['holders']))


def kinds(server, gpu):
    return [event['kind'] for event in json.loads(server.cli('get', 'events', 'gpu/' + gpu['key'], '-o', 'json').stdout)]


def output(server, job):
    return server.cli('logs', job).stdout.decode()


def test_shares(t):
    server = serve(t)
    jobs = [server.submit(*MEMORY, '--', 'sh', '-c', 'env | grep ^CUDA_ | sort; sleep 600',
                          env={'CUDA_MPS_PIPE_DIRECTORY': '/evil', 'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE': '3'}) for _ in range(2)]
    for job in jobs:
        assert server.wait_state(job, 'running')['isolation'] == 'memory', server.job(job)
    gpu = gpu_of(server, jobs[0])
    assert gpu_of(server, jobs[1])['key'] == gpu['key'] and gpu['sharers_isolation'] == 'memory' and gpu['sharers_max'] == 48, gpu
    assert sorted(mps(server)) == ['off', 'on'] and len(daemons(t)[folder_of(gpu)]) == 1, (mps(server), daemons(t))
    for job in jobs:
        said = wait_for('the environment', lambda: output(server, job))
        place = f'{t.data}/mps/{folder_of(gpu)}'
        assert f'CUDA_MPS_PIPE_DIRECTORY={place}/pipe\n' in said and f'CUDA_MPS_LOG_DIRECTORY={place}/log\n' in said, said
        assert 'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20480M\n' in said and f'CUDA_VISIBLE_DEVICES={gpu["key"]}\n' in said, said
        assert 'evil' not in said and 'PERCENTAGE' not in said, said
    assert 'gpu.mps-begins' in kinds(server, gpu), kinds(server, gpu)
    assert 'MPS' in server.cli('describe', 'gpu', gpu['key']).stdout.decode()
    for job in jobs:
        server.cli('cancel', job)
        server.wait_ended(job)
    wait_for('the daemon to end', lambda: mps(server) == ['off', 'off'])
    assert daemons(t) == {} and 'gpu.mps-ends' in kinds(server, gpu), daemons(t)


def test_whole(t):
    server = serve(t, '--mps-control', fake(t))
    sharing = [server.submit(*MEMORY, '--', 'sleep', '600')]
    server.wait_state(sharing[0], 'running')
    one = server.submit('--gpus', '1', '--', 'sleep', '600')
    server.wait_state(one, 'running')
    waits = server.submit('--gpus', '1', '--', 'sh', '-c', 'env | grep CUDA_MPS; sleep 600')
    server.wait_state(waits, 'queued')
    server.cli('cancel', sharing[0])
    server.wait_state(waits, 'running')
    assert daemons(t) == {}, daemons(t)
    assert output(server, waits) == '', output(server, waits)


def test_dies(t):
    server = serve(t, '--mps-control', fake(t))
    failing, staying = (server.submit(*MEMORY, '--', 'sh', '-c', f'while [ ! -e {t.dir}/{name} ]; do sleep 0.05; done; exit 1') for name in ('go', 'never'))
    for job in (failing, staying):
        server.wait_state(job, 'running')
    gpu = gpu_of(server, failing)
    os.kill(daemons(t)[folder_of(gpu)][0], signal.SIGKILL)
    wait_for('its death to be seen', lambda: 'gpu.mps-died' in kinds(server, gpu))
    with open(t.dir + '/go', 'w', encoding='utf-8'):
        pass
    ended = server.wait_ended(failing)
    assert 'the MPS daemon of its GPU died while it ran' in json.dumps(ended) + server.cli('get', 'events', failing, '-o', 'json').stdout.decode(), ended
    wait_for('another one', lambda: gpu_of(server, staying)['mps'] == 'on')
    assert len(daemons(t)[folder_of(gpu)]) == 1 and len(starts(t)) == 2, (daemons(t), starts(t))
    assert server.job(staying)['state'] == 'running'


def test_restart(t):
    server = serve(t, '--mps-control', fake(t))
    job = server.submit(*MEMORY, '--', 'sleep', '600')
    server.wait_state(job, 'running')
    before = daemons(t)
    server.kill()
    assert daemons(t) == before
    server.start()
    wait_for('the daemon to be adopted', lambda: gpu_of(server, job)['mps'] == 'on')
    other = server.submit(*MEMORY, '--', 'sleep', '600')
    server.wait_state(other, 'running')
    assert daemons(t) == before and len(starts(t)) == 1, (daemons(t), before)
    for one in (job, other):
        server.cli('cancel', one)
    wait_for('the daemon to end', lambda: mps(server) == ['off', 'off'] and daemons(t) == {})


def test_stale(t):
    """One that does not answer the next server is ended by it."""
    server = serve(t, '--mps-control', fake(t))
    job = server.submit(*MEMORY, '--', 'sleep', '600')
    server.wait_state(job, 'running')
    pid = list(daemons(t).values())[0][0]
    server.kill()
    weirlib.freeze(pid)
    server.start()
    wait_for('it to be ended', lambda: weirlib.stat_of(pid) in (None, ) or weirlib.stat_of(pid)[0] == 'Z')


def test_missing(t):
    server = serve(t, '--mps-control', 'off')
    assert mps(server) == [None, None]
    said = server.cli('run', '--detach', *MEMORY, '--', 'true', check=None)
    assert said.returncode != 0, said
    server.stop()
    done = subprocess.run([weirlib.WEIR, 'up', '--data', t.dir + '/x', '--listen', '127.0.0.1:0', *TWO, '--mps-control', t.dir + '/none'],
                          capture_output=True, timeout=60, check=False)
    assert done.returncode != 0 and b'--mps-control: there is no program' in done.stderr, done


def test_hangs(t):
    """A daemon that never answers keeps its own GPU only."""
    server = serve(t, '--mps-control', fake(t, 'silent'))
    waiting = server.submit(*MEMORY, '--', 'true')
    wait_for('a daemon to begin', lambda: 'starting' in mps(server))
    other = server.submit('--gpus', '1', '--', 'true')
    server.wait_ended(other)
    plain = server.submit('--gpu-memory', '20Gi', '--', 'true')
    server.wait_ended(plain)
    wait_for('a question that is not answered', lambda: os.path.exists(t.dir + '/fake/kept'))
    assert server.job(waiting)['state'] == 'queued', server.job(waiting)
    began = time.monotonic()
    whole = server.submit('--gpus', '1', '--', 'true')
    server.wait_ended(whole)
    assert time.monotonic() - began < 3, 'others waited for it'
    behave(t, '')
    server.wait_ended(waiting, seconds=90)


def test_fails(t):
    server = serve(t, '--mps-control', fake(t, 'fails'))
    waiting = server.submit(*MEMORY, '--', 'true')
    gpu = wait_for('a failure', lambda: next((gpu for gpu in server.gpus() if 'gpu.mps-failed' in kinds(server, gpu)), None))
    said = server.cli('get', 'events', 'gpu/' + gpu['key'], '-o', 'json').stdout.decode()
    assert 'it ended with status 3: no such device' in said, said
    behave(t, '')
    server.wait_ended(waiting)


if __name__ == '__main__':
    weirlib.main(globals())
