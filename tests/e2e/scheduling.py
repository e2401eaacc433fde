"""Who gets the GPUs, as a user sees it: preemption, guarantees, limits, drains, explanations, estimates; and that it is repeated as it was."""
import json
import os
import signal
import subprocess
import threading
import time

import weirlib
from api import ask
from weirlib import freeze, stat_of, wait_for


def test_preemption_with_a_checkpoint(t):
    """A higher priority takes the room: the victim gets its checkpoint signal and its grace, and runs again later."""
    server = t.serve('--simulate', '2xH100')
    log = os.path.join(t.dir, 'log')
    victim = server.submit('--gpus', '2', '--checkpoint-signal', 'USR1', '--grace', '20s', '--', 'sh', '-c',
                           f'trap "echo saved >> {log}; exit 0" USR1; echo start >> {log}; '
                           f'if [ $(grep -c start {log}) = 2 ]; then exit 0; fi; while :; do sleep 0.05; done')
    wait_for('the victim to run', lambda: os.path.exists(log))
    urgent = server.submit('--gpus', '1', '--priority', '100', '--', 'sh', '-c', f'echo urgent >> {log}')
    assert server.wait_ended(urgent)['state'] == 'succeeded'
    job = server.wait_ended(victim)
    assert job['state'] == 'succeeded' and job['attempt'] == 2, job
    with open(log, encoding='utf-8') as file:
        assert file.read().split() == ['start', 'saved', 'urgent', 'start']


def test_a_cancel_does_not_wait_for_the_checkpoint(t):
    """A job that has 60 s to write its checkpoint is cancelled: it is stopped at once, and does not run again."""
    server = t.serve('--simulate', '1xH100')
    ready = os.path.join(t.dir, 'ready')
    victim = server.submit('--checkpoint-signal', 'USR1', '--grace', '60s', '--', 'sh', '-c',
                           f'trap : USR1; touch {ready}; while :; do sleep 0.05; done')
    wait_for('the victim to run', lambda: os.path.exists(ready))
    urgent = server.submit('--priority', '100', '--', 'true')
    server.wait_state(victim, 'stopping')
    server.cli('cancel', victim)
    assert server.wait_ended(victim, seconds=20)['state'] == 'cancelled'
    assert server.wait_ended(urgent)['state'] == 'succeeded'


def test_what_had_ended_is_not_preempted(t):
    """A job succeeds in the moment in which it is to make room: it has ended, and does not run again."""
    server = t.serve('--simulate', '2xH100')
    log, go = os.path.join(t.dir, 'log'), os.path.join(t.dir, 'go')
    victim = server.submit('--gpus', '2', '--', 'sh', '-c', f'echo $$ >> {log}; while [ ! -e {go} ]; do sleep 0.02; done')
    main = int(wait_for('the victim to run', lambda: os.path.exists(log) and open(log, encoding='utf-8').read()))
    shim = stat_of(main)[1]
    freeze(shim)
    t.cleanups.append(lambda: stat_of(shim) and os.kill(shim, signal.SIGCONT))
    open(go, 'w', encoding='utf-8').close()
    wait_for('the victim to end', lambda: stat_of(main)[0] == 'Z')
    urgent = server.submit('--gpus', '1', '--priority', '100', '--', 'true')
    server.wait_state(victim, 'stopping')
    os.kill(shim, signal.SIGCONT)
    assert server.wait_ended(urgent)['state'] == 'succeeded'
    job = server.wait_ended(victim)
    assert job['state'] == 'succeeded' and job['attempt'] == 1, job
    with open(log, encoding='utf-8') as file:
        assert file.read() == f'{main}\n'


def test_what_waits_again_holds_nothing(t):
    """Preempted, drained, or backing off: no GPU, node or start is shown until it starts again."""
    server = t.serve('--simulate', '1xH100')

    def holders():
        """The one job each GPU is shown with; those that wait are shown with none, in lists and by task."""
        shown = {}
        for job in server.jobs().values():
            tasks = ask(server, 'GET', f'/v1/workloads/{job["id"]}')[2]['tasks']
            if job['state'] == 'queued':
                for each in (job, *tasks):
                    assert (each['gpus'], each['node'], each['started_ms']) == ([], None, None), (job, tasks)
            elif job['state'] not in weirlib.ENDED:
                for gpu in job['gpus']:
                    assert shown.setdefault(gpu, job['id']) == job['id'], (shown, job)
        return shown

    low = server.submit('--', 'sleep', '1000')
    server.wait_state(low, 'running')
    high = server.submit('--priority', '9', '--', 'sleep', '1000')
    server.wait_state(high, 'running')
    assert server.job(low)['state'] == 'queued' and list(holders().values()) == [high]
    server.kill()
    server.start()
    assert server.job(low)['state'] == 'queued' and list(holders().values()) == [high]
    server.cli('drain', 'sim-1')
    server.wait_state(high, 'queued')
    assert not holders()
    server.cli('cancel', high)
    server.wait_ended(high)
    server.cli('uncordon', 'sim-1')
    job = server.wait_state(low, 'running')
    assert len(job['gpus']) == 1 and job['started_ms'] and list(holders().values()) == [low], job
    server.cli('cancel', low)
    assert len(server.wait_ended(low)['gpus']) == 1
    fails = server.submit('--retries', '1', '--backoff', '100s', '--', 'false')
    wait_for('the back-off', lambda: server.job(fails)['attempt'] == 1 and server.job(fails)['state'] == 'queued')
    assert not holders()


