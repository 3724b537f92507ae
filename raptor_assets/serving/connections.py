"""Bounds of uvicorn for the servers of the extras ``http`` and ``mcp``.

The bound of a request's body is in ``http``. Slow clients are the matter of a proxy.
"""

from typing import Any

import uvicorn

MAX_HEAD_BYTES = 64 << 10  # bound of a request line with its headers
MAX_CONNECTIONS = 512  # further ones get 503
ENDING_SECONDS = 20  # time that a server waits for open requests when it shuts down


def run_server(app: Any, host: str, port: int, log_level: str = "info") -> None:
    """Serve an ASGI application until the process is interrupted."""
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
    uvicorn.Server(config).run()
