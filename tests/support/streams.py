"""Events of streamed chat answers, as endpoints send them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Self

from support.raw_server import RawServer

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def event(content: str | None = None, finish: str | None = None, **fields: Any) -> bytes:
    """An event with a piece of the text, a reason for the end, or other fields."""
    delta = {} if content is None else {"content": content}
    return data({"choices": [{"index": 0, "delta": {**delta, **fields}, "finish_reason": finish}]})


def data(value: Any) -> bytes:
    """An event of any value."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


USAGE = data({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})


class StreamingModel:
    """An endpoint that streams ``pieces`` of an answer; after each it waits for ``next`` if paced.

    ``left`` is set once a client has closed its connection before the end; ``asked`` has the last
    message of each request.
    """

    def __init__(self, *pieces: str, is_paced: bool = False) -> None:
        self.pieces: Iterable[str] = pieces
        self.is_paced = is_paced
        self.next = threading.Semaphore(0)
        self.left = threading.Event()
        self.ending = (event(finish="stop"), USAGE, DONE)
        self.asked: list[str] = []
        self._is_over = False
        self._server = RawServer(self._reply)

    @property
    def base_url(self) -> str:
        return f"{self._server.origin}/v1"

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over = True
        self._server.__exit__(*error)

    def _reply(self, connection: socket.socket, request: bytes) -> None:
        self.asked.append(json.loads(request.partition(b"\r\n\r\n")[2])["messages"][-1]["content"])
        try:
            connection.sendall(HEAD)
            for piece in takewhile(lambda _: not self._is_over, self.pieces):
                connection.sendall(event(piece))
                if self.is_paced and not self.next.acquire(timeout=60):
                    return
            connection.sendall(b"".join(self.ending))
        except OSError:
            self.left.set()
