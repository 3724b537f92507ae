"""A link to a server on loopback that can be taken down, as a network is: nothing is refused.

While it is down, bytes are kept and connections stay unanswered; nobody is told. When it comes up
again, what was under way arrives late, as TCP sends it again.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Self


class Link:
    """Forwards connections to ``host`` to a port on loopback; a context manager."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server((host, 0), backlog=128)
        self._up = threading.Event()
        self._up.set()
        self._open: list[socket.socket] = []
        self._unanswered: list[socket.socket] = []
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """Where clients connect to."""
        port: int = self._listener.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._listener.close()
        self.up()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def down(self) -> None:
        """From now on nothing arrives, on either side."""
        self._up.clear()

    def up(self) -> None:
        """Let what was under way arrive; who tried to connect meanwhile has to try again."""
        with self._lock:
            self._up.set()
            for connection in self._unanswered:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            self._unanswered.clear()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            with self._lock:
                if not self._up.is_set():
                    self._unanswered.append(connection)
                    continue
                other = socket.create_connection(self._target)
                self._open += [connection, other]
            for one, two in ((connection, other), (other, connection)):
                threading.Thread(target=self._pump, args=(one, two), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # either side hung up
            while data := source.recv(1 << 16):
                self._up.wait()
                target.sendall(data)
        self._up.wait()
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
