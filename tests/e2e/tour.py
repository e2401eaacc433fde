"""The README's tour, executed as it stands."""
import json
import os
import re
import shutil
import subprocess
import time

import weirlib


def blocks(kind):
    with open(os.path.join(weirlib.ROOT, 'README.md'), encoding='utf-8') as file:
        return re.findall(rf'^```sh {kind}\n(.*?)^```', file.read(), re.M | re.S)


def test_the_tour(t):
    (server_text,) = blocks('tour-server')
    (text,) = blocks('tour')
    folder = '/tmp/weir-tour'
    assert folder in server_text and folder in text
    # The page's own folder, but one nobody else uses, and the binary that is being tested.
    data = os.path.join(t.dir, 'tour')
    build = os.path.relpath(weirlib.BUILD, weirlib.ROOT)
    change = lambda s: s.replace(folder, data).replace('build/weir', f'{build}/weir').replace('$PWD/build', f'$PWD/{build}')
    log = open(os.path.join(t.dir, 'server.log'), 'wb')
    server = subprocess.Popen(['bash', '-c', 'exec ' + change(server_text)], cwd=weirlib.ROOT, stdout=subprocess.PIPE, stderr=log)
    try:
        assert server.stdout.readline().startswith(b'ready')
        began = time.monotonic()
        done = subprocess.run(['bash', '-euo', 'pipefail', '-c', change(text)], cwd=weirlib.ROOT, capture_output=True, timeout=110)
        out = done.stdout.decode()
        assert done.returncode == 0, (done.returncode, out, done.stderr.decode())
        assert time.monotonic() - began < 110
        assert 'hello from GPU GPU-' in out and 'hello from instance MIG-' in out, out
        assert 'all eight' in out and 'refused, exit status 1' in out, out
        for i in range(3):
            assert f'trial {i}' in out, out
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(data, ignore_errors=True)


def is_built(build):
    """Whether the binary is that of the sources as they are. The revision is always looked up, and compiled in only if it is another."""
    def ninja(*args):
        return subprocess.run(['ninja', '-C', build, *args], capture_output=True, text=True, check=True).stdout

    revision = os.path.join(build, 'src/cmd/revision.h')
    before = os.stat(revision).st_mtime_ns
    ninja('src/cmd/revision.h')
    to_do = re.findall(r'Compiling|Regenerating|Generating|Re-running', ninja('-n', 'src/weir-link.stamp'))
    return os.stat(revision).st_mtime_ns == before and to_do in ([], ['Generating', 'Compiling', 'Generating'])


def test_dev_run(t):
    """The first of the two commands, in a checkout that is built: to `ready`, a job, and down again; twice."""
    build = os.path.join(weirlib.ROOT, 'build')
    if os.path.realpath(weirlib.BUILD) != os.path.realpath(build):
        raise weirlib.Skip('./dev run builds in build/, and that is not what is being tested')
    if not is_built(build):
        raise weirlib.Skip('the sources have changed: building now would pull the binary from under other tests')
    # A test installs nothing.
    os.mkdir(os.path.join(t.dir, 'bin'))
    for name in ('apt-get', 'sudo'):
        with open(os.path.join(t.dir, 'bin', name), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexit 1\n')
        os.chmod(file.name, 0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith('WEIR_')}
    env.update(PATH=os.path.join(t.dir, 'bin') + ':' + env['PATH'], TEST_DATA=t.data)
    for time_of_start in range(2):
        log = open(os.path.join(t.dir, f'dev-{time_of_start}.log'), 'w+b')
        began = time.monotonic()
        dev = subprocess.Popen(['./dev', 'run', '--no-demo', '--data', t.data, '--listen', '127.0.0.1:0'], cwd=weirlib.ROOT, env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            line = dev.stdout.readline().decode()
            log.seek(0)
            assert line.startswith('ready on http://127.0.0.1:'), (line, log.read().decode())
            print(f'# ready after {time.monotonic() - began:.2f} s', flush=True)
            done = subprocess.run([os.path.join(build, 'weir'), 'run', '--data', t.data, '--gpus', '0', '--', 'echo', 'hello'], env=env,
                                  capture_output=True, timeout=60, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, b'hello\n', b''), done
        finally:
            dev.terminate()
            assert dev.wait(20) == 0
            dev.stdout.close()
            log.close()


def test_the_pages_links_lead_somewhere(t):
    del t
    for page in ('README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/jobs.md', 'docs/api.md', 'docs/operating.md', 'docs/benchmarks.md'):
        with open(os.path.join(weirlib.ROOT, page), encoding='utf-8') as file:
            for target in re.findall(r'\]\(([^)#]+)\)', file.read()):
                if not target.startswith('http'):
                    assert os.path.exists(os.path.join(weirlib.ROOT, os.path.dirname(page), target)), (page, target)


def test_the_page_of_jobs_names_everything(t):
    """docs/jobs.md: every option of weir run, every field of a Workload, and the file in it can be applied."""
    server = t.serve()
    with open(os.path.join(weirlib.ROOT, 'docs/jobs.md'), encoding='utf-8') as file:
        page = file.read()
    options = re.findall(r'(?m)^ +(?:-\w, )?(--[a-z-]+)', server.cli('run', '--help').stdout.decode())
    assert len(options) > 20 and '--cwd' in options and '--detach' in options, options
    asked, _, rest = page.partition('## Jobs as files')
    assert not [option for option in options if not re.search(rf'`{option}\b(?!-)', asked)], options
    (text,) = re.findall(r'^```yaml workload\n(.*?)^```', rest, re.M | re.S)
    with open(os.path.join(weirlib.ROOT, 'data/schema/workload.json'), encoding='utf-8') as file:
        spec = json.load(file)['properties']['spec']['properties']
    named = re.findall(r'(?m)^  (\w+):', text.partition('spec:')[2])
    # An array and a gang in one do not go together, nor do instances and a model with a budget: they stand in remarks.
    assert 'array: 100' in text and '`mig: ' in text and sorted(named + ['array', 'mig']) == sorted(spec), set(spec) ^ set(named)
    # The machine of a test is smaller than that of the page.
    small = text.replace('/data/run1', t.dir).replace('cpu: 4 ', 'cpu: 500m').replace('memory: 32Gi', 'memory: 64Mi')
    path = os.path.join(t.dir, 'job.yaml')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('apiVersion: weir.dev/v1\nkind: Queue\nmetadata: {name: vision}\n---\n' + small)
    before = len(server.jobs())
    for _ in range(2):
        server.cli('apply', '-f', path)
    assert len(server.jobs()) == before + 2


if __name__ == '__main__':
    weirlib.main(globals())
