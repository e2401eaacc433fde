"""GPUs that a driver does not show when weir starts: they are there all the same, out of service, until they come back."""
import json
import os
import subprocess

import weirlib
from faults import gpus, wait_read, wait_state
from weirlib import wait_for


def restart(server):
    server.kill()
    server.start()


def facts(gpu):
    return {name: gpu[name] for name in ('model', 'class', 'node', 'index', 'memory_bytes', 'sharers_max')}


def test_a_gpu_that_was_lost_is_known_after_a_restart(t):
    server = t.serve('--simulate', '4xH100')
    wait_read(server)
    lost, hung = (server.gpus()[i] for i in (2, 0))
    server.cli('sim', 'fault', 'gpu', '2', 'xid', '79')
    wait_state(server, lost['key'], 'unhealthy')
    number = server.submit('--', 'sleep', '600')
    server.wait_state(number, 'running')
    assert server.job(number)['gpus'] == [hung['key']], server.job(number)
    server.cli('sim', 'fault', 'gpu', '0', 'hang', '12s')
    restart(server)
    now = gpus(server)
    assert facts(now[lost['key']]) == facts(lost) and now[lost['key']]['state'] == 'unhealthy', now[lost['key']]
    assert 'Xid' in now[lost['key']]['cause'] and now[lost['key']]['reading']['state'] == 'lost', now[lost['key']]
    assert facts(now[hung['key']]) == facts(hung) and now[hung['key']]['state'] == 'lost', now[hung['key']]
    assert server.job(number)['state'] == 'running'
    assert json.loads(server.cli('get', 'nodes', '-o', 'json').stdout)[0]['gpus'] == 4
    waiting = server.submit('--gpus', '4', '--', 'true')
    server.cli('sim', 'fault', 'gpu', '2', 'recovered')
    server.cli('cancel', number)
    server.wait_state(waiting, 'succeeded', seconds=40)
    assert [facts(gpu) for gpu in server.gpus() if gpu['key'] == hung['key']] == [facts(hung)]


def test_a_gpu_that_waited_for_its_reset_has_its_memory(t):
    server = t.serve('--simulate', '1xH100')
    wait_read(server)
    (gpu,) = server.gpus()
    server.cli('sim', 'fault', 'gpu', '0', 'reset-required')
    wait_state(server, gpu['key'], 'unhealthy')
    restart(server)
    assert facts(server.gpus()[0]) == facts(gpu), server.gpus()
    server.cli('sim', 'fault', 'gpu', '0', 'recovered')
    wait_state(server, gpu['key'], 'free', seconds=25)
    assert facts(server.gpus()[0]) == facts(gpu), server.gpus()
    assert gpus(server)[gpu['key']]['reading']['limits'], gpus(server)
    server.wait_ended(server.submit('--gpu-memory', '20Gi', '--', 'true'))


def test_weir_starts_while_its_driver_is_away(t):
    server = t.serve('--simulate', '2xH100')
    number = server.submit('--', 'sleep', '600')
    server.wait_state(number, 'running')
    before = server.gpus()
    server.cli('sim', 'fault', 'driver', 'reload', '4s')
    restart(server)
    assert server.job(number)['state'] == 'running'
    assert [facts(gpu) for gpu in server.gpus()] == [facts(gpu) for gpu in before], server.gpus()
    assert {gpu['state'] for gpu in server.gpus()} == {'lost'}, server.gpus()
    assert 'Driver Not Loaded' in server.gpus()[0]['cause'], server.gpus()
    wait_for('them to come back', lambda: {gpu['health'] for gpu in server.gpus()} == {'healthy'}, 30)
    assert server.job(number)['state'] == 'running'


def test_what_befell_a_fleet_when_it_was_made_is_shown(t):
    path = os.path.join(t.dir, 'fleet.yaml')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('nodes:\n  - {name: a, gpus: 5xH100, faults: ["gpu 0 xid 79", "gpu 1 hang 6s", "gpu 2 lost", "gpu 3 xid 31"]}\n')
    server = t.serve('--simulate', path)
    wait_for('what befell them', lambda: [gpu['state'] for gpu in server.gpus()] == ['unhealthy', 'lost', 'unhealthy', 'free', 'free'])
    assert [gpu['index'] for gpu in server.gpus()] == [0, 1, 2, 3, 4], server.gpus()
    assert len({json.dumps({**facts(gpu), 'index': 0, 'sharers_max': 0}) for gpu in server.gpus()}) == 1, server.gpus()
    assert 'does not show' not in server.tail(), server.tail()
    key = server.gpus()[1]['key']
    wait_state(server, key, 'free', seconds=25)
    assert gpus(server)[key]['reading']['limits']


