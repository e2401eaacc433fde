"""Jobs on one machine, as a user sees them: status, streams, signals, environment, arrays, gangs, retries, limits."""
import json
import os
import pwd
import signal
import subprocess
import time

import weirlib
from api import ask
from weirlib import Skip, children_of, freeze, processes_of, stat_of, wait_for


def workload(**spec):
    return {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'spec': spec}


def test_exit_status_is_the_commands(t):
    server = t.serve()
    for status in (0, 1, 7, 255):
        server.cli('run', '--', 'sh', '-c', f'exit {status}', check=status)
    server.cli('run', '--', 'sh', '-c', 'kill -TERM $$', check=128 + 15)
    server.cli('run', '--', '/no/such/command', check=127)
    plain = os.path.join(t.dir, 'plain')
    with open(plain, 'w', encoding='utf-8') as file:
        file.write('not executable')
    server.cli('run', '--', plain, check=126)


def test_streams_are_kept_apart_and_whole(t):
    server = t.serve()
    done = server.cli('run', '--', 'sh', '-c', 'printf "out\\0\\377"; printf err >&2')
    assert done.stdout == b'out\0\xff' and done.stderr == b'err', done
    size = 5_000_000
    done = server.cli('run', '--', 'sh', '-c', f'head -c {size} /dev/zero | tr "\\0" x')
    assert len(done.stdout) == size and set(done.stdout) == {ord('x')}
    number = server.submit('--', 'sh', '-c', 'echo one; echo two >&2; exit 3')
    server.wait_ended(number)
    assert server.cli('logs', number, '--stdout').stdout == b'one\n'
    assert server.cli('logs', number, '--stderr').stderr == b'two\n'
    assert server.job(number)['exit_status'] == 3


def test_where_and_how_it_runs(t):
    """Working folder, umask and environment are the submitting shell's; nothing secret of weir gets in."""
    server = t.serve(env={'WEIR_TOKEN': 'do-not-leak', 'SERVER_ONLY': 'no'})
    os.chmod(t.dir, 0o755)
    env = {'MINE': 'a b=c\n"quoted"', 'WEIR_TOKEN': 'mine-is-secret', 'SERVER_ONLY': ''}
    done = server.cli('run', '--env', 'ALSO=this', '--', 'sh', '-c', 'pwd; umask; printf "%s|%s|%s" "$MINE" "$ALSO" "$SERVER_ONLY"; env',
                      cwd=t.dir, env=env, preexec_fn=lambda: os.umask(0o027))
    text = done.stdout.decode()
    assert text.startswith(f'{t.dir}\n0027\na b=c\n"quoted"|this|'), text[:300]
    assert 'secret' not in text and 'do-not-leak' not in text and server.token() not in text, text
    for name in ('WEIR_JOB_ID=', 'WEIR_QUEUE=default', 'CUDA_VISIBLE_DEVICES=GPU-', 'NVIDIA_VISIBLE_DEVICES=GPU-', 'CUDA_DEVICE_ORDER=PCI_BUS_ID'):
        assert name in text, (name, text)
    done = server.cli('run', '--gpus', '0', '--', 'sh', '-c', 'echo "[$CUDA_VISIBLE_DEVICES][$NVIDIA_VISIBLE_DEVICES]"')
    assert done.stdout == b'[][void]\n', done.stdout


