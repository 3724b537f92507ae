"""Bounds on connections that hold before any key is checked: number, time, size of a head.

It imports uvicorn, of the extras ``http`` and ``mcp``. The bound of a body is in ``http``.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD_BYTES = 64 << 10  # bound of a request line with its headers
MAX_UNREAD_BYTES = 2 * MAX_HEAD_BYTES  # bound of bytes that are sent ahead of an answer
MAX_CONNECTIONS = 512  # open connections at most; ``calls`` bounds the requests that wait
PATIENCE_SECONDS = 30.0  # time that a client may send and read nothing
ENDING_SECONDS = 20  # time that a server waits for open requests when it shuts down


def run_server(
    app: Any,
    host: str,
    port: int,
    log_level: str = "info",
    on_exit: Callable[[], None] | None = None,
) -> None:
    """Serve an ASGI application until the process is interrupted, then call ``on_exit``."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedProtocol,
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        log_level=log_level,
        server_header=False,
        timeout_graceful_shutdown=ENDING_SECONDS,
    )
    Server(config, on_exit).run()


class Server(uvicorn.Server):
    """Server that says when it begins to end, so that no request waits for a turn any more."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._on_exit = on_exit

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Call ``on_exit``, then wait for the requests that run."""
        if self._on_exit is not None:
            self._on_exit()
        await super().shutdown(sockets)


class BoundedProtocol(H11Protocol):
    """HTTP connection that is closed when its client stalls, or when a new one needs its place.

    It extends h11, since httptools keeps headers of any size.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        self.opened_at = self.loop.time()
        self._progress = self._read_progress()
        self._timer = self.loop.call_later(PATIENCE_SECONDS, self._check_progress)
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes on in pieces, so that heads and pipelined requests stay within bounds."""
        for start in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + MAX_HEAD_BYTES])
            unread, _ = self.conn.trailing_data
            if len(unread) > MAX_UNREAD_BYTES:
                self.transport.abort()

    @property
    def waits_for_client(self) -> bool:
        """Whether the client must send more of a request, or read more of an answer."""
        cycle = self.cycle
        is_answered = cycle is None or cycle.response_complete
        return is_answered or cycle.more_body or self.transport.get_write_buffer_size() > 0

    def _read_progress(self) -> tuple[Any, ...]:
        return self.cycle, self.waits_for_client, self.transport.get_write_buffer_size()

    def _check_progress(self) -> None:
        """Close the connection if the client did nothing since the last check."""
        progress = self._read_progress()
        if self.waits_for_client and progress == self._progress:
            self.transport.abort()
            return
        self._progress = progress
        self._timer = self.loop.call_later(PATIENCE_SECONDS, self._check_progress)

    def _make_room(self) -> None:
        idle = [
            peer
            for peer in self.connections
            if isinstance(peer, BoundedProtocol)
            and peer is not self
            and peer.waits_for_client
            and not peer.transport.is_closing()
        ]
        min(idle, key=lambda peer: peer.opened_at, default=self).transport.abort()
