"""A GPU that was out of service is tested before it serves again, through kills and whatever else comes between."""
import json
import os
import time

import weirlib
from faults import Log, gpus, wait_read, wait_state
from weirlib import wait_for


def events(server, key):
    found = json.loads(server.cli('get', 'events', f'gpu/{key}', '-o', 'json').stdout)
    return [event['kind'].removeprefix('gpu.') for event in found]


def cause(server, key):
    return gpus(server)[key]['cause'] or ''


def fault(server, key):
    return gpus(server)[key]['fault'] or {'class': '', 'evidence': ''}


def the_gpu(server):
    wait_read(server)
    (key,) = gpus(server)
    return key


def tests_of(data):
    """Processes of test commands, zombies aside."""
    found = []
    for name in os.listdir('/proc'):
        try:
            with open(f'/proc/{int(name)}/environ', 'rb') as file:
                if f'WEIR_GPU_TEST_OF={data}\0'.encode() in file.read() and weirlib.stat_of(name)[0] != 'Z':
                    found.append(int(name))
        except (OSError, ValueError, TypeError):
            continue
    return found


def lose_and_recover(server, gpu='0', gone=lambda gpu: gpu['state'] in ('lost', 'unhealthy')):
    server.cli('sim', 'fault', 'gpu', gpu, 'xid', '79')
    wait_for('the GPU to be missed', lambda: any(gone(one) for one in gpus(server).values()))
    server.cli('sim', 'fault', 'gpu', gpu, 'recovered')


def test_a_healthy_fleet_serves_at_once(t):
    server = t.serve('--simulate', '2xH100', '--gpu-test', 'sleep 30')
    assert server.wait_ended(server.submit('--', 'true'), seconds=10)['state'] == 'succeeded'
    server.kill()
    server.start()
    assert server.wait_ended(server.submit('--', 'true'), seconds=10)['state'] == 'succeeded'
    for key in gpus(server):
        assert events(server, key) == [], events(server, key)


def test_a_reset_gpu_is_looked_at_before_it_serves(t):
    server = t.serve('--simulate', '1xH100')
    key = the_gpu(server)
    lose_and_recover(server)
    wait_state(server, key, 'suspect')
    assert cause(server, key) == 'being tested: it was reset', cause(server, key)
    assert 'tested' in server.cli('describe', 'gpu', key).stdout.decode()
    number = server.submit('--', 'true')
    time.sleep(0.5)
    assert server.job(number)['state'] == 'queued'
    assert server.wait_ended(number, seconds=25)['state'] == 'succeeded'
    assert events(server, key) == ['unhealthy', 'test-started', 'test-passed', 'healthy'], events(server, key)


def test_the_command_decides(t):
    verdict = os.path.join(t.dir, 'verdict')
    seen = os.path.join(t.dir, 'seen')
    server = t.serve('--simulate', '1xH100', '--gpu-test',
                     f'echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES $WEIR_GPU_UUID $WEIR_GPU_INDEX $WEIR_GPU_NODE > {seen}; '
                     f'echo first; echo memory is bad; echo; test -e {verdict}')
    key = the_gpu(server)
    lose_and_recover(server)
    wait_for('the test to fail', lambda: fault(server, key)['class'] == 'self-test:failed', seconds=25)
    with open(seen, encoding='utf-8') as file:
        assert file.read().split()[:4] == [key, key, key, '0']
    gpu = gpus(server)[key]
    assert gpu['state'] == 'unhealthy' and gpu['cause'] == 'self-test failed: exit status 1: memory is bad', gpu
    assert 'diagnostics' in gpu['fault']['to_do'], gpu
    assert 'memory is bad' in server.cli('describe', 'gpu', key).stdout.decode()
    assert 'first' in server.tail()
    # A reset is no reason to believe in it, a person's word is one to look again.
    server.cli('uncordon', key)
    wait_for('a second failure', lambda: events(server, key).count('test-failed') == 2, seconds=25)
    with open(verdict, 'w', encoding='utf-8'):
        pass
    server.cli('uncordon', f'gpu/{key}')
    assert gpus(server)[key]['state'] != 'free'
    wait_state(server, key, 'free', seconds=25)
    assert events(server, key) == ['unhealthy'] + ['test-started', 'test-failed', 'phase'] * 2 + ['test-started', 'test-passed', 'healthy'], events(server, key)


def test_a_person_may_put_it_back_untested(t):
    server = t.serve('--simulate', '1xH100', '--gpu-test', 'sleep 100')
    key = the_gpu(server)
    lose_and_recover(server)
    wait_for('the test to run', lambda: tests_of(t.data), seconds=25)
    assert server.cli('uncordon', '--no-test', 'node/x', check=2).stderr
    server.cli('uncordon', '--no-test', key)
    wait_state(server, key, 'free')
    assert events(server, key)[-2:] == ['phase', 'healthy'], events(server, key)
    wait_for('the command to be gone', lambda: not tests_of(t.data))


def test_a_test_that_takes_too_long_fails(t):
    server = t.serve('--simulate', '1xH100', '--gpu-test', 'echo begun; (setsid sleep 100 &) ; sleep 100', '--gpu-test-timeout', '1s')
    key = the_gpu(server)
    lose_and_recover(server)
    wait_for('the test to fail', lambda: fault(server, key)['class'] == 'self-test:failed', seconds=25)
    assert fault(server, key)['evidence'] == 'self-test failed: it took longer than 1 s: begun', fault(server, key)
    wait_for('all of it to be gone', lambda: not tests_of(t.data))


