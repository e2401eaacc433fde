#!/usr/bin/env python3
"""Stands in for nvidia-cuda-mps-control in tests, and behaves as the file `behaviour` beside it says, a word each:

slow           answers only half a second after its start
silent         takes questions and never answers
fails          ends at once, with status 3 and a word on stderr
dies           ends by itself 0.3 s after its first answer
hangs          never answers again after its first answer
stubborn       refuses to quit, and ignores SIGTERM
server         starts a server below it, in a session of its own, that lives on without it

Every start of a daemon is a line of the file `starts`: its pid and its environment as JSON. What is asked is a line of `asked`, and of
`kept` where it is not answered.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
SOCKET = os.environ['CUDA_MPS_PIPE_DIRECTORY'] + '/control'


def behaviour():
    try:
        with open(HERE + '/behaviour', encoding='utf-8') as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def note(name, line):
    with open(f'{HERE}/{name}', 'a', encoding='utf-8') as file:
        file.write(line + '\n')


def ask():
    text = sys.stdin.read()
    note('asked', text.strip())
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.connect(SOCKET)
        except OSError:
            print('Cannot find MPS control daemon process')
            return 1
        peer.sendall(text.encode())
        peer.shutdown(socket.SHUT_WR)
        answer = peer.makefile().read()
    print(answer, end='')
    return 1 if answer.startswith('refused') else 0


def serve():
    note('starts', json.dumps({'pid': os.getpid(), 'env': dict(os.environ)}))
    is_first = True
    end = None
    kept = []
    if 'fails' in behaviour():
        print('no such device', file=sys.stderr)
        return 3
    if 'stubborn' in behaviour():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if 'server' in behaviour():
        server = subprocess.Popen(['sleep', '600'], start_new_session=True)
        note('servers', str(server.pid))
    if 'slow' in behaviour():
        time.sleep(0.5)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    listener.listen(16)
    while True:
        try:
            listener.settimeout(None if end is None else max(0.001, end - time.monotonic()))
            peer, _ = listener.accept()
        except TimeoutError:
            return 4
        text = peer.makefile().read()
        words = behaviour()
        if 'silent' in words or ('hangs' in words and not is_first):
            kept.append(peer)
            note('kept', text.strip())
            continue
        if text.startswith('quit') and 'stubborn' not in words:
            return 0
        peer.sendall(b'refused\n' if text.startswith('quit') else b'100.0\n')
        peer.close()
        is_first = False
        if 'dies' in words and end is None:
            end = time.monotonic() + 0.3


sys.exit(serve() if sys.argv[1:] == ['-f'] else ask())
