"""Bad input gets one clear line with field, line and column where there is one, and the nearest valid name; nothing is half applied."""
import json
import os

import weirlib

FLAGS = [
    # arguments, exit status, words of the one line on stderr
    (['run', '--gpuz', '1', '--', 'true'], 2, ['gpuz', '--gpus']),
    (['run', '--gpus', 'many', '--', 'true'], 2, ['many']),
    (['run', '--gpus', '-1', '--', 'true'], 2, ['-1']),
    (['run', '--gpus', '1.5', '--', 'true'], 2, ["'1.5' GPUs", 'whole']),
    (['run', '--sim-profile', 'x', '--', 'true'], 2, ['--sim-profile']),
    (['run', '--name', '42', '--', 'true'], 2, ['42', 'job-42']),
    (['run', '--gpus', '1.5', '--', 'true'], 2, ['1.5']),
    (['run', '--time', 'soon', '--', 'true'], 2, ['soon', '1h30m']),
    (['run', '--time', '1h30', '--', 'true'], 2, ["did you mean 1h30m?"]),
    (['run', '--gpus', 'two', '--', 'true'], 2, ["--gpus 'two': it must be a number, such as 2 or 0.5"]),
    (['run', '--gpu-model', 'H1000', '--', 'true'], 1, ["of the model 'H1000'"]),
    (['run', '--cwd', 'no-such-folder', '--', 'true'], 2, ['no-such-folder', 'No such file']),
    (['jobs'], 2, ['did you mean weir ps?']),
    (['status'], 2, ['did you mean weir ps?']),
    (['list'], 2, ['did you mean weir ps?']),
    (['kill', '3'], 2, ['did you mean weir cancel?']),
    (['top'], 2, ['did you mean weir get gpus?']),
    (['submit', 'x'], 2, ['did you mean weir run?']),
    (['signal', '99999'], 1, ['99999']),
    (['run', '--time', '0', '--', 'true'], 2, ['no time to run in', "'0'", 'leave it out']),
    (['run', '--gpu-memory', '20', '--', 'true'], 2, ['--gpu-memory 20', 'less than 1Mi', "'20Gi'?"]),
    (['run', '--memory', '500k', '--', 'true'], 2, ['--memory 500k', 'less than 1Mi']),
    (['run', '--retry-on', '75', '--', 'true'], 2, ['--retry-on 75', 'retries']),
    (['ps', '-Q', 'defualt'], 1, ['defualt', "did you mean 'default'?"]),
    (['run', '--output-max', '1', '--', 'true'], 2, ['4096', 'too little output']),
    (['run', '--env', 'WEIR_TOKEN=secret', '--', 'true'], 2, ['WEIR_TOKEN']),
    (['run', '--', ''], 2, ['empty']),
    (['run', '--priority', 'high', '--', 'true'], 2, ['high']),
    (['run', '--queue', 'defualt', '--', 'true'], 2, ['--queue', 'defualt', 'default']),
    (['run', '--gpus', '0', '--members', '4000', '--', 'true'], 1, ['4000 members ask for 1 CPU each, this machine has', '--members']),
    (['run', '--gpus', '0', '--memory', '4000Gi', '--', 'true'], 1, ['asks for 4000Gi of memory, ', '--memory ']),
    (['run', '--memory', '20GiB', '--', 'true'], 2, ['20GiB', '20Gi']),
    (['run', '--env', 'NOEQUALS', '--', 'true'], 2, ['NOEQUALS']),
    (['run', '--checkpoint-signal', 'USR9', '--', 'true'], 2, ['USR9']),
    (['run', '--array', '0', '--', 'true'], 2, ['array']),
    (['run', '--array', '2', '--members', '2', '--', 'true'], 2, ['array']),
    (['run', '--class', 'bach', '--', 'true'], 2, ['bach', 'batch']),
    (['run', '--name', 'Not A Name', '--', 'true'], 2, ['Not A Name']),
    (['run'], 2, ['COMMAND']),
    (['rnu', '--', 'true'], 2, ['rnu', 'run']),
    (['get', 'gpuss'], 2, ['gpuss', 'gpus']),
    (['get', 'queue', 'defalt'], 1, ['defalt', 'default']),
    (['delete', 'queue', 'default'], 1, ['default']),
    (['logs', '99999'], 1, ['99999']),
    (['cancel', '99999'], 1, ['99999']),
    (['explain', 'no-such-name'], 1, ['no-such-name']),
    (['cordon', 'sim-9'], 1, ['sim-9']),
    (['apply', '-f', '/no/such/file'], 2, ['/no/such/file']),
    (['up', '--data', 'DIR', '--simulate', '8xH1OO'], 2, ["--simulate '8xH1OO'", 'h100', 'weir up --simulate list']),
    (['up', '--data', 'DIR', '--simulate', '8xRTX4090'], 2, ['RTX4090', 'weir up --simulate list']),
    (['up', '--data', 'DIR', '--simulate', '0xH100'], 2, ["--simulate '0xH100': a count of zero"]),
    (['up', '--data', '/proc/foo'], 1, ["--data: make '/proc/foo'"]),
]