def test_a_kill_in_the_middle_begins_it_anew(t):
    """Nothing of the first test stays, and the GPU does not serve between the two."""
    server = t.serve('--simulate', '1xH100', '--gpu-test', f'echo x >> {t.dir}/runs; (setsid sleep 100 &) ; test -e {t.dir}/well || sleep 100')
    key = the_gpu(server)
    lose_and_recover(server)
    wait_for('the test to run', lambda: len(tests_of(t.data)) >= 2, seconds=25)
    first = tests_of(t.data)
    server.kill()
    with open(os.path.join(t.dir, 'well'), 'w', encoding='utf-8'):
        pass
    number = None
    server.start()
    number = server.submit('--', 'true')
    assert gpus(server)[key]['state'] in ('suspect', 'lost', 'unhealthy'), gpus(server)[key]
    assert server.job(number)['state'] == 'queued'
    wait_for('the first test to be gone', lambda: not set(first) & set(tests_of(t.data)))
    assert server.wait_ended(number, seconds=30)['state'] == 'succeeded'
    with open(os.path.join(t.dir, 'runs'), encoding='utf-8') as file:
        assert file.read() == 'x\nx\n'
    assert tests_of(t.data) == [], tests_of(t.data)


def test_what_came_back_while_weir_was_away_is_tested(t):
    server = t.serve('--simulate', '1xH100')
    key = the_gpu(server)
    server.cli('sim', 'fault', 'gpu', '0', 'hang', '12s')
    wait_state(server, key, 'lost', seconds=20)
    server.kill()
    time.sleep(8)
    server.start()
    wait_for('the test', lambda: 'test-started' in events(server, key), seconds=20)
    wait_state(server, key, 'free', seconds=25)
    assert 'test-passed' in events(server, key)


def test_a_fault_during_the_test_fails_it(t):
    server = t.serve('--simulate', '1xH100', '--gpu-test', 'sleep 100')
    key = the_gpu(server)
    lose_and_recover(server)
    wait_for('the test to run', lambda: tests_of(t.data), seconds=25)
    server.cli('sim', 'fault', 'gpu', '0', 'xid', '31')
    wait_for('the test to fail', lambda: fault(server, key)['class'] == 'self-test:failed', seconds=15)
    assert 'Xid' in fault(server, key)['evidence'], fault(server, key)
    wait_for('the command to be gone', lambda: not tests_of(t.data))


def test_what_the_driver_still_wants_fails_it(t):
    server = t.serve('--simulate', '1xH100')
    key = the_gpu(server)
    server.cli('sim', 'fault', 'gpu', '0', 'xid', '48')
    wait_state(server, key, 'unhealthy', seconds=15)
    server.cli('uncordon', key)
    wait_for('the test to fail', lambda: fault(server, key)['class'] == 'self-test:failed', seconds=15)
    assert 'recovery action' in fault(server, key)['evidence'] and 'reset' in fault(server, key)['to_do'], fault(server, key)
    server.cli('sim', 'fault', 'gpu', '0', 'recovered')
    wait_state(server, key, 'free', seconds=25)


def test_a_job_goes_on_and_the_command_waits_for_it(t):
    server = t.serve('--simulate', '1xH100', '--gpu-test', f'test -e {t.dir}/ended')
    key = the_gpu(server)
    number = server.submit('--', 'sh', '-c', f'while [ ! -e {t.dir}/end ]; do sleep 0.05; done; touch {t.dir}/ended')
    server.wait_state(number, 'running')
    server.cli('sim', 'fault', 'gpu', '0', 'hang', '8s')
    wait_state(server, key, 'lost', seconds=20)
    wait_for('it to wait', lambda: 'nobody uses it' in fault(server, key)['evidence'], seconds=25)
    assert server.job(number)['state'] == 'running' and gpus(server)[key]['state'] == 'suspect'
    with open(os.path.join(t.dir, 'end'), 'w', encoding='utf-8'):
        pass
    assert server.wait_ended(number)['state'] == 'succeeded'
    wait_state(server, key, 'free', seconds=25)


def test_a_driver_reload_tests_all_at_once(t):
    server = t.serve('--simulate', '12xH100', '--gpu-test', f'echo x >> {t.dir}/runs; sleep 2')
    wait_read(server)
    server.cli('sim', 'fault', 'driver', 'reload', '6s')
    wait_for('all to be missed', lambda: all(gpu['state'] in ('lost', 'unhealthy') for gpu in gpus(server).values()), seconds=20)
    most = 0

    def all_serve():
        nonlocal most
        most = max(most, sum(stat is not None for stat in map(weirlib.stat_of, tests_of(t.data))))
        return all(gpu['state'] == 'free' for gpu in gpus(server).values())

    began = time.monotonic()
    wait_for('all to serve', all_serve, seconds=60)
    assert time.monotonic() - began < 24 + 12, 'one after the other'
    assert most > 2, most
    with open(os.path.join(t.dir, 'runs'), encoding='utf-8') as file:
        assert file.read() == 'x\n' * 12


def test_wrong_options_are_refused(t):
    for options, says in ((('--gpu-test', ' '), 'empty'), (('--gpu-test-timeout', '5s'), 'no --gpu-test'),
                          (('--gpu-test', 'true', '--gpu-test-timeout', '0s'), 'above zero')):
        done = weirlib.subprocess.run([weirlib.WEIR, 'up', '--data', t.data, '--simulate', '1xH100', *options], capture_output=True, timeout=30)
        assert done.returncode == 2 and says in done.stderr.decode(), (done.returncode, done.stderr)


if __name__ == '__main__':
    weirlib.main({name: value for name, value in globals().items() if name.startswith('test_')})
