"""GPUs that fail: what the kernel's log says of them, and what becomes of them and of the jobs there."""
import json
import os
import time

import weirlib
from weirlib import wait_for


class Log:
    """The log of the simulated kernel. The kernel itself speaks with facility 0."""

    def __init__(self, server):
        self.path = os.path.join(server.data, 'sim', 'kmsg')
        self.seq = 1000

    def say(self, text, facility=0):
        self.seq += 1
        us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        with open(self.path, 'a', encoding='utf-8') as file:
            file.write(f'{facility << 3 | 3},{self.seq},{us},-;{text}\n')

    def xid(self, gpu, code, rest='pid=1, name=a', facility=0):
        address = gpu['reading']['pci'].rsplit('.', 1)[0]
        self.say(f'NVRM: Xid (PCI:{address}): {code}, {rest}', facility)


def gpus(server):
    keys = [gpu['key'] for gpu in json.loads(server.cli('get', 'gpus', '-o', 'json').stdout)]
    return {key: json.loads(server.cli('get', 'gpu', key, '-o', 'json').stdout) for key in keys}


def gpu_of(server, number):
    (key,) = server.job(number)['gpus']
    return gpus(server)[key]


def wait_state(server, key, state, seconds=10):
    wait_for(f'{key} to be {state}', lambda: gpus(server)[key]['state'] == state, seconds=seconds)


def wait_read(server):
    wait_for('the GPUs to be read', lambda: all(gpu['reading'] and gpu['reading']['pci'] for gpu in gpus(server).values()))


def test_a_failed_gpu_is_taken_out_and_its_job_goes_on_elsewhere(t):
    server = t.serve('--simulate', '2xH100')
    wait_read(server)
    number = server.submit('--', 'sh', '-c', 'if [ $WEIR_JOB_ATTEMPT = 1 ]; then while [ ! -e fail ]; do sleep 0.05; done; exit 1; fi; echo well',
                           cwd=t.dir)
    server.wait_state(number, 'running')
    bad = gpu_of(server, number)
    Log(server).xid(bad, 48, 'pid=1, name=a, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer')
    wait_state(server, bad['key'], 'suspect')
    with open(os.path.join(t.dir, 'fail'), 'w', encoding='utf-8'):
        pass
    job = server.wait_ended(number)
    assert job['state'] == 'succeeded' and job['attempt'] == 2 and job['gpus'] != [bad['key']], job
    gpu = gpus(server)[bad['key']]
    assert gpu['state'] == 'unhealthy' and 'Xid' in gpu['cause'] and gpu['fault']['class'].startswith('xid:48'), gpu
    assert 'reset' in gpu['fault']['to_do'], gpu
    assert 'reset' in server.cli('describe', 'gpu', bad['key']).stdout.decode()
    events = json.loads(server.cli('get', 'events', f'gpu/{bad["key"]}', '-o', 'json').stdout)
    assert [event['kind'] for event in events] == ['gpu.unhealthy'], events
    server.kill()
    server.start()
    assert gpus(server)[bad['key']]['fault']['class'] == gpu['fault']['class']
    server.cli('uncordon', bad['key'])
    wait_state(server, bad['key'], 'suspect')
    wait_state(server, bad['key'], 'free', seconds=25)
    time.sleep(2.5)  # what was said before is not taken for new
    assert gpus(server)[bad['key']]['state'] == 'free'


def test_what_runs_on_a_failed_gpu_is_stopped(t):
    server = t.serve('--simulate', '2xH100')
    wait_read(server)
    number = server.submit('--', 'sleep', '60')
    other = server.submit('--', 'sleep', '60')
    server.wait_state(number, 'running')
    server.wait_state(other, 'running')
    bad = gpu_of(server, number)
    Log(server).xid(bad, 79, 'pid=1, name=a, GPU has fallen off the bus.')
    server.wait_state(number, 'queued')
    job = server.job(number)
    assert job['stopped'].startswith(f'{bad["key"]} failed: NVRM: Xid'), job
    assert server.job(other)['state'] == 'running'
    assert gpus(server)[bad['key']]['state'] == 'unhealthy'


def test_a_fault_of_the_application_is_its_own(t):
    server = t.serve('--simulate', '1xH100')
    wait_read(server)
    number = server.submit('--', 'sh', '-c', 'while [ ! -e fail ]; do sleep 0.05; done; exit 7', cwd=t.dir)
    server.wait_state(number, 'running')
    gpu = gpu_of(server, number)
    Log(server).xid(gpu, 31, 'pid=1, name=a, Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS')
    wait_state(server, gpu['key'], 'suspect')
    with open(os.path.join(t.dir, 'fail'), 'w', encoding='utf-8'):
        pass
    job = server.wait_ended(number)
    assert (job['state'], job['exit_status'], job['attempt']) == ('failed', 7, 1), job
    assert job['reason'].startswith('exit 7: ') and 'MMU Fault' in job['reason'] and gpu['key'] in job['reason'], job
    wait_state(server, gpu['key'], 'free')
    events = json.loads(server.cli('get', 'events', f'gpu/{gpu["key"]}', '-o', 'json').stdout)
    assert [event['kind'] for event in events] == ['gpu.fault'], events