QUEUE = 'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: NAME}\nspec: {guaranteed: {gpu: 1}}\n'

DOCUMENTS = [
    # a document that follows a good queue, words of the error, line, column (0: not looked at)
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {guarantee: {gpu: 1}}\n', ['guarantee', 'guaranteed'], 9, 8),
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec:\n  guaranteed: {gpu: 1x}\n', ['1x', 'spec.guaranteed.gpu'], 10, 0),
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {guaranteed: {gpu: 4}, limit: {gpu: 2}}\n', ['guaranteed', 'limit'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {parent: nobody}\n', ["spec.parent: there is no queue 'nobody'"], 9, 16),
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {parent: default}\n', ['default', 'parent'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {parent: b}\n', ['b', 'ancestor'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Queu\nmetadata: {name: b}\nspec: {}\n', ['Queu', 'Queue'], 7, 7),
    ('apiVersion: v1\nkind: Queue\nmetadata: {name: b}\nspec: {}\n', ['weir.dev/v1'], 6, 0),
    ('kind: Queue\nkind: Queue\n', ['kind'], 7, 1),
    ('a: [1, 2\nb: 3\n', [], 0, 0),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: []}\n', ['command'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: [x], gpus: 99}\n', ['spec.gpus: asks for 99 GPUs', 'at most 8 GPUs'], 9, 28),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: [x], queue: dfault}\n', ['spec.queue', "did you mean 'default'?"], 9, 29),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: [x], queue: a, retryOn: [256]}\n', ['256'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: b}\nspec: {maxRunTime: 0s}\n', ['spec.maxRunTime', '0s'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: [x], cwd: tmp}\n', ['spec.cwd'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: [x, "a\\0b"]}\n', ['spec.command', 'NUL'], 9, 0),
    ('apiVersion: weir.dev/v1\nkind: Workload\nmetadata: {name: w}\nspec: {command: [x], timeLimit: forever}\n', ['forever'], 9, 0),
]


def one_line(done):
    text = done.stderr.decode()
    assert text.startswith('weir: ') or ':' in text, text
    assert text.count('\n') == 1 and text.endswith('\n'), text
    return text


def test_flags_and_names(t):
    server = t.serve()
    for args, status, words in FLAGS:
        args = [os.path.join(t.dir, 'other') if word == 'DIR' else word for word in args]
        done = server.cli(*args, check=None)
        assert done.returncode == status, (args, done.returncode, done.stderr)
        text = one_line(done)
        for word in words:
            assert word in text, (args, word, text)
    assert not server.jobs()


def test_nothing_is_half_applied(t):
    server = t.serve()
    for document, words, line, column in DOCUMENTS:
        text = QUEUE.replace('NAME', 'a') + '---\n' + document
        done = server.cli('apply', '-f', '-', input=text.encode(), stdin=None, check=None)
        assert done.returncode in (1, 2), (document, done)
        said = one_line(done)
        for word in words:
            assert word in said, (document, word, said)
        if line:
            assert f':{line}:' in said, (document, said)
        if column:
            assert f':{line}:{column}' in said, (document, said)
        names = [queue['name'] for queue in json.loads(server.cli('get', 'queues', '-o', 'json').stdout)]
        assert names == ['default'], (document, names)
    assert not server.jobs()


def test_what_is_shown_of_memory_can_be_had(t):
    server = t.serve()
    shown = server.cli('get', 'gpus').stdout.decode().splitlines()[1].split()
    size = float(shown[shown.index('GiB') - 1])
    server.cli('run', '--gpu-memory', f'{size}Gi', '--', 'true')
    for asked in ('90.125Gi', '97.5G', '123456Mi', '300000000001'):
        said = one_line(server.cli('run', '--gpu-memory', asked, '--', 'true', check=1))
        assert f'asks for {asked} of memory on each GPU, the largest has {size}Gi (ask for at most {size}Gi)' in said, said


def test_refusals_over_http_have_field_and_place(t):
    server = t.serve()
    document = {'apiVersion': 'weir.dev/v1', 'kind': 'Workload', 'spec': {'command': ['x'], 'gpus': 11}}
    for path in ('/v1/workloads', '/v1/apply'):
        status, answer = server.post(path, document)
        error = answer['error']
        assert (status, error['field'], error['line']) == (422, 'spec.gpus', 1) and error['column'] > 1, (status, answer)
        assert error['hint'] == 'ask for at most 8 GPUs, or for 2 members of 8 GPUs' or error['hint'] == 'ask for at most 8 GPUs', error


