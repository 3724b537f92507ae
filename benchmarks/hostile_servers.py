"""The stand-ins of Qdrant and of an LLM endpoint, reached from another network namespace.

Says their ports, as JSON. Then of each line of standard input: "prompts" is answered with what the
endpoint was asked; "watch" and a text has "cut" said once a request with it was served, whose
answer then waits for "go".
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any


def serve(host: str) -> None:
    """The servers, until standard input ends."""
    from support.links import Link
    from support.openai_server import FakeOpenAI
    from support.qdrant_stand_in import StandIn

    store, go = StandIn(), threading.Event()
    watched: list[str] = []
    respond = store.respond

    def watch(text: str) -> None:
        if any(mark in text for mark in watched):
            watched.clear()
            _say("cut")
            go.wait()

    def watched_respond(method: str, path: str, headers: Any, data: bytes) -> Any:
        answer = respond(method, path, headers, data)
        watch(data.decode())
        return answer

    store.respond = watched_respond
    with (
        FakeOpenAI(hold=lambda body: watch(json.dumps(body))) as endpoint,
        Link(int(store.url.rpartition(":")[2]), host) as to_store,
        Link(endpoint.port, host) as to_endpoint,
    ):
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


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