def test_the_first_gpu_that_is_lost_takes_no_other_with_it(t):
    """Three lines say it, and the first alone which GPU it is; others of the driver's never say it."""
    server = t.serve('--simulate', '2xH100')
    wait_read(server)
    server.cli('sim', 'fault', 'gpu', '0', 'lost')
    wait_for('it to be taken out', lambda: [gpu['state'] for gpu in gpus(server).values()].count('unhealthy') == 1)
    Log(server).say('NVRM: nvAssertOkFailedNoLog: Assertion failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F)')
    time.sleep(3)
    assert sorted(gpu['state'] for gpu in gpus(server).values()) == ['free', 'unhealthy'], gpus(server)
    assert [node['state'] for node in json.loads(server.cli('get', 'nodes', '-o', 'json').stdout)] == ['ready']


def test_a_process_cannot_forge_a_fault(t):
    """Only the kernel has facility 0; what cannot be read at all does no harm."""
    server = t.serve('--simulate', '1xH100')
    wait_read(server)
    (gpu,) = gpus(server).values()
    log = Log(server)
    log.xid(gpu, 79, facility=1)
    log.say('NVRM: Xid (PCI:zzzz): 79')
    with open(log.path, 'ab') as file:
        file.write(b'\xff\x00garbage\n,,,;\n' + b'x' * 20000 + b'\n')
    time.sleep(2.5)
    assert gpus(server)[gpu['key']]['state'] == 'free'
    log.xid(gpu, 79)
    wait_state(server, gpu['key'], 'unhealthy')


def test_too_many_at_once_are_left_in_service(t):
    """A quarter of the fleet within minutes is no accident of single GPUs."""
    server = t.serve('--simulate', '12xH100')
    wait_read(server)
    log = Log(server)
    for gpu in gpus(server).values():
        log.xid(gpu, 79)
    wait_for('three to be taken out', lambda: sum(gpu['state'] == 'unhealthy' for gpu in gpus(server).values()) == 3)
    time.sleep(1.5)
    assert sum(gpu['state'] == 'unhealthy' for gpu in gpus(server).values()) == 3, gpus(server)
    assert 'no more are taken out of service' in server.tail(), server.tail()



def test_a_gpu_that_does_not_answer_is_not_put_back(t):
    server = t.serve('--simulate', '2xH100')
    wait_read(server)
    key = next(key for key, gpu in gpus(server).items() if gpu['index'] == 1)
    server.cli('sim', 'fault', 'gpu', '1', 'lost')
    wait_for('it to have a mark', lambda: gpus(server)[key]['fault'] and gpus(server)[key]['reading']['state'] != 'ready')
    before = gpus(server)[key]['fault']
    for words in (['uncordon', key], ['uncordon', '--no-test', '1']):
        said = server.cli(*words).stdout.decode()
        assert f'gpu/{key} uncordoned; it does not serve yet: ' in said, said
        after = gpus(server)[key]
        assert after['fault'] == before and after['state'] == 'unhealthy', (before, after)


def test_a_job_shows_what_is_wrong_with_its_gpu(t):
    server = t.serve('--simulate', '2xH100')
    wait_read(server)
    number = server.submit('--gpus', '2', '--', 'sleep', '60')
    server.wait_state(number, 'running')
    server.cli('sim', 'fault', 'gpu', '0', 'hang', '20s')
    wait_for('it to say so', lambda: ' is lost: ' in (server.job(number)['reason'] or ''))
    assert server.job(number)['reason'].startswith('its GPU GPU-'), server.job(number)['reason']


def test_gpus_are_called_by_their_place(t):
    server = t.serve('--simulate', '2x2xH100')
    wait_read(server)
    all_of_it = gpus(server)
    for key, gpu in all_of_it.items():
        assert server.cli('cordon', f'gpu/{gpu["node"]}:{gpu["index"]}').stdout.decode().startswith(f'gpu/{key} ')
    assert all(gpu['state'] == 'cordoned' for gpu in gpus(server).values())
    for key, gpu in all_of_it.items():
        assert server.cli('uncordon', gpu['index']).stdout.decode() == f'gpu/{key} uncordoned\n'
    assert 'there is no GPU' in server.cli('cordon', 'gpu/sim-2:0', check=1).stderr.decode()
    assert 'there is no GPU' in server.cli('describe', 'gpu', '7', check=1).stderr.decode()


if __name__ == '__main__':
    weirlib.main(globals())