def test_a_guarantee_is_given_back(t):
    server = t.serve('--simulate', '4xH100')
    queues = ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: a}\nspec: {guaranteed: {gpu: 2}}\n---\n'
              'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {guaranteed: {gpu: 2}}\n')
    server.cli('apply', '-f', '-', input=queues.encode(), stdin=None)
    greedy = [server.submit('--queue', 'a', '--', 'sleep', '1000') for _ in range(4)]
    for number in greedy:
        server.wait_state(number, 'running')
    mine = [server.submit('--queue', 'b', '--', 'sleep', '1000') for _ in range(3)]
    wait_for('b to have its two', lambda: sum(server.job(n)['state'] == 'running' for n in mine) == 2)
    states = sorted(server.job(n)['state'] for n in greedy)
    assert states == ['queued', 'queued', 'running', 'running'], states
    text = server.cli('queue').stdout.decode()
    assert 'a' in text and 'b' in text, text


def test_a_guarantee_that_cannot_be_met_is_told(t):
    server = t.serve()
    of = 'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: %s}\nspec: {guaranteed: {gpu: %d}}\n'
    said = 'its guarantee of 20 GPUs cannot be met: there is a total of 8 GPUs, and others are guaranteed 4 GPUs'
    done = server.cli('apply', '-f', '-', stdin=None, input=(of % ('vision', 4)).encode())
    assert done.stdout == b'queue/vision created\n', done
    done = server.cli('apply', '-f', '-', '--dry-run', stdin=None, input=(of % ('x', 20)).encode())
    assert done.stdout.decode() == f'queue/x created (dry run); {said}\n', done
    done = server.cli('apply', '-f', '-', stdin=None, input=(of % ('x', 20)).encode())
    assert done.stdout.decode() == f'queue/x created; {said}\n', done
    assert f'weir: queue x: {said}\n' in server.cli('queue').stderr.decode()
    assert said in server.cli('describe', 'queue', 'x').stdout.decode()


def test_limits_cordons_and_drains(t):
    server = t.serve('--simulate', '2x2xH100')
    server.cli('apply', '-f', '-', input=b'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: small}\nspec: {limit: {gpu: 1}}\n', stdin=None)
    first = server.submit('--queue', 'small', '--', 'sleep', '1000')
    second = server.submit('--queue', 'small', '--', 'sleep', '1000')
    server.wait_state(first, 'running')
    text = server.cli('explain', second).stdout.decode()
    assert 'limit' in text.lower(), text
    server.cli('cancel', first, second)
    server.cli('cordon', 'sim-1')
    jobs = [server.submit('--', 'sleep', '1000') for _ in range(3)]
    wait_for('two to run', lambda: sum(server.job(n)['state'] == 'running' for n in jobs) == 2)
    assert {server.job(n)['node'] for n in jobs if server.job(n)['state'] == 'running'} == {'sim-2'}
    server.cli('uncordon', 'sim-1')
    wait_for('all to run', lambda: all(server.job(n)['state'] == 'running' for n in jobs))
    server.cli('drain', 'sim-2')

    def node(name):
        return json.loads(server.cli('get', 'node', name, '-o', 'json').stdout)

    wait_for('sim-2 to be empty', lambda: node('sim-2')['state'] == 'drained')
    assert all(server.job(n)['node'] != 'sim-2' or server.job(n)['state'] == 'queued' for n in jobs), jobs
    server.kill()
    server.start()
    assert (node('sim-2')['state'], node('sim-2')['phase'], node('sim-1')['state']) == ('drained', 'draining', 'ready')
    assert {gpu['state'] for gpu in server.gpus() if gpu['node'] == 'sim-2'} == {'drained'}, server.gpus()
    assert b'sim-2  drained' in server.cli('get', 'nodes').stdout