def test_a_queue_may_say_nothing(t):
    server = t.serve()
    for name, spec in (('a', ''), ('b', 'spec:\n'), ('c', 'spec: {}\n')):
        document = f'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {{name: {name}}}\n{spec}'
        assert server.cli('apply', '-f', '-', input=document.encode(), stdin=None).stdout.decode() == f'queue/{name} created\n'
    server.kill()
    server.start()
    names = [queue['name'] for queue in json.loads(server.cli('get', 'queues', '-o', 'json').stdout)]
    assert names == ['a', 'b', 'c', 'default'], names


def test_a_queue_with_queues_below_takes_no_jobs(t):
    server = t.serve()
    for name, spec in (('org', ''), ('a', '{parent: org, limit: {cpu: 1}}'), ('b', '{parent: org}')):
        document = f'apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {{name: {name}}}\nspec: {spec}\n'
        server.cli('apply', '-f', '-', input=document.encode(), stdin=None)
    done = server.cli('run', '-d', '--queue', 'org', '--cpu', '2', '--', 'true', check=None)
    assert done.returncode == 1, done
    assert one_line(done) == "weir: --queue org: queue 'org' has queues below it: name one of those ('b' would do)\n", done
    assert not server.jobs()


def test_positions_are_of_the_right_file(t):
    server = t.serve()
    good, bad = os.path.join(t.dir, 'good.yaml'), os.path.join(t.dir, 'bad.yaml')
    with open(good, 'w', encoding='utf-8') as file:
        file.write(QUEUE.replace('NAME', 'a'))
    with open(bad, 'w', encoding='utf-8') as file:
        file.write('# a comment\n' + QUEUE.replace('NAME', 'b').replace('gpu: 1', 'gpuz: 1'))
    done = server.cli('apply', '-f', good, '-f', bad, check=None)
    said = one_line(done)
    assert 'bad.yaml:5:' in said and 'gpuz' in said, said
    assert len(json.loads(server.cli('get', 'queues', '-o', 'json').stdout)) == 1


def test_a_file_is_a_file(t):
    """A pipe that nobody writes to would be waited for without end, a device may have none."""
    import subprocess
    server = t.serve()
    pipe, inside = os.path.join(t.dir, 'pipe.yaml'), os.path.join(t.dir, 'folder')
    os.mkfifo(pipe)
    os.mkdir(inside)
    os.mkfifo(os.path.join(inside, 'a.yaml'))
    for path, what in ((pipe, 'a pipe'), (inside, 'a pipe'), ('/dev/zero', 'a device')):
        done = server.cli('apply', '-f', path, check=2)
        assert f': it is no file but {what}' in one_line(done), done
    for args in (('--simulate', pipe), ('--simulate', '1xH100', '--simulate-faults', pipe), ('--simulate', '1xH100', '--simulate-faults', '/dev/zero')):
        done = subprocess.run([weirlib.WEIR, 'up', '--data', os.path.join(t.dir, 'other'), *args], capture_output=True, timeout=10)
        assert done.returncode == 2 and b'it is no file but a ' in done.stderr.splitlines()[-1], done


def test_without_a_server(t):
    env = dict(os.environ, WEIR_DATA=os.path.join(t.dir, 'nobody'))
    import subprocess
    done = subprocess.run([weirlib.WEIR, 'ps'], capture_output=True, env=env, timeout=20)
    assert done.returncode == 3 and b'weir up' in one_line(done).encode(), done


def test_models_are_listed(t):
    del t
    import subprocess
    listed = subprocess.run([weirlib.WEIR, 'up', '--simulate', 'list'], capture_output=True, check=True, timeout=20).stdout.decode()
    assert 'h100-sxm ' in listed and 'l40s ' in listed and 'mi300x' not in listed, listed


def test_a_tcp_address_where_nobody_listens(t):
    import socket
    import subprocess
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    env = dict(os.environ, WEIR_SERVER=f'http://127.0.0.1:{port}')
    done = subprocess.run([weirlib.WEIR, 'ps'], capture_output=True, env=env, timeout=20)
    assert done.returncode == 3, done
    assert one_line(done) == f"weir: cannot reach weir at '127.0.0.1:{port}': Connection refused (start it with `weir up`)\n", done
    done = subprocess.run([weirlib.WEIR, 'ps', '--server', f'http://[::1]:{port}'], capture_output=True, check=False)
    assert f"cannot reach weir at '[::1]:{port}'" in one_line(done), done


