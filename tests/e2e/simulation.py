"""Simulated GPUs under a real server: what befalls them by order and by schedule, and what weir makes of it."""
import json
import os

import weirlib
from weirlib import wait_for


def reading(server, key):
    return json.loads(server.cli('get', 'gpu', key, '-o', 'json').stdout)['reading']


def keys(server):
    return [gpu['key'] for gpu in server.gpus()]


def kmsg(t):
    with open(os.path.join(t.data, 'sim', 'kmsg'), encoding='utf-8', errors='replace') as file:
        return file.read()


def wait_for_state(server, key, state):
    """What the driver says. What weir makes of it, and for how long, is another matter."""
    wait_for(f'{key} to be {state}', lambda: reading(server, key)['state'] == state)


def test_a_gpu_falls_off_the_bus_and_comes_back(t):
    server = t.serve('--simulate', '4xH100')
    key = keys(server)[3]
    assert server.cli('sim', 'fault', 'gpu', '3', 'xid', '79').stdout.decode() == 'gpu 3 xid 79: done\n'
    wait_for_state(server, key, 'lost')
    assert 'NVRM: Xid (PCI:' in kmsg(t) and '): 79,' in kmsg(t), kmsg(t)
    wait_for('it to serve nobody', lambda: server.gpus()[3]['health'] != 'healthy')
    number = server.submit('--gpus', '4', '--', 'sleep', '1000')
    assert server.job(number)['state'] == 'queued'
    server.cli('sim', 'fault', 'gpu', key, 'recovered')
    wait_for_state(server, key, 'ready')
    events = [event for event in json.loads(server.cli('get', 'events', '-o', 'json').stdout) if event['kind'] == 'sim.fault']
    assert [event['after'] for event in events] == ['gpu 3 xid 79', f'gpu {key} recovered'], events


def test_errors_and_hung_calls(t):
    server = t.serve('--simulate', '2x2xH100')
    gpus = keys(server)
    server.cli('sim', 'fault', '--node', 'sim-2', 'gpu', '1', 'ecc', '4')
    server.cli('sim', 'fault', 'gpu', 'sim-1/0', 'hang', '6s')
    wait_for('errors', lambda: reading(server, gpus[3])['metrics'].get('ecc_uncorrected_errors') == 4)
    assert reading(server, gpus[2])['metrics']['ecc_uncorrected_errors'] == 0
    wait_for_state(server, gpus[0], 'hung')
    assert reading(server, gpus[1])['state'] == 'ready'
    wait_for_state(server, gpus[0], 'ready')


def test_a_job_under_a_cap_never_draws_more(t):
    server = t.serve('--simulate', '2x2xH100')
    gpus = keys(server)
    server.cli('sim', 'fault', '--node', 'sim-2', 'gpu', 'all', 'power', '300')
    number = server.submit('--members', '4', '--class', 'training', '--', 'sleep', '1000')
    server.wait_state(number, 'running')
    wait_for('the free ones to go over it', lambda: reading(server, gpus[1])['metrics']['power_mw'] > 400000)
    assert reading(server, gpus[2])['metrics']['power_mw'] <= 300000
    assert reading(server, gpus[2])['metrics']['clock_reasons'] & 4 == 4


def test_the_driver_is_loaded_anew(t):
    server = t.serve('--simulate', '2xH100')
    number = server.submit('--', 'sleep', '1000')
    server.wait_state(number, 'running')
    (key,) = server.job(number)['gpus']
    wait_for('its load', lambda: reading(server, key)['processes'])
    server.cli('sim', 'fault', 'driver', 'reload', '2s')
    wait_for('it to be away', lambda: all(gpu['health'] == 'lost' for gpu in server.gpus()))
    wait_for('it to be back', lambda: all(gpu['health'] == 'healthy' for gpu in server.gpus()))
    assert server.job(number)['state'] == 'running'
    wait_for('its load again', lambda: reading(server, key)['processes'])
    assert reading(server, key)['metrics']['energy_mj'] < 700000 * 60


