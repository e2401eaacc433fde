"""What the end-to-end tests share: a real server, the real command line, and a TAP report.

A test file defines functions test_*(t) and ends with weirlib.main(globals()). Each gets a fresh folder t.dir; t.serve() starts a weir in it.
Nothing here sleeps to synchronise: waits are for conditions, with a deadline.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('WEIR_BUILD', os.path.join(ROOT, 'build'))
WEIR = os.path.join(BUILD, 'weir')
SEED = int(os.environ.get('WEIR_SEED', '1'))
FULL = os.environ.get('WEIR_FULL') == '1'


# Whoever started this in the background had these ignored, and so would the commands be.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    signal.signal(_number, signal.SIG_DFL)


class Skip(Exception):
    pass


def wait_for(what, condition, seconds=30.0, every=0.02):
    """The condition's first true value; AssertionError, naming what was waited for, after the time."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'waited {seconds} s in vain for {what}')
        time.sleep(every)


class Server:
    def __init__(self, data, args=('--simulate', '8xH100'), env=None, uid=None, log=None, demo=False):
        self.data = data
        self.log_path = log or data + '.log'
        self.args = list(args)
        self.env = dict(os.environ)
        for name in ('WEIR_DATA', 'WEIR_SERVER', 'WEIR_TOKEN'):
            self.env.pop(name, None)
        self.env.update(env or {})
        self.uid = uid
        self.demo = demo
        self.process = None
        self.ready_line = ''
        self.start()

    def start(self, expect_ready=True, extra=()):
        self.log = open(self.log_path, 'ab')
        demote = (lambda: (os.setgroups([]), os.setgid(self.uid), os.setuid(self.uid))) if self.uid else None
        self.process = subprocess.Popen(
            [WEIR, 'up', *([] if self.demo else ['--no-demo']), '--data', self.data, '--listen', '127.0.0.1:0', *self.args, *extra],
            stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, env=self.env, preexec_fn=demote)
        self.ready_line = ''
        while expect_ready and not self.ready_line.startswith('ready'):
            line = self.process.stdout.readline().decode()
            if not line:
                raise AssertionError(f'weir up ended with {self.process.wait()} before it was ready: {self.tail()}')
            self.ready_line = line.strip()

    def tail(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as file:
            return file.read()[-2000:]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError('weir did not stop within 20 s of SIGTERM') from None
        if self.process and not self.process.stdout.closed:
            self.process.stdout.close()

    def url(self):
        """http://… of the ready line."""
        return next(word.rstrip(',') for word in self.ready_line.split() if word.startswith('http://'))

    def token(self):
        with open(os.path.join(self.data, 'tokens'), encoding='utf-8') as file:
            return file.readline().split()[0]

    def cli(self, *args, check=0, **kwargs):
        """Runs the command line against this server. check: the expected exit status, or None."""
        env = dict(self.env, WEIR_DATA=self.data)
        env.update(kwargs.pop('env', {}))
        kwargs.setdefault('stdin', subprocess.DEVNULL)
        done = subprocess.run([WEIR, *map(str, args)], capture_output=True, env=env, timeout=kwargs.pop('timeout', 120), **kwargs)
        if check is not None and done.returncode != check:
            raise AssertionError(f'weir {" ".join(map(str, args))}: exit {done.returncode}, expected {check}\n'
                                 f'{done.stdout.decode(errors="replace")[-1500:]}{done.stderr.decode(errors="replace")[-1500:]}')
        return done

    def post(self, path, body):
        """Status and JSON of a POST over TCP."""
        request = urllib.request.Request(self.url() + path, json.dumps(body).encode(), {
            'Content-Type': 'application/json', 'Authorization': 'Bearer ' + self.token()})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def submit(self, *args, **kwargs):
        return self.cli('run', '--detach', *args, **kwargs).stdout.decode().strip()

    def jobs(self):
        return {job['id']: job for job in json.loads(self.cli('ps', '-a', '-o', 'json').stdout)}

    def job(self, number):
        return self.jobs()[number]

    def gpus(self):
        return json.loads(self.cli('get', 'gpus', '-o', 'json').stdout)

    def wait_state(self, number, *states, seconds=30.0):
        last = {}

        def reached():
            nonlocal last
            last = self.job(number)
            return last['state'] in states

        try:
            wait_for(f'job {number} to be {" or ".join(states)}', reached, seconds)
        except AssertionError as error:
            raise AssertionError(f'{error}; it is {last}') from None
        return last

    def wait_ended(self, number, seconds=60.0):
        return self.wait_state(number, 'succeeded', 'failed', 'cancelled', 'lost', seconds=seconds)


ENDED = ('succeeded', 'failed', 'cancelled', 'lost')


def processes_of(data):
    """Processes that were started by jobs of this data folder and are still there (zombies aside)."""
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            with open(f'/proc/{name}/environ', 'rb') as file:
                env = file.read()
            with open(f'/proc/{name}/stat', 'rb') as file:
                state = file.read().rsplit(b') ', 1)[1][:1]
        except OSError:
            continue
        if b'WEIR_ATTEMPT=' in env and f'TEST_DATA={data}'.encode() in env and state != b'Z':
            found.append(int(name))
    return found


def stat_of(pid):
    """State and parent of a process; None when it is gone."""
    try:
        with open(f'/proc/{pid}/stat', 'rb') as file:
            fields = file.read().rsplit(b') ', 1)[1].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1])


