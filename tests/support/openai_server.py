"""A stand-in for an OpenAI-compatible endpoint: a real HTTP server on the loopback.

It speaks ``/v1/chat/completions``, ``/v1/embeddings``, and with ``openai_batches`` the files and
batches of the batch endpoint, and holds no model: a chat answer is a cut of the prompt's own words,
an embedding a vector drawn from the text's hash. Both depend on the request alone. Faults come on
demand, see ``Fault`` and ``FakeOpenAI.fail``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
from support.openai_faults import Fault

Body = dict[str, Any]


def default_answer(body: Body) -> str:
    """Every third word of the last message's beginning, as one sentence within the limit.

    The words are in lower case, so that none of the instructions looks like an invented name.
    """
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 60
    content = re.sub(r"</?\w+>", " ", body["messages"][-1]["content"])
    words = content.split()[::3][: max(1, min(30, limit // 3))]
    return "In short: " + " ".join(word.strip(".")[:16].lower() for word in words) + "."


def hash_vector(text: str, n_dims: int) -> np.ndarray:
    """A vector drawn from the text's hash, float32, not normalised."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=n_dims).astype("<f4")


def usage_of(prompt_tokens: int, completion_tokens: int) -> Body:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


@dataclass
class _Rule:
    fault: Fault
    times: int | None
    every: int
    when: Callable[[Body], bool]
    n_seen: int = 0

    def applies(self, body: Body) -> bool:
        if self.times == 0 or not self.when(body):
            return False
        self.n_seen += 1
        if self.n_seen % self.every:
            return False
        self.times = None if self.times is None else self.times - 1
        return True


@dataclass(frozen=True)
class Seen:
    """One request: its path, query, body and headers, and the bearer token that came with it."""

    path: str
    body: Body
    token: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class FakeOpenAI:
    """The server; a context manager. ``n_dims`` is the length of its embeddings.

    Another ``model`` has other vectors; ``no_vector`` is a text whose numbers are not finite.

    ``refuse`` looks at every request first and may have it fail; ``say`` gives the headers of a
    good answer; ``more`` answers what is asked under other paths, as bytes or a fault.
    ``hold`` is called while a request is under way and may keep it waiting. ``answer`` makes
    the text of a chat answer from the request's body (None: ``default_answer``). With
    ``knows_base64`` false, embeddings are sent as numbers whatever was asked for.
    """

    n_dims: int = 8
    model: str = ""
    no_vector: str = ""
    delay_seconds: float = 0.0
    hold: Callable[[Body], object] | None = None
    answer: Callable[[Body], str] | None = None
    knows_base64: bool = True
    refuse: Callable[[Seen], Fault | None] | None = None
    say: Callable[[Seen], Mapping[str, str]] | None = None
    more: Callable[[str, Seen, bytes], bytes | Fault | None] | None = None
    seen: list[Seen] = field(default_factory=list)
    peak: int = 0
    _rules: list[_Rule] = field(default_factory=list)
    _under_way: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def base_url(self) -> str:
        """What a client is pointed at."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def n_requests(self) -> int:
        """Requests so far, those that failed included."""
        return len(self.seen)

    @property
    def bodies(self) -> list[Body]:
        """Bodies of the requests so far."""
        return [seen.body for seen in self.seen]

    def fail(
        self,
        fault: Fault,
        *,
        times: int | None = 1,
        every: int = 1,
        when: Callable[[Body], bool] = lambda _body: True,
    ) -> None:
        """Answer with ``fault``, to every ``every``-th request that ``when`` holds for.

        ``times`` bounds how often, None never ends. The first rule that applies is taken.
        """
        self._rules.append(_Rule(fault, times, every, when))

    def stop_failing(self) -> None:
        """Forget every fault that ``fail`` asked for."""
        self._rules.clear()

    def begin(self, seen: Seen) -> Fault | None:
        """Record a request; the fault that it meets."""
        with self._lock:
            self.seen.append(seen)
            self._under_way += 1
            self.peak = max(self.peak, self._under_way)
            refused = self.refuse(seen) if self.refuse else None
            return refused or next((r.fault for r in self._rules if r.applies(seen.body)), None)

    def end(self) -> None:
        """Record that a request was answered."""
        with self._lock:
            self._under_way -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    fake: FakeOpenAI

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: object) -> None:
        """Keep the tests' output clean."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, sent: bytes) -> None:
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        token = (self.headers["Authorization"] or "").removeprefix("Bearer ")
        path, _, query = self.path.partition("?")
        body = json.loads(sent) if is_json and sent else {}
        seen = Seen(path, body, token, query, dict(self.headers.items()))
        fake = self.server.fake
        if fake.more is not None:
            given = fake.more(self.command, seen, sent)
            if given is not None:
                fault = given if isinstance(given, Fault) else Fault(raw=given)
                payload = fault.raw if fault.raw is not None else self._payload(seen, fault)
                self._reply(payload, fault)
                return
        fault = fake.begin(seen)
        fault = fault or Fault(headers=tuple(fake.say(seen).items()) if fake.say else ())
        try:
            if fake.hold is not None:
                fake.hold(body)
            time.sleep(fault.seconds if fault.at_once else fake.delay_seconds + fault.seconds)
            payload = fault.raw if fault.raw is not None else self._payload(seen, fault)
        finally:
            fake.end()  # before the reply: the client may follow up on it at once
        self._reply(payload, fault)

    def _reply(self, payload: bytes, fault: Fault) -> None:
        self.close_connection = self.close_connection or fault.cut
        if fault.cut and not payload:
            return
        self.send_response(fault.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in fault.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload[: len(payload) // 2] if fault.cut else payload)

    def _payload(self, seen: Seen, fault: Fault) -> bytes:
        if fault.status >= 400:
            error = {"message": fault.message, "code": fault.code, "type": None, "param": None}
            return json.dumps({"error": error}).encode()
        if seen.path.endswith("/embeddings"):
            return json.dumps(self._embeddings(seen.body)).encode()
        return json.dumps(completion(self.server.fake, seen.body, fault)).encode()

    def _embeddings(self, body: Body) -> Body:
        fake = self.server.fake
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        as_base64 = fake.knows_base64 and body.get("encoding_format") == "base64"
        data = []
        for index, text in enumerate(texts):
            vector = hash_vector(fake.model + text, fake.n_dims)
            if fake.no_vector and fake.no_vector in text:
                vector = vector * float("nan")
            sent = base64.b64encode(vector.tobytes()).decode() if as_base64 else vector.tolist()
            data.append({"object": "embedding", "index": index, "embedding": sent})
        words = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": words, "total_tokens": words}
        # Backwards: clients must go by the index.
        model = fake.model or body["model"]
        return {"object": "list", "data": data[::-1], "model": model, "usage": usage}


def completion(fake: FakeOpenAI, body: Body, fault: Fault) -> Body:
    """The answer to a chat request."""
    answer = fake.answer or default_answer
    content = fault.content if fault.content is not None else answer(body)
    prompt = sum(len(message["content"].split()) for message in body["messages"])
    message = {"role": "assistant", "content": content, "refusal": fault.refusal}
    return {
        "id": "stand-in",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": fault.finish_reason}],
        "usage": usage_of(prompt, len(content.split())),
    }
