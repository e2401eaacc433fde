"""GPUs that are cut into MIG instances: by who waits, by setups, by files of mig-parted."""
import json
import os
import re
import subprocess
import time

import weirlib
from weirlib import wait_for

GIB = 1 << 30
ALL_1G = """
version: v1
mig-configs:
  all-1g.10gb:
    - devices: all
      mig-enabled: true
      mig-devices: {"1g.10gb": 7}
  balanced:
    - devices: [0]
      mig-enabled: true
      mig-devices:
        "1g.10gb": 2
        "2g.20gb": 1
        "3g.40gb": 1
  too-much:
    - devices: all
      mig-enabled: true
      mig-devices: {"3g.40gb": 1, "4g.40gb": 1, "1g.10gb": 1}
"""

# What a person does by hand: the profiles are made on GPU 0, with or without the compute instances that fill them.
BY_HAND = """
import sys, pynvml
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
for word in sys.argv[2:]:
    info = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, int(word))
    instance = pynvml.nvmlDeviceCreateGpuInstance(gpu, info.id)
    if sys.argv[1] == "whole":
        of = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, int(word), 0)
        pynvml.nvmlGpuInstanceCreateComputeInstance(instance, of.id)
pynvml.nvmlShutdown()
"""

# The MIG devices of GPU 0 with the pids on them, as a client of the driver sees them.
SHOW = """
import json, pynvml
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
out = {}
for i in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
    try:
        mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, i)
    except pynvml.NVMLError_NotFound:
        continue
    out[pynvml.nvmlDeviceGetUUID(mig)] = [p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses(mig)]
pynvml.nvmlShutdown()
print(json.dumps(out))
"""


def client(server, script, *args):
    """Runs a script of nvidia-ml-py against the server's simulated driver."""
    python = os.path.join(weirlib.ROOT, '.venv', 'bin', 'python')
    if not os.path.exists(python):
        if os.environ.get('WEIR_REQUIRE_CLIENTS') == '1':
            raise AssertionError('no virtual environment with nvidia-ml-py: run ./dev check once')
        raise weirlib.Skip('no virtual environment with nvidia-ml-py')
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(server.data, 'lib'), PYTHONDONTWRITEBYTECODE='1')
    done = subprocess.run([python, '-c', script, *map(str, args)], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fleet(t, gpus='1xA100-SXM4-80', mig=True):
    path = os.path.join(t.dir, 'fleet.yaml')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'nodes:\n  - name: a\n    gpus: {gpus}\n    mig: {str(mig).lower()}\n')
    return t.serve('--simulate', path)


def instances(server):
    """Those that are there, by where they begin: profile, state, first slot, key, holders."""
    found = []
    for gpu in server.gpus():
        if gpu['kind'] == 'mig':
            found.append({'profile': gpu['mig_profile'], 'state': gpu['state'], 'slots': gpu['slots'], 'key': gpu['key'],
                          'parent': gpu['parent'], 'jobs': [holder['id'] for holder in gpu['holders']]})
    taken = [(one['parent'], slot) for one in found for slot in one['slots']]
    assert len(taken) == len(set(taken)), f'two instances on one slot: {found}'
    return found


def profiles(server):
    return sorted(one['profile'] for one in instances(server) if one['state'] not in ('making', 'unmaking'))


def key_of(server, job):
    return next((one['key'] for one in instances(server) if job in one['jobs']), None)


