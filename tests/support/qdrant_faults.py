"""How a Qdrant server fails on demand: at the level of HTTP and of the socket, and as a process."""

import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import ClassVar


@dataclass(frozen=True)
class Fault:
    """What happens to one request in place of its answer.

    ``applied`` carries it out first; ``cut`` closes the connection; else, after ``delay`` seconds,
    comes the status with its body and headers, or with status 0 the true answer. It waits for a
    request whose path holds ``only``. ``killed`` kills a real server so many seconds after the
    request was sent on, answered or not, and closes the connection.
    """

    status: int = 0
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    applied: bool = False
    only: str = ""
    killed: float | None = None


class GoneError(Exception):
    """The server behind a proxy is not there, or went while it answered."""


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of a wire."""

    wire: ClassVar

    def answer(self):
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        fault = self.wire.fault(self.path) or Fault()
        asked = (self.command, self.path, self.headers, data)
        try:
            true = None if fault.status and not fault.applied else self.true(fault, asked)
        except GoneError:
            self.cut()
            return
        time.sleep(fault.delay)
        if fault.cut:
            self.cut()
        elif fault.status:
            self.send(fault.status, fault.body, fault.headers)
        else:
            self.send(*true)

    def true(self, fault, asked):
        """The server's own answer, unless the fault leaves it none."""
        if fault.cut and not fault.applied:
            return None
        if fault.killed is None:
            return self.wire.respond(*asked)
        killer = threading.Timer(fault.killed, self.wire.kill)
        killer.start()
        try:
            self.wire.respond(*asked)
        finally:
            killer.join()
        raise GoneError

    def cut(self):
        # a reset, as a machine that died or a firewall gives it
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def send(self, status, body, headers=()):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_):
        """Keep the tests' output clean."""


def handler(wire):
    """The class that answers requests for a wire."""
    return type("WireHandler", (Handler,), {"wire": wire})
