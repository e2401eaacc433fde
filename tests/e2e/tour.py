"""The README's tour, executed as it stands."""
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
        assert 'hello from GPU GPU-' in out, out
        assert 'all eight' in out and 'refused, exit status 1' in out, out
        for i in range(3):
            assert f'trial {i}' in out, out
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(data, ignore_errors=True)


def test_the_pages_links_lead_somewhere(t):
    del t
    for page in ('README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/jobs.md', 'docs/api.md'):
        with open(os.path.join(weirlib.ROOT, page), encoding='utf-8') as file:
            for target in re.findall(r'\]\(([^)#]+)\)', file.read()):
                if not target.startswith('http'):
                    assert os.path.exists(os.path.join(weirlib.ROOT, os.path.dirname(page), target)), (page, target)


if __name__ == '__main__':
    weirlib.main(globals())