def test_addresses_to_listen_on(t):
    import subprocess
    local = t.serve('--simulate', '1xH100', '--listen', 'localhost:0')
    assert 'http://localhost:' in local.ready_line, local.ready_line
    taken = local.ready_line.split('http://')[1].split()[0].rstrip(',').split(':')[1]
    done = subprocess.run([weirlib.WEIR, 'up', '--data', os.path.join(t.dir, 'second'), '--simulate', '1xH100', '--listen', f'127.0.0.1:{taken}'],
                          capture_output=True, timeout=20)
    said = done.stderr.decode().splitlines()[-1]
    assert done.returncode == 3 and 'Address already in use' in said and 'port 0' in said, done
    assert 'in clear' not in local.tail(), local.tail()


def test_an_open_address_is_warned_of(t):
    server = t.serve('--simulate', '1xH100', '--listen', '0.0.0.0:0')
    assert server.tail().count('cross the network in clear') == 1, server.tail()


def test_a_broken_token_file_is_logged_once(t):
    import urllib.error
    server = t.serve()
    path = os.path.join(server.data, 'tokens')
    with open(path, encoding='utf-8') as file:
        good = file.read()
    token = server.token()

    def ask():
        import urllib.request
        request = urllib.request.Request(server.url() + '/v1/queues', headers={'Authorization': 'Bearer ' + token})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    assert ask() == 200
    with open(path, 'w', encoding='utf-8') as file:
        file.write(good + 'short admin me\n')
    assert [ask(), ask()] == [503, 503]
    assert server.tail().count('in the token file: not a token, line 2, column 1') == 1, server.tail()
    with open(path, 'w', encoding='utf-8') as file:
        file.write(good)
    assert ask() == 200
    with open(path, 'w', encoding='utf-8') as file:
        file.write(good + 'short admin me\n')
    assert ask() == 503
    assert server.tail().count('in the token file') == 2, server.tail()


def test_another_fleet_on_the_same_data_is_said_once(t):
    server = t.serve()
    server.cli('run', '-d', '--gpus', '8', '--', 'sleep', '1000')
    weirlib.wait_for('it to run', lambda: [job for job in server.jobs().values() if job['state'] == 'running'])
    server.kill()
    server.args = ['--simulate', '2xL40S']
    server.start()
    assert server.tail().count('gpu.occupy') == 1, server.tail()


def test_answers_name_what_was_meant(t):
    server = t.serve()
    key = json.loads(server.cli('get', 'gpus', '-o', 'json').stdout)[0]['key']
    assert server.cli('cordon', key[:12]).stdout.decode() == f'gpu/{key} cordoned\n'
    number = server.cli('run', '-d', '-n', 'long', '--gpus', '0', '--', 'sh', '-c', 'trap "exit 9" USR1; while :; do sleep 0.05; done').stdout.decode().strip()
    weirlib.wait_for('it to run', lambda: [job for job in server.jobs().values() if job['state'] == 'running'])
    assert server.cli('signal', 'long', 'USR1').stdout.decode() == f'workload/{number} signalled (USR1)\n'
    assert server.cli('cancel', 'long').stdout.decode().startswith(f'workload/{number} ')
    for _ in range(2):
        server.cli('run', '-d', '-n', 'same', '--gpus', '0', '--', 'sleep', '1000')
    said = one_line(server.cli('cancel', 'same', check=1))
    assert f"several workloads are called 'same': {int(number) + 1}, {int(number) + 2} (name one by its number; the newest is {int(number) + 2})" in said, said


def test_a_folder_is_no_program(t):
    server = t.serve()
    done = server.cli('run', '--gpus', '0', '--', '/tmp', check=126)
    assert b"cannot run '/tmp': Is a directory" in done.stderr, done
    assert server.cli('run', '--gpus', '0', '--cwd', '..', '--', 'pwd', cwd=t.dir).stdout.decode().strip() == os.path.dirname(os.path.realpath(t.dir))


def test_every_help_has_an_example(t):
    del t
    import subprocess
    listed = subprocess.run([weirlib.WEIR, 'help'], capture_output=True, check=True, timeout=20).stdout.decode()
    for name in ('up', 'run', 'ps', 'logs', 'cancel', 'explain', 'get', 'apply', 'delete', 'describe', 'queue', 'cordon', 'uncordon', 'drain', 'snapshot', 'replay', 'sim'):
        assert name in listed, name
        text = subprocess.run([weirlib.WEIR, name, '--help'], capture_output=True, check=True, timeout=20).stdout.decode()
        assert f'weir {name}' in text, text


if __name__ == '__main__':
    weirlib.main(globals())
