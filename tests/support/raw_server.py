"""A TCP server whose answers are bytes that a test writes, well formed or not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class RawServer:
    """Reads a request up to the end of its headers and its body, then has ``reply`` answer it.

    ``reply`` gets the socket, and the request's bytes; the connection is closed afterwards.
    ``requests`` are the bytes of all of them.
    """

    def __init__(self, reply: Callable[[socket.socket, bytes], object]) -> None:
        self._reply = reply
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.requests: list[bytes] = []
        self.n_open = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self.n_open += 1
        with connection, suppress(OSError):
            request = _read_request(connection)
            self.requests.append(request)
            self._reply(connection, request)
        self.n_open -= 1


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65_536)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    n_left = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while n_left > 0 and (more := connection.recv(65_536)):
        data, n_left = data + more, n_left - len(more)
    return data
