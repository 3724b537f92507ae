"""How the stand-in for a Qdrant server fails on demand: at the level of HTTP and of the socket."""

import socket
import struct
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler


@dataclass(frozen=True)
class Fault:
    """What happens to one request in place of its answer.

    ``applied`` carries it out first; ``cut`` closes the connection; else, after ``delay`` seconds,
    comes the status with its body and headers, or with status 0 the true answer. It waits for a
    request whose path holds ``only``.
    """

    status: int = 0
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    applied: bool = False
    only: str = ""


def handler(stand_in):
    """The class that answers requests for a stand-in."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            fault = stand_in.fault(self.path)
            asked = (self.command, self.path, self.headers, data)
            if fault is None:
                self.send(*stand_in.respond(*asked))
                return
            true = stand_in.respond(*asked) if fault.applied or not fault.status else None
            time.sleep(fault.delay)
            if fault.cut:
                # a reset, as a machine that died or a firewall gives it
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
            elif fault.status:
                self.send(fault.status, fault.body, fault.headers)
            else:
                self.send(*true)

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

    return Handler
