"""Batches of chat requests: uploaded as one file, answered within a day, at a lower price."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from raptor_core.models.endpoints.dialects import chat_body, connect
from raptor_core.models.endpoints.faults import scrub, translated
from raptor_core.models.endpoints.keys import resolve_key, shown_url
from raptor_core.models.endpoints.retry import FaultError, Retrier, RetryPolicy
from raptor_core.models.endpoints.values import ChatAsk, Endpoint

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion

Result = TypeVar("Result")

MAX_REQUESTS = 50_000
MAX_BYTES = 190 * 2**20
"""Of one batch; OpenAI takes 50,000 requests and 200 MB."""

_PATH: Literal["/v1/chat/completions"] = "/v1/chat/completions"
_UNKNOWN = "unknown"
_OVER = frozenset({"completed", "failed", "expired", "cancelled", _UNKNOWN})
_MARK = "raptor"


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is; ``reason`` says why it failed as a whole."""

    status: str
    output_file: str | None
    error_file: str | None
    reason: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.status in _OVER


def batch_line(endpoint: Endpoint, key: str, ask: ChatAsk) -> bytes:
    """One request of a batch's file; ``key`` comes back with its answer."""
    body = chat_body(endpoint, ask, ask.user)
    line = {"custom_id": key, "method": "POST", "url": _PATH, "body": body}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


class BatchClient:
    """The batch endpoint beside a chat endpoint. Its own calls cost nothing and are retried."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy) -> None:
        self._endpoint = endpoint
        self._retrier = Retrier(policy)
        self._lock = threading.Lock()
        self._connection: OpenAI | None = None

    def create(self, lines: bytes, mark: str) -> str:
        """Begin a batch, once: where an attempt may have begun it unseen, ``mark`` finds it.

        Raises:
            EndpointError: the endpoint takes no batch.
        """
        uploaded = self._run(
            lambda c: c.files.create(file=(f"{mark}.jsonl", lines), purpose="batch").id, "upload"
        )
        n_attempts = 0

        def begin(c: OpenAI) -> str:
            nonlocal n_attempts
            n_attempts += 1
            found = _marked(c, mark) if n_attempts > 1 else None
            if found is not None:
                return found
            begun = c.batches.create(
                input_file_id=uploaded,
                endpoint=_PATH,
                completion_window="24h",
                metadata={_MARK: mark},
            )
            return begun.id

        return self._run(begin, "a new batch")

    def find(self, mark: str) -> str | None:
        """The batch that was begun with this mark, among the newest hundred.

        Raises:
            EndpointError: the endpoint does not say.
        """
        return self._run(lambda c: _marked(c, mark), "the list of batches")

    def state(self, batch: str) -> BatchState:
        """How far it is; one that the endpoint does not know any more is over, with no answers.

        Raises:
            EndpointError: the endpoint does not say.
        """
        return self._run(lambda c: _state(c, batch), f"batch {batch}")

    def answers(self, state: BatchState) -> Iterator[tuple[str, ChatCompletion | str]]:
        """By key the answers that came, and reasons for requests that failed.

        Raises:
            EndpointError: a file cannot be fetched.
        """
        for file in (state.output_file, state.error_file):
            for line in self._lines(file) if file is not None else ():
                yield _answer(line, self._connect().api_key)

    def _lines(self, file: str) -> list[dict[str, Any]]:
        def fetch(c: OpenAI) -> list[dict[str, Any]]:
            content = c.files.content(file).content
            return [json.loads(line) for line in content.splitlines() if line.strip()]

        return self._run(fetch, f"file {file}")

    def _run(self, call: Callable[[OpenAI], Result], what: str) -> Result:
        endpoint = self._endpoint
        named = f"{endpoint.purpose}: {what} at {shown_url(endpoint.base_url)}"
        connection = self._connect()

        def attempt() -> Result:
            seconds, secret = endpoint.timeout_seconds, connection.api_key
            return translated(lambda: call(connection), seconds, secret)

        return self._retrier.run(attempt, what=named)

    def _connect(self) -> OpenAI:
        endpoint = self._endpoint
        with self._lock:
            if self._connection is None:
                key = resolve_key(endpoint.api_key_env, endpoint.base_url, endpoint.purpose)
                self._connection = connect(endpoint, key)
                weakref.finalize(self, self._connection.close)
            return self._connection


def _marked(connection: OpenAI, mark: str) -> str | None:
    for batch in connection.batches.list(limit=100).data:
        if (batch.metadata or {}).get(_MARK) == mark:
            return batch.id
    return None


def _state(connection: OpenAI, name: str) -> BatchState:
    from openai import NotFoundError

    try:
        batch = connection.batches.retrieve(name)
    except NotFoundError:
        return BatchState(_UNKNOWN, None, None)
    secret = connection.api_key
    errors = batch.errors.data if batch.errors is not None and batch.errors.data else []
    told = "; ".join(scrub(error.message or error.code or "", secret) for error in errors[:3])
    return BatchState(batch.status, batch.output_file_id, batch.error_file_id, told)


def _answer(line: Mapping[str, Any], secret: str) -> tuple[str, ChatCompletion | str]:
    from openai.types.chat import ChatCompletion
    from pydantic import ValidationError

    key, response = str(line.get("custom_id")), line.get("response") or {}
    if response.get("status_code") != 200:
        error = line.get("error") or response.get("body") or "no reason"
        return key, f"HTTP {response.get('status_code')} ({scrub(str(error), secret)})"
    try:
        return key, ChatCompletion.model_validate(response.get("body"))
    except ValidationError:
        return key, "the answer is malformed"


def raised(answer: ChatCompletion | str) -> ChatCompletion:
    """The answer.

    Raises:
        FaultError: it is the reason why there is none.
    """
    if isinstance(answer, str):
        raise FaultError(answer, unbilled=True)
    return answer
