"""A weir for the tests of its clients: HTTP on a unix socket, answers as each test scripts them.

It can do what the real one hopefully never does: cut a stream in the middle of a frame, answer nonsense, be away."""
import json
import os
import socket
import struct
import threading
from collections import namedtuple
from urllib.parse import parse_qs, urlsplit

Request = namedtuple("Request", "method path query headers body")

STDOUT, STDERR, STATE, END, ATTEMPT, NOTHING, GAP = 1, 2, 3, 4, 5, 6, 7


def frame(kind, data=b"", member=0):
    if isinstance(data, dict):
        data = json.dumps(data).encode()
    return struct.pack(">B3xII", kind, member, len(data)) + data


def workload(state="running", **more):
    return {"id": "7", "name": "job", "queue": "default", "owner": "me", "class": "batch", "priority": 0, "state": state,
            "attempt": 1, "exit_status": None, "gpus": [], "node": "here", "submitted_ms": 1000, "started_ms": None,
            "ended_ms": None, "reason": None, "members": 1, "array": False, "demo": False, **more}


def ended(status=0, state=None, **more):
    return workload(state or ("succeeded" if status == 0 else "failed"), exit_status=status,
                    reason=more.pop("reason", f"exit {status}"), **more)


class Cut(Exception):
    """Raised by a handler: the connection is closed without more."""


class Answer:
    """What a handler writes with: one answer per request."""

    def __init__(self, connection):
        self.connection = connection

    def send(self, status, body=b"", headers=(), content_type="application/json"):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers)
        self.connection.sendall(head.encode() + b"\r\n" + body)

    def error(self, status, code, message, **more):
        self.send(status, {"error": {"code": code, "message": message, **more}})

    def start(self, headers=()):
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers)
        self.connection.sendall(head.encode() + b"\r\n")

    def write(self, data):
        if data:
            self.connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self):
        self.connection.sendall(b"0\r\n\r\n")


class FakeWeir:
    """routes: (method, path) → handler(request, answer); what no route has is 404."""

    def __init__(self, data, routes):
        self.path = os.path.join(data, "weir.sock")
        self.routes = routes
        self.requests = []
        self.lock = threading.Lock()
        self.problems = []
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(64)
        self.connections = set()
        self.thread = threading.Thread(target=self.accept, args=(self.listener,), daemon=True)
        self.thread.start()
        self.is_up = True

    def stop(self):
        """Away, as after kill -9: the socket stays, nobody listens, connections break."""
        if not self.is_up:
            return
        self.is_up = False
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.thread.join()

    def count(self, method, path):
        with self.lock:
            return sum(1 for r in self.requests if (r.method, r.path) == (method, path))

    def find(self, method, path):
        with self.lock:
            return [r for r in self.requests if (r.method, r.path) == (method, path)]

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.add(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        stream = connection.makefile("rb")
        try:
            while self.serve_one(connection, stream):
                pass
        except (Cut, OSError):
            pass
        except Exception as problem:  # a test must not pass over a fault of its own script
            self.problems.append(repr(problem))
        finally:
            with self.lock:
                self.connections.discard(connection)
            stream.close()
            connection.close()

    def serve_one(self, connection, stream):
        line = stream.readline().decode()
        if not line:
            return False
        method, target, version = line.split()
        headers = {}
        while (line := stream.readline().decode().rstrip("\r\n")) != "":
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        request = Request(method, parts.path, query, headers, body)
        with self.lock:
            self.requests.append(request)
        handler = self.routes.get((method, parts.path))
        if handler is None:
            Answer(connection).error(404, "not-found", f"there is no {parts.path}")
        else:
            handler(request, Answer(connection))
        return True


def always(status, body):
    return lambda request, answer: answer.send(status, body)