def test_who_is_preempted_is_told(t):
    """Why a job starts over stands wherever it is looked at, and on the stderr of who runs it."""
    server = t.serve('--simulate', '1xH100')
    with subprocess.Popen([weirlib.WEIR, 'run', '--', 'sleep', '60'], env=dict(server.env, WEIR_DATA=server.data),
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as low:
        wait_for('the low one to run', lambda: any(job['state'] == 'running' for job in server.jobs().values()))
        number = next(iter(server.jobs()))
        high = server.submit('--priority', '5', '--', 'sleep', '60')
        server.wait_state(high, 'running')
        job = server.job(number)
        assert job['stopped'] == f'preempted for job {high}', job
        assert job['reason'].endswith(f' (preempted for job {high})'), job
        assert f'(preempted for job {high})' in server.cli('ps').stdout.decode()
        for command in (('explain', number), ('describe', 'workload', number)):
            text = server.cli(*command).stdout.decode()
            assert 'its attempt 1 was stopped at ' in text and f': preempted for job {high}' in text, text
        server.kill()  # it is still known by the next one
        server.start()
        assert server.job(number)['stopped'] == f'preempted for job {high}', server.job(number)
        events = json.loads(server.cli('get', 'events', number, '-o', 'json').stdout)
        assert {event['subject'] for event in events} == {f'workload/{number}'}, events
        assert f'stopping for job {high}' in [event['after'] for event in events], events
        server.cli('cancel', high)
        server.wait_state(number, 'running')
        assert server.job(number)['stopped'] is None
        server.cli('cancel', number)
        said = low.stderr.read().decode()
    assert said.count(f'weir: job {number} was preempted for job {high} and starts over\n') == 1, said


def test_who_is_preempted_is_known_after_a_kill_while_it_stops(t):
    """For whom room is being made is in the store: the next server says so, and asks nobody else to leave."""
    server = t.serve('--simulate', '2xH100')
    # Whoever is asked a second time, by a sweep for stragglers or by the next server, takes no notice.
    stubborn = 'trap "trap \\"\\" TERM; sleep 2; exit" TERM; echo ready; while :; do sleep 0.1; done'
    lows = [server.submit('--', 'sh', '-c', stubborn) for _ in range(2)]
    for low in lows:
        wait_for('it to be ready', lambda low=low: server.cli('logs', low).stdout == b'ready\n')
    high = server.submit('--priority', '5', '--', 'sleep', '60')
    wait_for('one of the low ones to stop', lambda: any(server.job(low)['state'] == 'stopping' for low in lows))
    server.kill()
    server.start()
    server.wait_state(high, 'running', seconds=30)
    states = {low: server.job(low) for low in lows}
    assert sorted(job['state'] for job in states.values()) == ['queued', 'running'], states
    assert [job['stopped'] for job in states.values() if job['state'] == 'queued'] == [f'preempted for job {high}'], states


def test_a_job_within_a_job_is_its_own(t):
    """What the outer job was told of itself is not said to the one it submits."""
    server = t.serve()
    inner = f'{weirlib.WEIR} run -q --gpus 0 -- sh -c "echo inner=[\\$WEIR_ARRAY_INDEX][\\$WEIR_ARRAY_SIZE][\\$CUDA_VISIBLE_DEVICES]"'
    done = server.cli('run', '--array', '2', '--', 'sh', '-c', inner)
    assert done.stdout.count(b'inner=[][][]') == 2, done.stdout


def test_a_large_environment_holds_nobody_up(t):
    """As many variables as an exec takes. It is linear: once it was not, and the server stood still for minutes."""
    server = t.serve()
    env = {f'A{i}': '' for i in range(100_000)}
    status, _, job = ask(server, 'POST', '/v1/workloads', workload(command=['sh', '-c', 'env | grep -c ^A'], env=env))
    assert status == 201, job
    server.cli('ps', timeout=15)
    assert server.wait_ended(job['id'])['state'] == 'succeeded'
    assert server.cli('logs', job['id']).stdout == b'100000\n'


def test_containers_get_the_same_devices(t):
    """What docs/jobs.md says of docker and podman follows from the variables a job gets."""
    server = t.serve()
    script = ('echo docker run --rm --runtime=nvidia -e "NVIDIA_VISIBLE_DEVICES=$NVIDIA_VISIBLE_DEVICES" IMAGE; '
              'echo docker run --rm --gpus "\\"device=$NVIDIA_VISIBLE_DEVICES\\"" IMAGE; '
              'echo podman run --rm $(printf %s "$NVIDIA_VISIBLE_DEVICES" | sed "s/[^,]*/--device nvidia.com\\/gpu=&/g; s/,/ /g") IMAGE')
    done = server.cli('run', '--gpus', '2', '--', 'sh', '-c', script)
    job = list(server.jobs().values())[0]
    a, b = job['gpus']
    lines = done.stdout.decode().splitlines()
    assert lines[0] == f'docker run --rm --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES={a},{b} IMAGE', lines
    assert lines[1] == f'docker run --rm --gpus "device={a},{b}" IMAGE', lines
    assert lines[2] == f'podman run --rm --device nvidia.com/gpu={a} --device nvidia.com/gpu={b} IMAGE', lines


def test_an_array_is_one_submission(t):
    server = t.serve()
    number = server.submit('--array', '5', '--', 'sh', '-c', 'echo index $WEIR_ARRAY_INDEX of $WEIR_ARRAY_SIZE; exit $((WEIR_ARRAY_INDEX == 3))')
    job = server.wait_ended(number)
    assert len(server.jobs()) == 1 and job['state'] == 'failed' and job['exit_status'] == 1, job
    for i in range(5):
        assert server.cli('logs', number, '--member', i).stdout == f'index {i} of 5\n'.encode()
    number = server.submit('--array', '100', '--', 'sleep', '1000')
    server.wait_state(number, 'running')
    server.cli('cancel', number)
    assert server.wait_ended(number)['state'] == 'cancelled'
    wait_for('no process to be left', lambda: not processes_of(server.data))


def test_a_gang_starts_whole_or_not_at_all(t):
    server = t.serve('--simulate', '2x4xH100')
    holder = server.submit('--gpus', '3', '--', 'sleep', '1000')
    server.wait_state(holder, 'running')
    gang = server.submit('--members', '3', '--gpus', '2', '--', 'sh', '-c', 'echo $WEIR_MEMBER_INDEX of $WEIR_MEMBERS on $WEIR_NODE')
    time.sleep(0.3)  # nothing may happen in it
    job = server.job(gang)
    assert job['state'] == 'queued' and not job['gpus'], job
    server.cli('cancel', holder)
    assert server.wait_ended(gang)['state'] == 'succeeded'
    nodes = [server.cli('logs', gang, '--member', i).stdout.decode().split()[-1] for i in range(3)]
    assert sorted(set(nodes)) == ['sim-1', 'sim-2'], nodes
    failing = server.submit('--members', '2', '--', 'sh', '-c', 'if [ $WEIR_MEMBER_INDEX = 1 ]; then exit 9; fi; sleep 1000')
    job = server.wait_ended(failing)
    assert job['state'] == 'failed' and job['exit_status'] == 9, job


def test_retries_by_status_with_back_off(t):
    server = t.serve()
    counter = os.path.join(t.dir, 'count')
    number = server.submit('--retries', '3', '--backoff', '100ms', '--', 'sh', '-c', f'echo x >> {counter}; [ $(wc -l < {counter}) -ge 3 ] || exit 5')
    job = server.wait_ended(number)
    assert job['state'] == 'succeeded' and job['attempt'] == 3, job
    number = server.submit('--retries', '3', '--retry-on', '75', '--backoff', '100ms', '--', 'sh', '-c', 'exit 5')
    job = server.wait_ended(number)
    assert job['state'] == 'failed' and job['attempt'] == 1, job
    number = server.submit('--retries', '2', '--backoff', '50ms', '--', 'false')
    job = server.wait_ended(number)
    assert job['state'] == 'failed' and job['attempt'] == 3, job


def test_a_time_limit_ends_it(t):
    server = t.serve()
    number = server.submit('--time', '1', '--grace', '1', '--', 'sh', '-c', 'trap "echo asked; exit 0" TERM; while :; do sleep 0.05; done')
    job = server.wait_ended(number)
    assert job['state'] == 'failed' and 'time limit' in job['reason'], job
    assert server.cli('logs', number).stdout == b'asked\n'
    number = server.submit('--time', '1', '--grace', '1', '--', 'sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done')
    job = server.wait_ended(number)
    assert job['state'] == 'failed' and job['exit_status'] == 137, job


def test_signals_are_forwarded(t):
    server = t.serve()
    for number, status in ((signal.SIGTERM, 3), (signal.SIGINT, 4), (signal.SIGUSR1, 5)):
        name = signal.Signals(number).name[3:]
        client = subprocess.Popen([weirlib.WEIR, 'run', '--', 'sh', '-c', f'trap "exit {status}" {name}; echo up; while :; do sleep 0.05; done'],
                                  stdout=subprocess.PIPE, env=dict(server.env, WEIR_DATA=server.data), stdin=subprocess.DEVNULL)
        assert client.stdout.readline() == b'up\n'
        client.send_signal(number)
        assert client.wait(20) == status, (name, client.returncode)
    holder = server.submit('--gpus', '8', '--', 'sleep', '1000')
    server.wait_state(holder, 'running')
    client = subprocess.Popen([weirlib.WEIR, 'run', '--name', 'waits', '--', 'true'], env=dict(server.env, WEIR_DATA=server.data), stdin=subprocess.DEVNULL)
    waiting = wait_for('it to wait', lambda: [j for j in server.jobs().values() if j['name'] == 'waits'])[0]
    client.send_signal(signal.SIGINT)
    assert client.wait(20) == 130, client.returncode
    assert server.wait_ended(waiting['id'])['state'] == 'cancelled'


def test_explain_of_what_runs_and_of_what_could_not_start(t):
    server = t.serve()
    missing = server.submit('--gpus', '0', '--', '/no/such/program')
    server.wait_ended(missing)
    said = server.cli('explain', missing).stdout.decode()
    assert "failed: exit 127: cannot run '/no/such/program': No such file" in said, said
    numbers = [server.submit('--gpus', '4', '--time', '1h', '--', 'sleep', '1000') for _ in range(2)]
    for number in numbers:
        server.wait_state(number, 'running')
    said = server.cli('explain', numbers[0]).stdout.decode()
    assert ' with 4 GPUs, for ' in said and ', time limit 1h00m, until ' in said, said
    waiting = server.submit('--gpus', '8', '--', 'true')
    wait_for('it to be looked at', lambda: server.job(waiting)['reason'])
    said = server.cli('explain', waiting).stdout.decode()
    assert 'with the end of ' + ' and '.join(f'workload/{n}' for n in numbers) in said, said
    assert 'are held by other workloads' not in said, said


def test_why_it_could_not_start_is_everywhere(t):
    """In the lists, for programs, in the events and attached; also where the server was killed before it saw the end."""
    server = t.serve()
    gone = os.path.join(t.dir, 'gone')
    os.mkdir(gone)
    holder = server.submit('--gpus', '8', '--', 'sleep', '1000')
    server.wait_state(holder, 'running')
    number = server.submit('--cwd', gone, '--', 'true')
    client = subprocess.Popen([weirlib.WEIR, 'run', '--data', server.data, '--cwd', gone, '--', 'true'],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=server.env)
    t.cleanups.append(lambda: (client.kill(), client.wait(), client.stderr.close()))
    wait_for('both to wait', lambda: len(server.jobs()) == 3)
    os.rmdir(gone)
    why = f"cannot enter '{gone}': No such file or directory"
    server.cli('cancel', holder)
    assert client.wait(30) == 126, client.returncode
    assert client.stderr.read().decode() == f'weir: {why}\n'
    array = server.submit('--array', '2', '--gpus', '0', '--', '/no/such/program')
    server.wait_ended(array)
    server.wait_ended(number)
    for _ in range(2):
        assert server.job(number)['reason'] == f'exit 126: {why}', server.job(number)
        one = json.loads(server.cli('get', 'workload', array, '-o', 'json').stdout)
        expected = "exit 127: cannot run '/no/such/program': No such file or directory"
        assert one['reason'] == '2 of 2 failed: ' + expected and {task['reason'] for task in one['tasks']} == {expected}, one
        for command in (('ps', '-a'), ('describe', 'workload', number), ('explain', number), ('get', 'events')):
            said = server.cli(*command).stdout.decode()
            assert why in said, (command, said)
        server.kill()
        server.start()


def test_why_it_could_not_start_outlives_the_server(t):
    server = t.serve()
    launcher = children_of(server.process.pid, 'weir-launcher')[0]
    freeze(launcher)
    number = server.submit('--gpus', '0', '--', '/no/such/program')
    server.wait_state(number, 'starting')
    server.kill()
    os.kill(launcher, signal.SIGCONT)
    wait_for('the launcher to have done its work', lambda: stat_of(launcher) is None)
    server.start()
    reason = server.wait_ended(number)['reason']
    assert reason == "exit 127: cannot run '/no/such/program': No such file or directory", reason


def test_jobs_of_a_queue_that_was_deleted(t):
    """What ended there is still found. A name that never was one is refused, whatever jobs are meant."""
    server = t.serve()
    server.cli('apply', '-f', '-', stdin=None, input=b'{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: gone}}')
    number = server.submit('-Q', 'gone', '--gpus', '0', '--', 'false')
    server.wait_ended(number)
    server.cli('delete', 'queue', 'gone')
    for args in (('-a',), ('--state', 'failed'), ('-a', '--state', 'failed')):
        assert server.cli('ps', '-Q', 'gone', '-o', 'name', *args).stdout.decode() == f'{number}\n', args
    for args in (('--state', 'lost'), ('-a', '--name', 'other')):
        assert server.cli('ps', '-Q', 'gone', '-o', 'name', *args).stdout == b'', args
    for args in ((), ('--state', 'queued'), ('--state', 'running')):
        said = server.cli('ps', '-Q', 'gone', *args, check=1).stderr.decode()
        assert said.startswith("weir: there is no queue 'gone' ("), said
    for name in ('gon', 'a/b', 'gone/1'):
        said = server.cli('ps', '-a', '-Q', name, check=1).stderr.decode()
        assert said.startswith(f"weir: there is no queue '{name}' ("), said


def test_the_beginning_of_several_keys(t):
    """It names no GPU, and that is said the same way by whatever takes a key."""
    server = t.serve('--simulate', '5xH100')
    keys = [gpu['key'] for gpu in server.gpus()]
    several = f"weir: several GPUs begin with 'GPU-': {', '.join(keys[:3])} and 2 more (write more of it)\n"
    none = "weir: there is no GPU 'GPU-none' ("
    for command in (('cordon',), ('uncordon',), ('get', 'gpu'), ('describe', 'gpu')):
        assert server.cli(*command, 'GPU-', check=1).stderr.decode() == several, command
        assert server.cli(*command, 'GPU-none', check=1).stderr.decode().startswith(none), command
    assert not any(gpu['cordoned'] for gpu in server.gpus())


def test_events_of_one_thing(t):
    """Of a member, of a GPU by the beginning of its key, of a queue that is gone; what never was there is an error."""
    server = t.serve('--simulate', '2xH100')

    def events(of, *more):
        return [(event['kind'], event['subject']) for event in json.loads(server.cli('get', 'events', of, '-o', 'json', *more).stdout)]

    number = server.submit('--array', '3', '--gpus', '0', '--name', 'three', '--', 'true')
    server.wait_ended(number)
    expected = [('workload.started', f'workload/{number}/2'), ('workload.ended', f'workload/{number}/2')]
    for of in (f'{number}/2', f'workload/{number}/2', 'three/2'):
        assert events(of) == expected, of
    assert events('three/2', '--tail', '1') == expected[1:]
    keys = [gpu['key'] for gpu in server.gpus()]
    server.cli('cordon', keys[1])
    unique = next(keys[1][:n] for n in range(5, len(keys[1]) + 1) if not keys[0].startswith(keys[1][:n]))
    for of in (unique, f'gpu/{unique}', f'gpu/{keys[1]}'):
        assert events(of) == [('gpu.phase', f'gpu/{keys[1]}')], of
    assert events(keys[0]) == []
    server.cli('apply', '-f', '-', stdin=None, input=b'{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: gone}}')
    server.cli('delete', 'queue', 'gone')
    assert [kind for kind, _ in events('queue/gone')] == ['queue.created', 'queue.deleted']
    for of, said in ((99, "there is no workload '99' ("), ('99/2', "there is no workload '99' ("), (f'{number}/3', f'workload {number} has no member 3 ('),
                     ('GPU-', "several GPUs begin with 'GPU-': "), ('gpu/GPU-none', "there is no GPU 'GPU-none' ("), ('queue/never', "there is no queue 'never' ("),
                     ('node/none', "there is no node 'none' ("), ('', "there is no workload '' (")):
        for more in ((), ('--tail', '3'), ('-w',)):
            assert server.cli('get', 'events', of, *more, check=1).stderr.decode().startswith('weir: ' + said), of


def test_it_is_said_that_memory_is_not_enforced(t):
    server = t.serve('--simulate', '1xH100', '--cgroup', 'off')
    assert 'memory limits are not enforced' in server.tail(), server.tail()


def test_jobs_run_where_the_cgroup_takes_no_memory_limit(t):
    """As in a login session: the folder is weir's, the memory controller is not. The folder of the first attempt is faked."""
    group = os.path.join(t.dir, 'group')
    os.makedirs(os.path.join(group, 'job-1'))
    for name, text in (('cgroup.procs', ''), ('cgroup.subtree_control', 'cpu pids\n'), ('job-1/cgroup.procs', ''),
                       ('job-1/cgroup.events', 'populated 0\n')):
        with open(os.path.join(group, name), 'w') as file:
            file.write(text)
    server = t.serve('--simulate', '1xH100', '--cgroup', group)
    assert 'memory limits are not enforced' in server.tail(), server.tail()
    job = server.wait_ended(server.submit('--memory', '64Mi', '--', 'true'))
    assert job['state'] == 'succeeded', job
    with open(os.path.join(group, 'job-1', 'cgroup.procs')) as file:
        assert file.read() == '0'


def test_cancel_says_what_became_of_it(t):
    server = t.serve()
    done = server.submit('--', 'true')
    server.wait_ended(done)
    assert server.cli('cancel', done).stdout.decode() == f'workload/{done} had already ended (succeeded)\n'
    status, error = server.post(f'/v1/workloads/{done}/signal', {'signal': 'INT'})
    assert status == 409 and error['error']['code'] == 'exists' and 'has ended (succeeded)' in error['error']['message'], (status, error)
    holder = server.submit('--gpus', '8', '--', 'sleep', '1000')
    server.wait_state(holder, 'running')
    waiting = server.submit('--', 'true')
    status, error = server.post(f'/v1/workloads/{waiting}/signal', {'signal': 'INT'})
    assert status == 503 and 'has not begun' in error['error']['message'], (status, error)
    assert server.cli('delete', 'workload', waiting).stdout.decode() == f'workload/{waiting} cancelled\n'
    assert server.cli('cancel', holder).stdout.decode() == f'workload/{holder} is asked to stop\n'


def test_a_cancel_while_it_waits_again_is_its_end(t):
    """Not the end of the attempt before."""
    server = t.serve('--simulate', '1xH100')
    number = server.submit('--retries', '1', '--backoff', '10m', '--', 'false')
    wait_for('the attempt to fail', lambda: server.job(number)['attempt'] == 1 and server.job(number)['state'] == 'queued')
    waits_ms = int(time.time() * 1000)
    server.cli('cancel', number)
    job = server.wait_ended(number)
    assert job['state'] == 'cancelled' and job['ended_ms'] >= waits_ms, (job, waits_ms)


def test_a_client_survives_the_servers_death(t):
    """The stream goes on where it stopped, nothing twice, nothing missing; the status is the command's."""
    server = t.serve()
    client = subprocess.Popen([weirlib.WEIR, 'run', '--', 'sh', '-c', 'for i in $(seq 200); do echo line $i; sleep 0.01; done; exit 6'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(server.env, WEIR_DATA=server.data), stdin=subprocess.DEVNULL)
    assert client.stdout.readline() == b'line 1\n'
    server.kill()
    server.start()
    rest = client.stdout.read()
    assert rest == b''.join(b'line %d\n' % i for i in range(2, 201)), rest[-200:]
    assert client.wait(20) == 6


def test_hostile_jobs(t):
    """Ignores SIGTERM, forks and detaches, closes its stdout, exits while its child lives: each ends, nothing is left."""
    server = t.serve()
    stubborn = server.submit('--grace', '1', '--', 'sh', '-c', 'trap "" TERM HUP INT; while :; do sleep 0.05; done')
    detached = server.submit('--', 'sh', '-c', '(setsid sh -c "trap \\"\\" TERM; sleep 1000" </dev/null >/dev/null 2>&1 &); (sleep 1000 &) ; exit 4')
    closes = server.submit('--', 'sh', '-c', 'exec >&- 2>&-; sleep 0.3; exit 2')
    server.wait_state(stubborn, 'running')
    server.cli('cancel', stubborn)
    assert server.wait_ended(stubborn)['state'] == 'cancelled'
    assert server.wait_ended(detached)['exit_status'] == 4
    assert server.wait_ended(closes)['exit_status'] == 2
    wait_for('no process to be left', lambda: not processes_of(server.data))


def test_a_gigabyte_of_output_is_kept_to_its_cap(t):
    server = t.serve()
    number = server.submit('--output-max', '8Mi', '--', 'sh', '-c', 'head -c 1000000000 /dev/zero; echo last')
    assert server.wait_ended(number, 120)['state'] == 'succeeded'
    kept = server.cli('logs', number).stdout
    assert 1 << 20 < len(kept) <= 8 << 20 and kept.endswith(b'last\n'), len(kept)
    used = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(os.path.join(server.data, 'out')) for name in names)
    assert used <= 8 << 20, used


def test_killed_by_the_kernel_for_memory(t):
    """In a memory cgroup that is too small the kernel kills the job, not its shim; weir says so."""
    group = None
    for base in ('/sys/fs/cgroup/memory', '/sys/fs/cgroup'):
        path = os.path.join(base, f'weir-test-{os.getpid()}')
        try:
            os.mkdir(path)
            limit = 'memory.limit_in_bytes' if os.path.exists(os.path.join(path, 'memory.limit_in_bytes')) else 'memory.max'
            with open(os.path.join(path, limit), 'w', encoding='utf-8') as file:
                file.write(str(40 << 20))
            group = path
            break
        except OSError:
            if os.path.isdir(path):
                os.rmdir(path)
    if group is None:
        raise Skip('no memory cgroup that this user may make')
    t.cleanups.append(lambda: wait_for('the group to be empty', lambda: not subprocess.run(['rmdir', group], stderr=subprocess.DEVNULL, check=False).returncode))
    server = t.serve()
    number = server.submit('--', 'sh', '-c', f'echo $$ > {group}/cgroup.procs && exec tail /dev/zero')
    job = server.wait_ended(number)
    assert job['state'] == 'failed' and job['exit_status'] == 137 and 'memory' in job['reason'], job


def test_runs_as_the_submitter(t):
    """A server run as root drops to whoever the socket says; one run as a user refuses others."""
    if os.geteuid() != 0:
        raise Skip('needs root')
    nobody = pwd.getpwnam('nobody')
    os.chmod(t.dir, 0o777)

    def demote():
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)

    server = t.serve()
    done = server.cli('run', '--', 'sh', '-c', 'id -u; id -g; touch made; ls -ln made | cut -d" " -f3', cwd=t.dir, preexec_fn=demote)
    assert done.stdout.decode().split()[:2] == [str(nobody.pw_uid), str(nobody.pw_gid)], done
    assert os.stat(os.path.join(t.dir, 'made')).st_uid == nobody.pw_uid
    for name in os.listdir(server.data):
        path = os.path.join(server.data, name)
        readable = subprocess.run(['test', '-r', path], preexec_fn=demote, check=False).returncode == 0
        assert not readable or name == 'weir.sock', f'{name} can be read by others'
    mine = server.submit('--', 'sleep', '1000')
    server.cli('cancel', mine, check=1, cwd=t.dir, preexec_fn=demote)
    assert server.job(mine)['state'] in ('queued', 'starting', 'running')
    data = os.path.join(t.dir, 'theirs')
    os.mkdir(data)
    os.chown(data, nobody.pw_uid, nobody.pw_gid)
    theirs = t.serve(data=data, uid=nobody.pw_uid, env={'TEST_DATA': data, 'HOME': t.dir})
    done = theirs.cli('run', '--', 'true', check=None)
    assert done.returncode != 0 and b'runs jobs of nobody else' in done.stderr, done