def test_explains_and_estimates(t):
    server = t.serve('--simulate', '2xH100')
    first = server.submit('--gpus', '2', '--time', '10m', '--', 'sleep', '1000')
    server.wait_state(first, 'running')
    second = server.submit('--gpus', '2', '--', 'true')
    answer = json.loads(server.cli('explain', second, '-o', 'json').stdout)
    assert answer['state'] == 'queued' and answer['blocking'], answer
    now_ms = time.time() * 1000
    p50, p90 = answer['expected_start']['p50_ms'], answer['expected_start']['p90_ms']
    assert now_ms < p50 <= p90 <= now_ms + 11 * 60 * 1000, (now_ms, answer['expected_start'])
    holders = json.dumps(answer)
    assert f'"{first}"' in holders, answer
    done = server.cli('run', '--gpus', '16', '--', 'true', check=None)
    assert done.returncode == 1 and b'at most 2 GPUs' in done.stderr and done.stderr.count(b'\n') == 1, done
    done = server.cli('run', '--gpu-model', 'B200', '--', 'true', check=None)
    assert done.returncode == 1 and b'h100-sxm' in done.stderr, done


def test_what_explain_names_is_enough(t):
    """The ends and cordons that explain names let it start, and without one of them it goes on waiting."""
    server = t.serve()
    two = server.submit('--gpus', '2', '--time', '20s', '--', 'sleep', '100')
    six = server.submit('--gpus', '6', '--time', '1h', '--', 'sleep', '100')
    for number in (two, six):
        server.wait_state(number, 'running')
    big = server.submit('--gpus', '8', '--', 'sleep', '5')
    text = server.cli('explain', big).stdout.decode()
    assert f'free with the end of workload/{six} and workload/{two}' in ' '.join(text.split()), text
    unblock = json.loads(server.cli('explain', big, '-o', 'json').stdout)['unblock']
    assert unblock['kind'] == 'wait-for' and unblock['more_ends'] == 0, unblock
    assert [end['id'] for end in unblock['ends']] == [six, two] and unblock['subject'] == f'workload/{six}', unblock
    server.cli('cancel', six)
    server.wait_ended(six)
    text = server.cli('explain', big).stdout.decode()
    assert f'free with the end of workload/{two}' in ' '.join(text.split()) and 'more' not in text, text
    free = next(gpu['key'] for gpu in server.gpus() if not gpu['holders'])
    server.cli('cordon', free)
    text = server.cli('explain', big).stdout.decode()
    assert 'needs these put back into use' in text and f'and the end of workload/{two}' in ' '.join(text.split()), text
    server.cli('cancel', two)
    server.wait_ended(two)
    text = server.cli('explain', big).stdout.decode()
    assert 'it could start if these were put back into use' in ' '.join(text.split()).lower(), text
    server.cli('uncordon', free)
    server.wait_state(big, 'running')


def test_explain_names_what_would_be_preempted_too(t):
    """Room for it is only made once the rest is there: that end alone may be left out."""
    server = t.serve('--simulate', '4xH100')
    server.cli('apply', '-f', '-', input=b'{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: other}}', stdin=None)
    equal = server.submit('--gpus', '2', '--queue', 'other', '--', 'sleep', '100')
    lower = server.submit('--gpus', '2', '--priority', '-1', '--', 'sleep', '100')
    for number in (equal, lower):
        server.wait_state(number, 'running')
    big = server.submit('--gpus', '4', '--', 'sleep', '100')
    unblock = json.loads(server.cli('explain', big, '-o', 'json').stdout)['unblock']
    assert unblock['kind'] == 'wait-for' and {end['id'] for end in unblock['ends']} == {equal, lower}, unblock
    server.cli('cancel', equal)
    server.wait_state(big, 'running')
    assert server.job(lower)['state'] == 'queued', server.job(lower)


def test_an_apply_touches_nobody_else(t):
    """A refused or dry apply leaves no trace, fails nobody's request, and says what a wet one would."""
    server = t.serve('--simulate', '2xH100')
    queue = 'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: NAME}\nspec: {limit: {gpu: 1}}\n'
    job = 'apiVersion: weir.dev/v1\nkind: Workload\nspec: {command: ["true"], queue: NAME, gpus: COUNT}\n'

    def text(name, count):
        return (queue + '---\n' + job).replace('NAME', name).replace('COUNT', str(count)).encode()

    stop = threading.Event()
    results = []

    def submit():
        while not stop.is_set():
            results.append(server.cli('run', '--detach', '--', 'true', check=None).returncode)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        for _ in range(20):
            for extra in ([], ['--dry-run']):
                assert server.cli('apply', '-f', '-', *extra, input=text('bad', 2), stdin=None, check=None).returncode == 1
            assert server.cli('apply', '-f', '-', '--dry-run', input=text('good', 1), stdin=None).returncode == 0
    finally:
        stop.set()
        thread.join()
    assert results and not any(results), results
    assert [q['name'] for q in json.loads(server.cli('get', 'queues', '-o', 'json').stdout)] == ['default']
    said = server.cli('apply', '-f', '-', input=text('good', 1), stdin=None).stdout.decode()
    assert 'true' in said, said
    server.wait_ended(max(server.jobs(), key=int))