def test_the_demo_looks_as_if_it_had_run_for_long(t):
    server = t.serve('--simulate', '8xH100', demo=True)
    job = wait_for('the demo', lambda: [job for job in server.jobs().values() if job['name'] == 'train-resnet' and job['gpus']])[0]
    assert job['demo'] is True
    for key in job['gpus']:
        metrics = wait_for('its readings', lambda key=key: reading(server, key)['processes'] and reading(server, key)['metrics'])
        assert metrics['temperature_c'] > 60 and metrics['utilization_percent'] > 83, metrics
    mine = server.submit('--class', 'training', '--', 'sleep', '1000')
    (key,) = server.wait_state(mine, 'running')['gpus']
    metrics = wait_for('its readings', lambda: reading(server, key)['processes'] and reading(server, key)['metrics'])
    assert metrics['temperature_c'] < 60, metrics


def test_what_is_wrong_changes_nothing(t):
    server = t.serve('--simulate', '2xH100')

    def refused(*words, status):
        return server.cli('sim', 'fault', *words, check=status).stderr.decode()

    assert "'gpu 5 lost': character 5: the fleet has no GPU '5'" in refused('gpu', '5', 'lost', status=1)
    assert "the fleet has no node 'x'" in refused('--node', 'x', 'gpu', '0', 'lost', status=1)
    assert "a fault expected, not 'explode' (faults are xid" in refused('gpu', '0', 'explode', status=2)
    assert 'above the 700 W' in refused('gpu', 'all', 'power', '900', status=2)
    assert '--simulate-faults' in refused('+3s', 'gpu', '0', 'lost', status=2)
    status, answer = server.post('/v1/simulation/faults', {'faults': ['gpu 0 lost', 'gpu 0 lots']})
    assert (status, answer['error']['field']) == (400, 'faults[1]'), answer
    assert [gpu['health'] for gpu in server.gpus()] == ['healthy'] * 2
    token = server.cli('token', 'create', '--role', 'submit', '--user', 'root').stdout.decode().strip()
    said = server.cli('--server', server.url(), 'sim', 'fault', 'gpu', '0', 'lost', env={'WEIR_TOKEN': token}, check=1)
    assert b'admin' in said.stderr, said
    assert [gpu['health'] for gpu in server.gpus()] == ['healthy'] * 2


def test_a_schedule(t):
    path = os.path.join(t.dir, 'faults.txt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('# what is to come\n'
                   '\n'
                   '+3s   gpu 1 recovered   # as if it had been reset\n'
                   '+1s   node sim-1 gpu 1 lost\n'
                   'gpu 0 ecc 2 corrected\n')
    server = t.serve('--simulate', '2xH100', '--simulate-faults', path)
    gpus = keys(server)
    wait_for_state(server, gpus[1], 'lost')
    wait_for_state(server, gpus[1], 'ready')
    assert reading(server, gpus[0])['metrics']['ecc_corrected_errors'] == 2
    said = [line for line in server.tail().splitlines() if 'sim.fault' in line]
    assert len(said) == 3 and 'node sim-1 gpu 1 lost' in said[1], said
    # Each start begins it anew.
    server.stop()
    server.start()
    wait_for('more errors', lambda: reading(server, gpus[0])['metrics'].get('ecc_corrected_errors') == 4)


def test_a_bad_schedule_is_refused_at_the_start(t):
    path = os.path.join(t.dir, 'faults.txt')

    def refused(text, *args, status=2):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        server = weirlib.Server.__new__(weirlib.Server)
        server.env = dict(os.environ)
        server.data = t.data
        return server.cli('up', '--no-demo', '--data', t.data, '--listen', '127.0.0.1:0', '--simulate', '2xH100', *args,
                          '--simulate-faults', path, check=status).stderr.decode()

    assert f"--simulate-faults '{path}', line 2 column 12: a fault expected, not 'los'" in refused('+1s gpu 0 lost\n+20s gpu 1 los\n')
    assert "line 1 column 10: the fleet has no GPU '2'" in refused('+20s gpu 2 lost\n')
    assert "line 3 column 1: a power cap of 900 W" in refused('\n\ngpu 0 power 900\n')
    assert "line 1 column 1" in refused('+now gpu 0 lost\n')
    os.remove(path)
    server = weirlib.Server.__new__(weirlib.Server)
    server.env, server.data = dict(os.environ), t.data
    said = server.cli('up', '--data', t.data, '--simulate', '2xH100', '--simulate-faults', path, check=None)
    assert said.returncode != 0 and b'No such file' in said.stderr, said


if __name__ == '__main__':
    weirlib.main(globals())
