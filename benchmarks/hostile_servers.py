"""A Qdrant server and the stand-in of an LLM endpoint, reached from another network namespace.

Says their ports, as JSON. Then of each line of standard input: "prompts" is answered with what the
endpoint was asked; "watch" and a text has "cut" said once a request with it was served, whose
answer then waits for "go". The server is a real one behind a proxy that watches its requests, where
a binary is found (``QDRANT_BINARY``, or ``qdrant`` on the path); else a stand-in.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def serve(host: str) -> None:
    """The servers, until standard input ends."""
    from support.links import Link
    from support.openai_server import FakeOpenAI

    go = threading.Event()
    watched: list[str] = []

    def watch(text: str) -> None:
        if any(mark in text for mark in watched):
            watched.clear()
            _say("cut")
            go.wait()

    def watched_respond(method: str, path: str, headers: Any, data: bytes) -> Any:
        answer = respond(method, path, headers, data)
        watch(data.decode())
        return answer

    with (
        _qdrant() as store,
        FakeOpenAI(hold=lambda body: watch(json.dumps(body))) as endpoint,
        Link(int(store.url.rpartition(":")[2]), host) as to_store,
        Link(endpoint.port, host) as to_endpoint,
    ):
        respond, store.respond = store.respond, watched_respond
        _say([to_store.port, to_endpoint.port])
        for line in sys.stdin:
            word, _, text = line.rstrip("\n").partition("\0")
            if word == "prompts":
                _say([json.dumps(body["messages"]) for body in endpoint.bodies])
            elif word == "watch":
                go.clear()
                watched.append(text)
            else:
                go.set()


@contextmanager
def _qdrant() -> Iterator[Any]:
    from support.qdrant_server import QdrantServer, find_qdrant

    if find_qdrant() is None:
        from support.qdrant_stand_in import StandIn

        yield StandIn()
        return
    from support.qdrant_proxy import Proxy

    with tempfile.TemporaryDirectory() as folder:
        server = QdrantServer(Path(folder))
        server.start()
        try:
            yield Proxy(server)
        finally:
            server.kill()


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