def test_times_and_devices_are_recorded_as_they_were(t):
    """The end is when the job ended, also with the server down; an array's GPUs are all of them."""
    server = t.serve()
    number = server.submit('--', 'sleep', '0.5')
    server.wait_state(number, 'running')
    server.kill()
    wait_for('the job to end by itself', lambda: not processes_of(server.data))
    time.sleep(1.5)  # an outage
    server.start()
    job = server.wait_ended(number)
    assert job['ended_ms'] - job['started_ms'] < 1500, job
    number = server.submit('--array', '2', '--', 'sh', '-c', 'sleep 0.$((WEIR_ARRAY_INDEX * 4 + 1))')
    assert len(server.wait_ended(number)['gpus']) == 2


def test_an_array_says_what_failed(t):
    server = t.serve()
    done = server.cli('run', '--gpus', '0', '--cpu', '10m', '--array', '3', '--', 'sh', '-c', 'exit $WEIR_ARRAY_INDEX', check=None)
    assert done.returncode in (1, 2), done
    assert done.stderr == b'weir: job 1: 2 of 3 failed: 1 (exit 1), 2 (exit 2)\n', done
    done = server.cli('run', '--quiet', '--gpus', '0', '--cpu', '10m', '--array', '9', '--', 'sh', '-c', 'test $WEIR_ARRAY_INDEX -lt 2', check=1)
    assert done.stderr == b'', done
    done = server.cli('run', '--gpus', '0', '--cpu', '10m', '--array', '9', '--', 'sh', '-c', 'test $WEIR_ARRAY_INDEX -lt 2 || exit 4', check=4)
    assert done.stderr == (b'weir: job 3: 7 of 9 failed: 2 (exit 4), 3 (exit 4), 4 (exit 4), 5 (exit 4), '
                           b'and 3 more (weir get tasks 3 --state failed)\n'), done
    rows = [line for line in server.cli('ps', '-a').stdout.decode().splitlines() if line.split()[0] == '3']
    assert '7 of 9 failed: exit 4' in rows[0], rows
    failed = json.loads(server.cli('get', 'tasks', '3', '--state', 'failed', '-o', 'json').stdout)
    assert [task['member'] for task in failed] == list(range(2, 9)), failed
    assert server.cli('get', 'tasks', '3', '--state', 'succeeded', '-o', 'name').stdout == b'0\n1\n'
    said = server.cli('describe', 'workload', '3').stdout.decode()
    assert said.count('exit 4') < 20 and 'weir get tasks 3' in said, said
    assert server.cli('get', 'tasks', check=2).stderr.count(b'\n') == 1
    server.cli('get', 'queues', '--state', 'failed', check=2)


def test_events_and_lists_use_the_same_words(t):
    server = t.serve()
    server.cli('run', '--gpus', '0', '--', 'sh', '-c', 'kill -9 $$', check=137)
    assert 'killed by signal 9 (KILL)' in server.cli('ps', '-a').stdout.decode()
    assert 'failed killed by signal 9 (KILL)' in server.cli('get', 'events').stdout.decode()


if __name__ == '__main__':
    weirlib.main(globals())