def test_another_simulated_fleet_has_no_gpus_of_the_last(t):
    server = t.serve('--simulate', '2xH100')
    server.stop()
    other = t.serve('--simulate', '1xL40S')
    wait_read(other)
    assert [gpu['class'] for gpu in other.gpus()] == ['l40s'], other.gpus()
    restart(other)
    assert [gpu['class'] for gpu in other.gpus()] == ['l40s'], other.gpus()


def test_instances_are_known_while_their_gpu_hangs(t):
    path = os.path.join(t.dir, 'fleet.yaml')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('nodes:\n  - {name: a, gpus: 1xH100, mig: true}\n')
    server = t.serve('--simulate', path)
    held, ended = (server.submit('--mig', '1g.10gb', '--', 'sleep', '600') for _ in range(2))
    server.wait_state(held, 'running')
    server.wait_state(ended, 'running')
    server.cli('cancel', ended)
    server.wait_ended(ended)

    def shown():
        return [(gpu['kind'], gpu['key'], gpu['index'], gpu['memory_bytes'], gpu['mig_profile'], gpu['slots'], len(gpu['holders'])) for gpu in server.gpus()]

    before = shown()
    assert len(before) == 3, before
    server.cli('sim', 'fault', 'gpu', '0', 'hang', '8s')
    restart(server)
    assert shown() == before and {gpu['state'] for gpu in server.gpus()} == {'lost'}, server.gpus()
    waiting = server.submit('--mig', '1g.10gb', '--', 'true')
    server.wait_state(waiting, 'succeeded', seconds=30)
    assert server.job(held)['state'] == 'running'


def refusal(data, *args, env=None):
    done = subprocess.run([weirlib.WEIR, 'up', '--no-demo', '--data', data, '--listen', '127.0.0.1:0', *args], capture_output=True, timeout=30,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}, check=False)
    assert done.returncode != 0 and not done.stdout, done
    return done.stderr.decode()


def test_a_real_driver_may_come_later_and_its_gpus_are_remembered(t):
    """The driver of the simulated fleet stands in for a real one: its library is found where the loader looks."""
    fleet = t.serve('--simulate', '3xH100')
    env = {'LD_LIBRARY_PATH': os.path.join(fleet.data, 'lib')}
    data = os.path.join(t.dir, 'real')
    real = t.serve('--gpu-test', 'true', data=data, env=env)
    wait_read(real)
    before = real.gpus()
    assert len(before) == 3 and real.ready_line.split(' with ')[1].startswith('driver '), real.ready_line
    number = real.submit('--', 'sleep', '600')
    real.wait_state(number, 'running')
    assert real.job(number)['gpus'] == [before[0]['key']], real.job(number)
    fleet.cli('sim', 'fault', 'gpu', '1', 'lost')
    wait_for('it to be lost', lambda: real.gpus()[1]['health'] != 'healthy')
    restart(real)
    assert [facts(gpu) for gpu in real.gpus()] == [facts(gpu) for gpu in before], real.gpus()
    assert [gpu['health'] == 'healthy' for gpu in real.gpus()] == [True, False, True], real.gpus()
    real.kill()
    real.env['LD_LIBRARY_PATH'] = t.dir  # no library at all, as while it is being installed
    assert 'no NVIDIA driver library' in refusal(os.path.join(t.dir, 'new'), env=real.env)
    real.start()
    assert 'not there yet' in real.ready_line, real.ready_line
    assert [facts(gpu) for gpu in real.gpus()] == [facts(gpu) for gpu in before], real.gpus()
    assert [gpu['health'] for gpu in real.gpus()] == ['lost', 'unhealthy', 'lost'], real.gpus()
    assert real.job(number)['state'] == 'running'
    real.kill()
    assert 'real GPUs' in refusal(data, '--simulate', '8xH100', env=real.env)
    fleet.kill()
    assert 'simulated GPUs' in refusal(fleet.data, env=env)
    real.start()
    real.cli('cancel', number)
    real.wait_ended(number)
    real.cli('delete', 'gpu', before[1]['key'])
    assert [gpu['key'] for gpu in real.gpus()] == [before[0]['key'], before[2]['key']], real.gpus()
    restart(real)
    assert len(real.gpus()) == 2 and json.loads(real.cli('get', 'nodes', '-o', 'json').stdout)[0]['gpus'] == 2


if __name__ == '__main__':
    weirlib.main(globals())
