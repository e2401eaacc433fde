"""GPUs that several jobs share by memory budgets."""
import json
import os
import re
import subprocess
import time

import weirlib
from weirlib import wait_for

GIB = 1 << 30
TWO = ('--simulate', '2xH100')


def describe(server, *what):
    return server.cli('describe', *what).stdout.decode()


def holders(server):
    """By GPU: the jobs on it and their budgets in GiB."""
    return [{holder['id']: (holder['memory_bytes'] or 0) / GIB for holder in gpu['holders']} for gpu in server.gpus()]


def pid_of(server, job):
    """Of the job's command, which is alone."""
    return next(pid for pid in weirlib.processes_of(server.data) if environ(pid).get('WEIR_JOB_ID') == job)


def environ(pid):
    with open(f'/proc/{pid}/environ', encoding='utf-8', errors='replace') as file:
        return dict(entry.split('=', 1) for entry in file.read().split('\0') if '=' in entry)


def use(server, gpu, pid, gib):
    """The process holds so much of the simulated GPU from now on."""
    subprocess.run([os.path.join(weirlib.BUILD, 'tests', 'e2e', 'sim-process'), server.data, str(gpu), str(pid), str(int(gib * 1024))], check=True)


def index_of(server, job):
    return next(gpu['index'] for gpu in server.gpus() if any(holder['id'] == job for holder in gpu['holders']))


def events_of(server, job):
    return [(event['kind'], event['cause'], event['after']) for event in json.loads(server.cli('get', 'events', job, '-o', 'json').stdout)]


def test_budgets_share_a_gpu(t):
    server = t.serve(*TWO)
    jobs = [server.submit('--gpu-memory', '20Gi', '--', 'sleep', '600') for _ in range(3)]
    for job in jobs:
        server.wait_state(job, 'running')
    whole = server.submit('--gpus', '1', '--', 'sleep', '600')
    server.wait_state(whole, 'running')
    assert sorted(holders(server), key=len) == [{whole: 0}, {job: 20 for job in jobs}], holders(server)
    large = server.submit('--gpu-memory', '30Gi', '--', 'sleep', '600')
    waiting = server.wait_state(large, 'queued')
    assert waiting['reason'] == 'DeviceFull' and waiting['gpu_memory_bytes'] == 30 * GIB and waiting['isolation'] is None, waiting
    said = server.cli('explain', large).stdout.decode()
    assert 'no GPU has that much memory left' in said and '1 of 2 GPUs has too little memory left' in said, said
    assert re.search(rf'{whole}\s.*\s1\s', server.cli('ps').stdout.decode()), server.cli('ps').stdout
    assert re.search(rf'{jobs[0]}\s.*\s20Gi\s', server.cli('ps').stdout.decode()), server.cli('ps').stdout
    assert ','.join(f'{job}:20Gi' for job in reversed(jobs)) in server.cli('get', 'gpus').stdout.decode(), server.cli('get', 'gpus').stdout
    server.kill()
    server.start()
    assert sorted(holders(server), key=len) == [{whole: 0}, {job: 20 for job in jobs}], holders(server)
    server.cli('cancel', jobs[1])
    server.wait_state(large, 'running')
    assert sorted(holders(server), key=len) == [{whole: 0}, {jobs[0]: 20, jobs[2]: 20, large: 30}], holders(server)


