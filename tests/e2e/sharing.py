"""GPUs that several jobs share by memory budgets."""
import json
import re

import weirlib
from weirlib import wait_for

GIB = 1 << 30
TWO = ('--simulate', '2xH100')


def describe(server, *what):
    return server.cli('describe', *what).stdout.decode()


def holders(server):
    """By GPU: the jobs on it and their budgets in GiB."""
    return [{holder['id']: (holder['memory_bytes'] or 0) / GIB for holder in gpu['holders']} for gpu in server.gpus()]


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


def test_parts_are_asked_for_by_memory(t):
    server = t.serve(*TWO)
    document = {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'spec': {'command': ['x'], 'gpus': 0.25}}
    status, answer = server.post('/v1/workloads', document)
    assert status == 400 and answer['error']['field'] == 'spec.gpus' and 'gpuMemory' in answer['error']['hint'], answer
    said = server.cli('run', '--gpu-memory', '100Gi', '--', 'true', check=1).stderr.decode()
    assert 'asks for 100Gi of memory on each GPU, the largest has' in said, said
    shown = server.cli('run', '--dry-run', '--gpu-memory', '20Gi', '--', 'true').stdout.decode()
    assert 'gpuMemory: 20Gi' in shown and 'gpus:' not in shown, shown


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


if __name__ == '__main__':
    weirlib.main(globals())
