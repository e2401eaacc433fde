"""tests/hardware/run itself, on a machine without a GPU: that it runs to its end, that what can pass over the simulated driver does, and that what is wrong fails.

check.py WEIR FAKE_LIBCUDA"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'e2e'))
import weirlib

WEIR, CUDA = map(os.path.abspath, sys.argv[1:3])
RUN = os.path.join(HERE, 'run')


def run(*args, env=None):
    done = subprocess.run([sys.executable, RUN, '--build', os.path.dirname(WEIR), '--seconds', '2', *args], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **(env or {})})
    verdicts = dict(reversed(re.fullmatch(r'(pass|fail|skip) ([a-z-]+)(?:: .*)?', line).groups()) for line in done.stdout.splitlines()
                    if line.startswith(('pass', 'fail', 'skip')))
    return done, verdicts


def on_simulated_driver(t):
    """The environment in which a weir without --simulate finds the driver of a simulated fleet, and a nvidia-smi."""
    server = t.serve('--simulate', '2xH100')
    programs = os.path.join(t.dir, 'bin')
    libraries = os.path.join(t.dir, 'lib')
    os.mkdir(programs)
    os.mkdir(libraries)
    os.symlink(os.path.join(HERE, 'fake_smi.py'), os.path.join(programs, 'nvidia-smi'))
    os.symlink(CUDA, os.path.join(libraries, 'libcuda.so.1'))
    return {'LD_LIBRARY_PATH': f'{server.data}/lib:{libraries}', 'PATH': f'{programs}:{os.environ["PATH"]}'}


def test_without_a_driver_all_is_skipped(t):
    if os.path.exists('/dev/nvidiactl'):
        raise weirlib.Skip('this machine has a driver')
    done, verdicts = run()
    assert done.returncode == 77 and set(verdicts.values()) == {'skip'}, done
    assert done.stdout.splitlines()[-1] == f'0 passed, 0 failed, {len(verdicts)} skipped', done.stdout
    assert set(verdicts) == set(re.findall(r'^([a-z-]+) ', run('--list')[0].stdout, re.MULTILINE))


def test_every_item_is_in_the_docs(t):
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), 'docs', 'hardware.md'), encoding='utf-8') as file:
        told = set(re.findall(r'^\| `([a-z-]+)` ', file.read(), re.MULTILINE))
    assert told == set(re.findall(r'^([a-z-]+) ', run('--list')[0].stdout, re.MULTILINE)), told


def test_over_the_simulated_driver(t):
    # Processes of real mode are nobody's in a simulated driver: what waits for them to be seen is left out.
    items = [name for name in re.findall(r'^([a-z-]+) ', run('--list')[0].stdout, re.MULTILINE) if name not in ('processes', 'foreign', 'memory-budget')]
    done, verdicts = run(*items, env=on_simulated_driver(t))
    expected = {'driver', 'discovery', 'nvlink', 'telemetry', 'events', 'cost', 'visible-devices', 'beside-simulated'}
    only = {name: verdict for name, verdict in verdicts.items() if name in expected}
    assert set(only) == expected and set(only.values()) == {'pass'}, done.stdout + done.stderr
    assert verdicts['mig'] == verdicts['mps'] == verdicts['reset'] == 'skip' and len(verdicts) == len(items), done.stdout
    assert '% of a CPU over 2 s' in done.stdout and f'{list(verdicts.values()).count("pass")} passed' in done.stdout, done.stdout


def test_what_is_not_as_told_fails(t):
    env = on_simulated_driver(t)
    for field, item in (('memory.total', 'discovery'), ('mig.mode.current', 'discovery'), ('pci.bus_id', 'discovery'), ('temperature.gpu', 'telemetry')):
        done, verdicts = run(item, env={**env, 'FAKE_SMI_LIE': field})
        assert verdicts == {item: 'pass' if field == 'mig.mode.current' else 'fail'}, (field, done.stdout)


def test_wrong_words_are_refused(t):
    for args, says in ((('nothing',), "no item nothing"), (('--build', t.dir), 'no weir in')):
        done, _ = run(*args)
        assert done.returncode == 2 and says in done.stderr, done


if __name__ == '__main__':
    del sys.argv[1:3]
    weirlib.main({name: value for name, value in globals().items() if name.startswith('test_')})