def test_what_is_gone_comes_back_as_it_was(t):
    """A cordoned node that is not there for one start is still cordoned when it is back."""
    server = t.serve('--simulate', '2x2xH100')
    server.cli('cordon', 'sim-2')
    server.stop()
    server.args = ['--simulate', '2xH100']
    server.start()
    assert len(server.gpus()) == 2
    server.stop()
    server.args = ['--simulate', '2x2xH100']
    server.start()
    nodes = {n['name']: n['phase'] for n in json.loads(server.cli('get', 'nodes', '-o', 'json').stdout)}
    assert nodes == {'sim-1': 'ready', 'sim-2': 'cordoned'}, nodes
    running = server.submit('--gpus', '2', '--', 'sleep', '2')
    server.wait_state(running, 'running')


def test_idempotent_submission(t):
    server = t.serve()
    answers = []
    for command in ('true', 'true', 'false'):
        body = {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'spec': {'command': [command]}}
        answers.append(ask(server, 'POST', '/v1/workloads', body, {'Idempotency-Key': 'once'}))
    assert [answer[0] for answer in answers] == [201, 201, 409], answers
    assert answers[0][2]['id'] == answers[1][2]['id'], answers
    assert len(server.jobs()) == 1


def test_a_key_is_recalled_before_anything_is_judged(t):
    """The repeat is the same workload although its queue has gone; everything the request says counts as its content."""
    server = t.serve()
    server.cli('apply', '-f', '-', input=b'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: q}\nspec: {}\n', stdin=None)

    def submit(key, **metadata):
        body = {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'metadata': metadata, 'spec': {'command': ['true'], 'queue': 'q'}}
        status, _, answer = ask(server, 'POST', '/v1/workloads', body, {'Idempotency-Key': key})
        return status, answer.get('id')

    first = {}
    for name, metadata in (('plain', {}), ('label', {'labels': {'a': '1'}}), ('note', {'annotations': {'a': '1'}}), ('name', {'name': 'j'})):
        first[name] = submit(name, **metadata)
        assert first[name][0] == 201 and submit(name, **metadata) == first[name], first
    assert submit('plain', labels={'a': '1'})[0] == 409
    assert submit('label', labels={'a': '2'})[0] == 409
    assert submit('note', annotations={'a': '2'})[0] == 409
    assert submit('name', name='k')[0] == 409
    for _, number in first.values():
        server.wait_ended(number)
    server.cli('delete', 'queue', 'q')
    assert submit('plain') == first['plain']
    assert submit('other')[0] == 400


def test_replay_reproduces_every_plan(t):
    server = t.serve('--simulate', '2x2xH100')
    numbers = [server.submit('--gpus', t.random.choice(['1', '2']), '--priority', t.random.choice(['0', '5']), '--', 'sleep', t.random.choice(['0', '0.1', '0.3']))
               for _ in range(40)]
    server.kill()
    server.start()
    for number in numbers:
        server.wait_ended(number)
    server.stop()
    done = subprocess.run([weirlib.WEIR, 'replay', '--data', server.data, '-o', 'json'], capture_output=True, timeout=120)
    assert done.returncode == 0, done
    answer = json.loads(done.stdout)
    assert answer['ticks'] > 40 and answer['differ'] == 0, answer


def test_the_demo_fits_small_fleets(t):
    for spec, left_out in (('1xT4', {'train-resnet', 'big-pretrain'}), ('4xH100', {'big-pretrain'}), ('8xH100', set())):
        w = t.serve('--simulate', spec, data=f'{t.data}-{spec}', demo=True)
        wait_for('the demo', lambda: any(j['state'] == 'running' for j in w.jobs().values()))
        names = {j['name'] for j in w.jobs().values()}
        assert names == {'train-resnet', 'notebook', 'sweep', 'big-pretrain'} - left_out, (spec, names)
        w.cli('cancel', *w.jobs())
        w.stop()


if __name__ == '__main__':
    weirlib.main(globals())
