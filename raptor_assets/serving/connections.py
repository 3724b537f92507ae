"""Server of ASGI applications by uvicorn, of the extras ``http`` and ``mcp``.

The bound of a request's body is in ``http``. Slow clients are the matter of a proxy.
"""

import socket
from collections.abc import Callable
from typing import Any

import uvicorn

MAX_HEAD_BYTES = 64 << 10  # bound of a request line with its headers
MAX_CONNECTIONS = 512  # further ones get 503; ``calls`` bounds the requests that wait
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
        http="h11",  # httptools keeps heads of any size
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
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