def test_a_job_is_told_its_budget(t):
    server = t.serve(*TWO)
    said = server.cli('run', '--quiet', '--gpu-memory', '1.5Gi', '--', 'sh', '-c', 'echo $WEIR_GPU_MEMORY_BYTES $CUDA_VISIBLE_DEVICES').stdout.decode().split()
    assert said[0] == str(3 * GIB // 2) and said[1] in [gpu['key'] for gpu in server.gpus()], said
    said = server.cli('run', '--quiet', '--gpus', '1', '--gpu-memory', '20Gi', '--env', 'WEIR_GPU_MEMORY_BYTES=7', '--', 'sh', '-c',
                      'echo budget=$WEIR_GPU_MEMORY_BYTES').stdout.decode()
    assert said == 'budget=\n', said


def test_parts_of_a_gpu(t):
    server = t.serve(*TWO)
    document = {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'spec': {'command': ['sleep', '600'], 'gpus': 0.25}}
    for _ in range(2):
        status, answer = server.post('/v1/workloads', document)
        assert status == 201, answer
        job = server.wait_state(answer['id'], 'running')
        assert job['gpu_part'] == 0.25 and job['gpu_memory_bytes'] is None and job['isolation'] == 'none', job
    assert sorted(gpu['held'] for gpu in server.gpus()) == [0, 0.5], server.gpus()
    assert server.cli('ps').stdout.decode().count(' 0.25 ') == 2
    document['spec']['gpus'] = 1.5
    status, answer = server.post('/v1/workloads', document)
    assert status == 400 and answer['error']['field'] == 'spec.gpus' and 'gpuMemory' in answer['error']['hint'], answer
    said = server.cli('run', '--gpu-memory', '100Gi', '--', 'true', check=1).stderr.decode()
    assert 'asks for 100Gi of memory on each GPU, the largest has' in said, said
    shown = server.cli('run', '--dry-run', '--gpu-memory', '20Gi', '--', 'true').stdout.decode()
    assert 'gpuMemory: 20Gi' in shown and 'gpus:' not in shown, shown


def test_what_asks_for_nothing_is_refused(t):
    server = t.serve(*TWO)
    document = {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'spec': {'command': ['x']}}
    for spec, field in (({'gpuMemory': 0}, 'gpuMemory'), ({'gpuMemory': '0Gi'}, 'gpuMemory'), ({'gpus': 1, 'gpuMemory': '0'}, 'gpuMemory'),
                        ({'gpus': 0, 'gpuMemory': '20Gi'}, 'gpuMemory'), ({'gpus': '0', 'gpuModel': 'H100'}, 'gpuModel'), ({'gpuMemory': -1}, 'gpuMemory'),
                        ({'gpuMemory': '1e30'}, 'gpuMemory'), ({'gpus': -1}, 'gpus'), ({'gpus': 1e30}, 'gpus'), ({'mig': ''}, 'mig')):
        status, answer = server.post('/v1/workloads', dict(document, spec=dict(document['spec'], **spec)))
        assert status == 400 and answer['error']['field'] == f'spec.{field}', (spec, answer)
    said = server.cli('run', '--gpu-memory', '0', '--', 'true', check=2).stderr.decode()
    assert "--gpu-memory 0: '0' is no memory" in said, said
    with open(t.dir + '/zero.yaml', 'w', encoding='utf-8') as file:
        file.write('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: zero}\nspec:\n  command: [x]\n  gpuMemory: 0\n')
    said = server.cli('apply', '-f', t.dir + '/zero.yaml', check=2).stderr.decode()
    assert 'zero.yaml:6:14' in said and "'0' is no memory" in said, said
    assert not server.jobs()


def test_a_part_is_called_what_was_asked_for(t):
    """And not "631m GPUs"."""
    server = t.serve('--simulate', '1xH100')
    with open(t.dir + '/q.yaml', 'w', encoding='utf-8') as file:
        file.write('{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: half}, spec: {limit: {gpu: 0.5}}}\n')
    server.cli('apply', '-f', t.dir + '/q.yaml')
    for args, want in ((('--queue', 'half', '--gpu-memory', '50Gi'),
                        r"--gpu-memory 50Gi: asks for 50Gi of GPU memory \(0\.6\d+ of a GPU\) at once, queue 'half' is limited to 0\.5 of a GPU "
                        r"\(ask for at most 39\.\d+Gi of GPU memory, or "),
                       (('--queue', 'half', '--gpus', '1'), "asks for 1 GPU at once, queue 'half' is limited to 0.5 of a GPU"),
                       (('--gpu-memory', '50Gi', '--members', '3'), '3 members ask for 50Gi of GPU memory each, this machine has 1 GPU')):
        done = server.cli('run', *args, '--', 'true', check=None)
        assert done.returncode == 1 and re.search(want, done.stderr.decode()), done
    server.wait_state(server.submit('--gpu-memory', '50Gi', '--', 'sleep', '600'), 'running')
    said = server.cli('explain', server.submit('--gpu-memory', '40Gi', '--', 'true')).stdout.decode()
    assert 'no GPU has that much memory left (it needs 40Gi of GPU memory)' in said, said
    server.wait_state(server.submit('--queue', 'half', '--gpu-memory', '20Gi', '--', 'sleep', '600'), 'running')
    said = server.cli('explain', server.submit('--queue', 'half', '--gpu-memory', '30Gi', '--', 'true')).stdout.decode()
    assert re.search(r'0\.3\d+ of a GPU for 30Gi of GPU memory more asked for', said), said


def test_a_queue_counts_parts(t):
    server = t.serve(*TWO)
    with open(t.dir + '/q.yaml', 'w', encoding='utf-8') as file:
        file.write('{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: half}, spec: {limit: {gpu: 0.5}}}\n')
    server.cli('apply', '-f', t.dir + '/q.yaml')
    first = server.submit('--queue', 'half', '--gpu-memory', '30Gi', '--', 'sleep', '600')
    server.wait_state(first, 'running')
    second = server.submit('--queue', 'half', '--gpu-memory', '30Gi', '--', 'sleep', '600')
    wait_for('the limit to hold it up', lambda: server.job(second)['reason'] == 'QueueLimit')
    queue = json.loads(server.cli('get', 'queue', 'half', '-o', 'json').stdout)
    assert 0.36 < queue['held']['gpu'] < 0.39, queue


def test_a_borrowed_mark_is_not_laid_to_its_job(t):
    if os.getuid() != 0:
        raise weirlib.Skip('it takes root to be somebody else')
    server = t.serve('--simulate', '1xH100')
    job = server.submit('--gpu-memory', '20Gi', '--grace', '1s', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    mark = {'WEIR_ATTEMPT': environ(pid_of(server, job))['WEIR_ATTEMPT']}
    other = subprocess.Popen(['sleep', '600'], env=mark, user=65534, group=65534, extra_groups=[])
    t.cleanups.append(lambda: (other.kill(), other.wait()))
    use(server, 0, other.pid, 30)
    wait_for('the other to be foreign', lambda: server.gpus()[0]['foreign_processes'] == 1)
    time.sleep(2.5)
    assert server.job(job)['state'] == 'running', server.job(job)


def test_an_offender_is_stopped_and_not_its_neighbour(t):
    server = t.serve(*TWO)
    neighbour, offender = (server.submit('--gpu-memory', '20Gi', '--grace', '1s', '--', 'sleep', '600') for _ in range(2))
    for job in (neighbour, offender):
        server.wait_state(job, 'running')
    gpu = index_of(server, offender)
    assert gpu == index_of(server, neighbour)
    use(server, gpu, pid_of(server, offender), 24)
    began = time.monotonic()
    said = wait_for('the warning', lambda: server.job(offender)['reason'], every=0.005)
    warned = time.monotonic() - began
    assert said in ('over its GPU memory budget: 24.0 GiB of 20.0 GiB', 'stopping: over its GPU memory budget'), said
    server.wait_state(offender, 'stopping', 'failed')
    stopped = time.monotonic() - began
    print(f'# warned after {warned:.2f} s, stopped after {stopped:.2f} s')
    ended = server.wait_ended(offender)
    assert ended['state'] == 'failed' and ended['reason'] == 'over its GPU memory budget', ended
    kinds = [event for event in events_of(server, offender) if event[0].startswith('workload.')]
    assert ('workload.over-budget', 'over-budget', '24.0 GiB of 20.0 GiB') in kinds, kinds
    assert kinds[-2][:2] == ('workload.stopping', 'over-budget') and kinds[-1][:2] == ('workload.ended', 'over-budget'), kinds
    assert server.job(neighbour)['state'] == 'running' and 'it uses 24.0 GiB of 20.0 GiB of GPU memory' in server.tail(), server.tail()
    assert stopped < 4, stopped


def test_who_comes_back_within_its_budget_goes_on(t):
    server = t.serve(*TWO)
    job = server.submit('--gpu-memory', '20Gi', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    gpu, pid = index_of(server, job), pid_of(server, job)
    use(server, gpu, pid, 24)
    wait_for('the warning', lambda: server.job(job)['reason'], every=0.005)
    use(server, gpu, pid, 18)
    wait_for('it to be forgiven', lambda: server.job(job)['reason'] is None)
    assert server.job(job)['state'] == 'running'
    wait_for('that to be told', lambda: any(event[0] == 'workload.within-budget' for event in events_of(server, job)))


def test_a_queue_may_let_it_pass_and_a_restart_forgets_nothing(t):
    server = t.serve(*TWO)
    with open(t.dir + '/q.yaml', 'w', encoding='utf-8') as file:
        file.write('{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: mild}, spec: {overBudget: warn}}\n')
    server.cli('apply', '-f', t.dir + '/q.yaml')
    assert json.loads(server.cli('get', 'queue', 'mild', '-o', 'json').stdout)['over_budget'] == 'warn'
    mild = server.submit('--queue', 'mild', '--gpu-memory', '20Gi', '--', 'sleep', '600')
    strict = server.submit('--gpu-memory', '20Gi', '--', 'sh', '-c', 'trap "" TERM; exec sleep 600')
    for job in (mild, strict):
        server.wait_state(job, 'running')
    gpu = index_of(server, mild)
    use(server, gpu, pid_of(server, mild), 30)
    wait_for('the warning', lambda: server.job(mild)['reason'])
    use(server, gpu, pid_of(server, strict), 30)
    server.wait_state(strict, 'stopping')
    server.kill()
    server.start()
    job = server.wait_state(strict, 'stopping', 'failed')
    assert 'over its GPU memory budget' in job['reason'], job
    assert server.wait_ended(strict)['reason'] == 'over its GPU memory budget'
    use(server, gpu, pid_of(server, mild), 30)
    wait_for('the warning, again', lambda: server.job(mild)['reason'] == 'over its GPU memory budget: 30.0 GiB of 20.0 GiB')
    assert server.job(mild)['state'] == 'running'


def stranger(t):
    """A process that no weir has started."""
    process = subprocess.Popen(['sleep', '600'])
    t.cleanups.append(lambda: (process.kill(), process.wait()))
    return process


def test_what_weir_did_not_start_is_foreign(t):
    server = t.serve(*TWO)
    other = stranger(t)
    use(server, 0, other.pid, 30)
    gpu = wait_for('it to be seen', lambda: next((gpu for gpu in server.gpus() if gpu['foreign_processes']), None))
    assert gpu['index'] == 0 and gpu['state'] == 'foreign' and gpu['foreign_memory_bytes'] == 30 * GIB, gpu
    said = describe(server, 'gpu', gpu['key'])
    assert re.search(rf'Pid: +{other.pid}\n +User: +root\n +Foreign: +true\n', said), said
    first, second = (server.submit('--gpus', '1', '--', 'sleep', '600') for _ in range(2))
    assert server.job(server.wait_state(first, 'running')['id'])['gpus'] != [gpu['key']]
    assert 'it needs processes that weir did not start to end: look at gpu/' + gpu['key'] in server.cli('explain', second).stdout.decode() \
        or 'comes free with the end of workload/' + first in server.cli('explain', second).stdout.decode()
    both = server.submit('--gpus', '2', '--', 'true')
    said = server.cli('explain', both).stdout.decode()
    assert 'it needs processes that weir did not start to end: look at gpu/' + gpu['key'] in said, said
    assert '1 of 2 GPUs is in use by processes weir did not start' in said, said
    fits, large = (server.submit('--gpu-memory', size, '--', 'sleep', '600') for size in ('40Gi', '20Gi'))
    server.wait_state(fits, 'running')
    assert index_of(server, fits) == 0
    wait_for('a reason', lambda: server.job(large)['reason'])
    assert '1 of 2 GPUs is in use by processes weir did not start' in server.cli('explain', large).stdout.decode(), server.cli('explain', large).stdout
    server.kill()
    server.start()  # it gives out nothing of others in its first moment
    assert next(gpu for gpu in server.gpus() if gpu['index'] == 0)['foreign_processes'] == 1
    time.sleep(1.5)
    assert server.job(second)['state'] == 'queued' and server.job(large)['state'] == 'queued', server.jobs()
    assert other.poll() is None and server.job(fits)['state'] == 'running'
    other.kill()
    other.wait()
    server.wait_state(large, 'running')
    assert all(not gpu['foreign_processes'] for gpu in server.gpus()), server.gpus()


def test_jobs_are_not_foreign_to_their_gpus(t):
    server = t.serve(*TWO)
    script = 'sleep 600 & setsid sleep 600 & (sleep 600 & exec true); wait'
    jobs = [server.submit('--gpu-memory', '10Gi', '--', 'sh', '-c', script) for _ in range(3)]
    for job in jobs:
        server.wait_state(job, 'running')
    gpu = index_of(server, jobs[0])
    for job in jobs:
        pids = wait_for('all of it', lambda: (lambda all: all if len(all) == 4 else None)(  # noqa: B023
            [pid for pid in weirlib.processes_of(server.data) if environ(pid).get('WEIR_JOB_ID') == job]))  # noqa: B023
        for pid in pids:
            use(server, gpu, pid, 2)
    said = wait_for('them to be told apart', lambda: (lambda said: said if said.count('Workload:') == 12 else None)(
        describe(server, 'gpu', next(g['key'] for g in server.gpus() if g['index'] == gpu))))
    for job in jobs:
        assert len(re.findall(rf'Workload: +{job}\n', said)) == 4, said
    for _ in range(30):
        assert all(not gpu['foreign_processes'] for gpu in server.gpus()), server.gpus()
        time.sleep(0.1)
    server.cli('cancel', jobs[0])
    while server.job(jobs[0])['state'] not in weirlib.ENDED:
        assert all(not gpu['foreign_processes'] for gpu in server.gpus()), server.gpus()
    assert all(server.job(job)['reason'] is None for job in jobs[1:])


def queue_file(t, **spec):
    with open(t.dir + '/q.yaml', 'w', encoding='utf-8') as file:
        json.dump({'apiVersion': 'weir.dev/v1', 'kind': 'Queue', 'metadata': {'name': 'prod'}, 'spec': spec}, file)
    return t.dir + '/q.yaml'


def test_isolation_is_shown_and_kept_to(t):
    server = t.serve(*TWO, '--mps-control', 'off')
    server.cli('apply', '-f', queue_file(t, isolation='hardware'))
    whole = server.submit('--queue', 'prod', '--isolation', 'hardware', '--', 'sleep', '600')
    part = server.submit('--gpu-memory', '20Gi', '--', 'sleep', '600')
    for job, isolation in ((whole, 'hardware'), (part, 'none')):
        assert server.wait_state(job, 'running')['isolation'] == isolation
        assert re.search(rf'^ *{job} .* {isolation} ', server.cli('ps', '-o', 'wide').stdout.decode(), re.M), server.cli('ps', '-o', 'wide').stdout
        assert re.search(rf'^Isolation: +{isolation}$', describe(server, 'workload', job), re.M)
    said = server.cli('run', '--gpu-memory', '20Gi', '--isolation', 'memory', '--', 'true', check=1).stderr.decode()
    assert '--isolation memory: asks for a part of a GPU, no GPU here can be shared with isolation memory (ask for whole GPUs)' in said, said
    said = server.cli('run', '--queue', 'prod', '--gpu-memory', '20Gi', '--', 'true', check=1).stderr.decode()
    assert "queue 'prod' demands isolation hardware, no GPU here can be shared with that" in said, said
    server.cli('apply', '-f', queue_file(t, isolation='none', limit={'gpu': 1}))
    waits = server.submit('--queue', 'prod', '--gpu-memory', '20Gi', '--', 'sleep', '600')
    server.cli('apply', '-f', queue_file(t, isolation='hardware'))
    wait_for('its reason', lambda: server.job(waits)['reason'] == 'Isolation')
    said = server.cli('explain', waits).stdout.decode()
    assert 'no GPU can be shared with isolation hardware, which queue prod demands' in said, said
    assert '2 of 2 GPUs are not to be shared with isolation hardware, which queue prod demands' in said, said
    server.cli('apply', '-f', queue_file(t, isolation='none'))
    server.wait_state(waits, 'running')


def test_hung_gpus_do_not_delay_what_is_stopped_elsewhere(t):
    server = t.serve('--simulate', '4xH100')
    numbers = [server.submit('--gpu-memory', '60Gi', '--grace', '1s', '--', 'sleep', '600') for _ in range(4)]
    for number in numbers:
        server.wait_state(number, 'running')
    offender = next(number for number in numbers if index_of(server, number) == 3)
    pid = pid_of(server, offender)
    for index in range(3):
        server.cli('sim', 'fault', 'gpu', index, 'hang', '20s')
    use(server, 3, pid, 70)
    began = time.monotonic()
    server.wait_state(offender, 'stopping', 'failed')
    assert time.monotonic() - began < 6, time.monotonic() - began  # with three that were waited for it took 14 s
    assert [server.job(number)['state'] for number in numbers if number != offender] == ['running'] * 3


if __name__ == '__main__':
    weirlib.main(globals())