def children_of(pid, name=None):
    """Pids of its children, zombies too; those with this name only."""
    found = []
    for entry in os.listdir('/proc'):
        stat = stat_of(entry) if entry.isdigit() else None
        if stat is None or stat[1] != pid:
            continue
        try:
            with open(f'/proc/{entry}/comm', encoding='utf-8', errors='replace') as file:
                if name is None or file.read().strip() == name:
                    found.append(int(entry))
        except OSError:
            continue
    return found


def freeze(pid):
    """SIGSTOP, and waits until it stands still."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(f'{pid} to stand still', lambda: stat_of(pid)[0] == 'T')


def jobs_below(folder):
    """Children of the shims that work below the folder. Whoever submits over HTTP says nothing that marks the job's environment."""
    found = []
    for name in os.listdir('/proc'):
        try:
            if name.isdigit() and os.readlink(f'/proc/{name}/cwd').startswith(folder + '/'):
                found += children_of(int(name))
        except OSError:
            continue
    return found


class Test:
    def __init__(self, name):
        self.dir = tempfile.mkdtemp(prefix=f'weir-{name[:20]}-')
        os.chmod(self.dir, 0o755)
        self.data = os.path.join(self.dir, 'data')
        self.random = random.Random(SEED)
        self.servers = []
        self.cleanups = []

    def serve(self, *args, **kwargs):
        kwargs.setdefault('env', {})
        kwargs['env'].setdefault('TEST_DATA', self.data)
        kwargs.setdefault('log', os.path.join(self.dir, f'server-{len(self.servers)}.log'))
        server = Server(kwargs.pop('data', self.data), args or ('--simulate', '8xH100'), **kwargs)
        self.servers.append(server)
        return server

    def finish(self):
        for server in self.servers:
            try:
                server.stop()
            finally:
                for pid in processes_of(server.env.get('TEST_DATA', '-')) + jobs_below(self.dir):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        for cleanup in self.cleanups:
            cleanup()
        shutil.rmtree(self.dir, ignore_errors=True)


def main(names):
    """Runs every test_* of the file, or those whose name holds one of the arguments, and reports in TAP."""
    tests = [(name, fn) for name, fn in names.items() if name.startswith('test_') and callable(fn)]
    if len(sys.argv) > 1:
        tests = [(name, fn) for name, fn in tests if any(word in name for word in sys.argv[1:])]
    print(f'1..{len(tests)}', flush=True)
    failed = 0
    for i, (name, fn) in enumerate(tests, 1):
        t = Test(name[5:])
        began = time.monotonic()
        try:
            try:
                fn(t)
            finally:
                t.finish()
            print(f'ok {i} - {name[5:]} # {time.monotonic() - began:.1f} s', flush=True)
        except Skip as reason:
            print(f'ok {i} - {name[5:]} # SKIP {reason}', flush=True)
        except BaseException:  # noqa: B902 — whatever it was, the next test is still run
            failed += 1
            for line in traceback.format_exc().splitlines():
                print('# ' + line)
            for server in t.servers:
                for line in server.tail().splitlines()[-15:] if os.path.exists(server.log_path) else []:
                    print('# log: ' + line)
            print(f'not ok {i} - {name[5:]}', flush=True)
            if isinstance(sys.exc_info()[1], KeyboardInterrupt):
                break
    sys.exit(1 if failed else 0)