def write(t, name, text):
    path = os.path.join(t.dir, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def setup(t, server, spec, name='cut', **kwargs):
    path = write(t, name + '.json', json.dumps({'apiVersion': 'weir.dev/v1', 'kind': 'GpuSetup', 'metadata': {'name': name}, 'spec': spec}))
    return server.cli('apply', '-f', path, **kwargs)


def events(server, kind):
    return [event for event in json.loads(server.cli('get', 'events', '-o', 'json').stdout) if event['kind'] == kind]


def test_who_waits_reshapes(t):
    server = fleet(t)
    path = write(t, 'parted.yaml', ALL_1G)
    server.cli('apply', '-f', path, '--mig-config', 'all-1g.10gb')
    wait_for('seven instances', lambda: profiles(server) == ['1g.10gb'] * 7)
    first = server.submit('--mig', '1g.10gb', '--', 'sh', '-c', 'echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES; exec sleep 600')
    server.wait_state(first, 'running')
    key = key_of(server, first)
    assert key.startswith('MIG-')
    wait_for('its output', lambda: server.cli('logs', first).stdout.decode() == f'{key} {key}\n')
    server.cli('run', '--mig', '3g.40gb', '--', 'true', check=1)  # the layout has none
    server.cli('delete', 'gpusetup', 'mig-parted')
    waiting = server.submit('--mig', '3g.40gb', '--', 'sleep', '600')
    server.wait_state(waiting, 'running')
    assert key_of(server, first) == key, 'the instance of what runs was touched'
    assert profiles(server).count('3g.40gb') == 1 and server.job(first)['attempt'] == 1
    assert [event['after'] for event in events(server, 'gpu.reshaped') if '3g' in event['after']], 'nothing was told'
    wide = server.cli('ps', '-o', 'wide').stdout.decode()
    assert wide.count('hardware') == 2, wide


def test_by_memory_in_hardware(t):
    server = fleet(t)
    job = server.submit('--gpu-memory', '12Gi', '--isolation', 'hardware', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    assert [one['profile'] for one in instances(server) if job in one['jobs']] == ['1g.20gb'], instances(server)
    assert server.job(job)['isolation'] == 'hardware'


def test_several_instances(t):
    server = fleet(t, '2xA100-SXM4-80')
    job = server.submit('--mig', '3g.40gb', '--gpus', '3', '--', 'sh', '-c', 'echo $CUDA_VISIBLE_DEVICES; exec sleep 600')
    server.wait_state(job, 'running')
    assert sorted(one['profile'] for one in instances(server) if job in one['jobs']) == ['3g.40gb'] * 3
    wait_for('three names', lambda: server.cli('logs', job).stdout.decode().count('MIG-') == 3)
    queue = json.loads(server.cli('get', 'queue', 'default', '-o', 'json').stdout)
    assert queue['held']['mig/3g.40gb'] == 3 and abs(queue['held']['gpu'] - 3 * 0.428) < 0.01, queue


def test_limits_of_instances(t):
    server = fleet(t)
    path = write(t, 'queue.yaml', 'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: few}\nspec: {limit: {mig/1g.10gb: 1}}\n')
    server.cli('apply', '-f', path)
    jobs = [server.submit('--mig', '1g.10gb', '-Q', 'few', '--', 'sleep', '600') for _ in range(2)]
    server.wait_state(jobs[0], 'running')
    time.sleep(1)
    assert server.job(jobs[1])['reason'] == 'QueueLimit', server.job(jobs[1])


def test_a_layout_is_reached_around_what_runs(t):
    server = fleet(t)
    job = server.submit('--mig', '1g.20gb', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    key = key_of(server, job)
    path = write(t, 'parted.yaml', ALL_1G)
    said = server.cli('apply', '-f', path, check=2).stderr.decode()
    assert 'parted.yaml:4:3' in said and 'all-1g.10gb, balanced, too-much' in said, said
    said = server.cli('apply', '-f', path, '--mig-config', 'too-much', check=2).stderr.decode()
    assert 'do not fit side by side' in said, said
    server.cli('apply', '-f', path, '--mig-config', 'balanced')
    wait_for('what fits beside it', lambda: len(profiles(server)) > 1)
    time.sleep(1)
    assert key_of(server, job) == key and server.job(job)['state'] == 'running'
    server.cli('cancel', job)
    server.wait_ended(job)
    wait_for('the layout', lambda: profiles(server) == ['1g.10gb', '1g.10gb', '2g.20gb', '3g.40gb'])
    assert not events(server, 'gpu.reshape-failed')
    listed = server.cli('get', 'gpusetups').stdout.decode()
    assert '1g.10gb=2,2g.20gb=1,3g.40gb=1' in listed, listed
    gpu = next(gpu for gpu in server.gpus() if gpu['kind'] == 'gpu')
    assert gpu['mig'] == {'mode': 'on', 'wanted': 'on', 'layout': {'1g.10gb': 2, '2g.20gb': 1, '3g.40gb': 1}}, gpu
    told = server.cli('describe', 'gpu', gpu['key']).stdout.decode()
    assert '3g.40gb:' in told and '39.2 GiB' in told, told


def test_mode_by_setup(t):
    server = fleet(t, '2xA100-SXM4-80', mig=False)
    whole = server.submit('--gpus', '1', '--', 'sleep', '600')
    server.wait_state(whole, 'running')
    refused = server.cli('run', '--mig', '1g.10gb', '--', 'true', check=1).stderr.decode()
    assert 'no GPU here is in MIG mode' in refused, refused
    refused = setup(t, server, {'gpus': [{'mig': {'devices': {'1g.5gb': 7}}}]}, check=2).stderr.decode()
    assert "did you mean '1g.10gb'" in refused, refused
    setup(t, server, {'gpus': [{'mig': {'enabled': True}}]})
    modes = lambda: sorted(gpu['mig']['mode'] for gpu in server.gpus() if gpu['kind'] == 'gpu')
    wait_for('the idle one in MIG mode', lambda: modes() == ['off', 'on'])
    job = server.submit('--mig', '2g.20gb', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    assert server.job(whole)['state'] == 'running'
    setup(t, server, {'gpus': [{'mig': {'enabled': False}}]})
    time.sleep(1)
    assert modes() == ['off', 'on'] and server.job(job)['state'] == 'running', 'a mode was changed under a job'
    server.cli('cancel', job)
    wait_for('no MIG mode', lambda: modes() == ['off', 'off'])
    assert not profiles(server)
    again = server.submit('--gpus', '1', '--', 'sleep', '600')
    server.wait_state(again, 'running')


def test_the_page_of_setups(t):
    """docs/operating.md: its setup can be applied, and what it says is reached."""
    server = fleet(t, '4xA100-SXM4-80', mig=False)
    with open(os.path.join(weirlib.ROOT, 'docs/operating.md'), encoding='utf-8') as file:
        (text,) = re.findall(r'^```yaml setup\n(.*?)^```', file.read(), re.M | re.S)
    server.cli('apply', '-f', write(t, 'setup.yaml', text))
    wait_for('the layout', lambda: profiles(server) == ['1g.10gb'] * 4 + ['3g.40gb'])
    whole = {gpu['index']: gpu for gpu in server.gpus() if gpu['kind'] == 'gpu'}
    assert [whole[i]['mig']['mode'] for i in range(4)] == ['on', 'on', 'off', 'off'], whole
    assert [whole[i]['sharing'] for i in (2, 3)] == ['time-slicing', 'never'] and whole[2]['replicas'] == 4, whole
    turns = [server.submit('--gpus', '0.25', '--', 'sleep', '600') for _ in range(5)]
    for job in turns[:4]:
        assert server.wait_state(job, 'running')['gpus'] == [whole[2]['key']]
    assert server.job(turns[4])['state'] == 'queued', 'there are four turns'
    job = server.wait_state(server.submit('--mig', '2g.20gb', '--', 'sleep', '600'), 'running')
    assert job['mig_profile'] == '2g.20gb' and server.cli('ps').stdout.decode().count(' 2g.20gb ') == 1, job


def test_killed_while_it_reshapes(t):
    server = fleet(t)
    keeper = server.submit('--mig', '1g.10gb', '--', 'sleep', '600')
    server.wait_state(keeper, 'running')
    key = key_of(server, keeper)
    for turn, profile in enumerate(('1g.20gb', '2g.20gb', '3g.40gb', '1g.10gb')):
        job = server.submit('--mig', profile, '--', 'sleep', '600')
        time.sleep(t.random.random() * 0.1)
        server.kill()
        server.start()
        server.wait_state(job, 'running')
        assert key_of(server, keeper) == key and server.job(keeper)['state'] == 'running', f'turn {turn}'
        assert [one['profile'] for one in instances(server) if job in one['jobs']] == [profile]
        server.cli('cancel', job)
        server.wait_ended(job)
    assert server.job(keeper)['attempt'] == 1


def test_orphans(t):
    server = fleet(t)
    keeper = server.submit('--mig', '2g.20gb', '--', 'sleep', '600')
    job = server.submit('--mig', '1g.10gb', '--', 'sleep', '600')
    for each in (keeper, job):
        server.wait_state(each, 'running')
    server.cli('cancel', job)
    server.wait_ended(job)
    assert profiles(server) == ['1g.10gb', '2g.20gb']
    server.stop()
    server.start()
    time.sleep(1)
    assert profiles(server) == ['1g.10gb', '2g.20gb'], 'they stay unless it is said'
    server.stop()
    server.start(extra=('--mig-orphans', 'remove'))
    wait_for('the orphan to go', lambda: profiles(server) == ['2g.20gb'])
    assert server.job(keeper)['state'] == 'running'


def test_a_foreign_process_on_an_instance(t):
    server = fleet(t)
    setup(t, server, {'gpus': [{'mig': {'devices': {'1g.10gb': 2}}}]})
    wait_for('two instances', lambda: len(profiles(server)) == 2)
    stranger = subprocess.Popen(['sleep', '600'])
    t.cleanups.append(stranger.wait)
    t.cleanups.append(stranger.kill)
    gpu = next(gpu for gpu in server.gpus() if gpu['kind'] == 'gpu')
    reading = json.loads(server.cli('get', 'gpu', gpu['key'], '-o', 'json').stdout)['reading']
    number = reading['mig']['instances'][0]['id']
    subprocess.run([os.path.join(weirlib.BUILD, 'tests', 'e2e', 'sim-process'), server.data, '0', str(stranger.pid), '512', str(number)], check=True)
    wait_for('the stranger', lambda: sorted(one['state'] for one in instances(server)) == ['foreign', 'free'])
    job = server.submit('--mig', '1g.10gb', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    assert sorted(one['state'] for one in instances(server)) == ['foreign', 'in-use'], instances(server)
    t.cleanups.reverse()


def test_clients_see_the_job(t):
    server = fleet(t)
    job = server.submit('--mig', '2g.20gb', '--', 'sleep', '600')
    server.wait_state(job, 'running')
    key = key_of(server, job)
    pid = wait_for('its process', lambda: json.loads(client(server, SHOW)).get(key))[0]
    with open(f'/proc/{pid}/environ', encoding='utf-8', errors='replace') as file:
        assert f'WEIR_JOB_ID={job}' in file.read()
    server.cli('cancel', job)
    server.wait_ended(job)
    wait_for('nothing on it', lambda: json.loads(client(server, SHOW)).get(key) == [])


def test_a_change_that_fails(t):
    server = fleet(t)
    client(server, BY_HAND, 'whole', *[0] * 7)  # 1g each, before weir reads the driver again
    job = server.submit('--mig', '3g.40gb', '--', 'sleep', '600')
    wait_for('the failure', lambda: events(server, 'gpu.reshape-failed'), 10)
    failed = events(server, 'gpu.reshape-failed')[0]
    assert 'make 3g.40gb' in failed['after'] and failed['cause'], failed
    last_change = lambda: next(gpu['last_change'] for gpu in server.gpus() if gpu['kind'] == 'gpu')
    change = last_change()
    if change is None:  # so soon: what is idle has given way already
        server.wait_state(job, 'starting', 'running')
    else:
        assert change['failed'] and change['not_before_ms'] > 0, change
    server.wait_state(job, 'running', seconds=60)
    wait_for('the failure to be over', lambda: last_change() is None)


def test_half_of_an_instance(t):
    server = fleet(t)
    client(server, BY_HAND, 'half', 2)  # 3g
    wait_for('it to be seen', lambda: [(one['profile'], one['state']) for one in instances(server)] == [('3g.40gb', 'unmaking')])
    job = server.submit('--mig', '7g.80gb', '--', 'true')
    server.wait_state(job, 'succeeded', seconds=90)


if __name__ == '__main__':
    weirlib.main(globals())
