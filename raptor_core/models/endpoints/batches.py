"""Batches of chat requests: uploaded as one file, answered within a day, at a lower price."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.dialects import Shared
from raptor_core.models.endpoints.faults import scrub
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.settings.base import EndpointPart

if TYPE_CHECKING:
    from openai import OpenAI

MAX_REQUESTS = 50_000
MAX_BYTES = 190 * 2**20
"""Limits of a batch; OpenAI takes 50,000 requests and 200 MB."""
FILE_SECONDS = 3600.0
"""Time limit of the transfer of a batch's file."""
_PATH: Literal["/v1/chat/completions"] = "/v1/chat/completions"
_UNKNOWN = "unknown"
_OVER = frozenset({"completed", "failed", "expired", "cancelled", _UNKNOWN})
_MARK = "raptor"


@dataclass(frozen=True, slots=True)
class BatchState:
    """State of a batch; ``reason`` says why the batch failed."""

    status: str
    output_file: str | None
    error_file: str | None
    reason: str = ""

    @property
    def is_over(self) -> bool:
        """State in which the endpoint adds no further answer."""
        return self.status in _OVER


def batch_line(endpoint: EndpointPart, key: str, ask: ChatAsk) -> bytes:
    """Return a line of a batch's file for one request; its answer carries ``key``."""
    body = Shared.of(endpoint).dialect.chat_body(endpoint.model, ask, ask.user)
    line = {"custom_id": key, "method": "POST", "url": _PATH, "body": body}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


class BatchClient:
    """Client of a chat endpoint's batches; calls cost nothing, are retried, raise EndpointError."""

    def __init__(self, client: EndpointClient) -> None:
        self._call = client.call

    def create(self, lines: bytes, mark: str) -> str:
        """Begin a batch once; a retry first looks for a batch that has this ``mark``."""

        def upload(c: "OpenAI") -> str:
            file = (f"{mark}.jsonl", lines)
            return c.files.create(file=file, purpose="batch", timeout=FILE_SECONDS).id

        uploaded = self._call(upload, "upload")
        n_attempts = 0

        def begin(c: "OpenAI") -> str:
            nonlocal n_attempts
            n_attempts += 1
            previous = _marked(c, mark) if n_attempts > 1 else None
            if previous is not None:
                return previous
            metadata = {_MARK: mark}
            return c.batches.create(
                input_file_id=uploaded, endpoint=_PATH, completion_window="24h", metadata=metadata
            ).id

        return self._call(begin, "a new batch")

    def find(self, mark: str) -> str | None:
        """Return the id of the batch with this mark, among the newest hundred."""
        return self._call(lambda c: _marked(c, mark), "the list of batches")

    def state(self, batch: str) -> BatchState:
        """Return the state of a batch; a batch that the endpoint has forgotten is over."""
        return self._call(lambda c: _state(c, batch), f"batch {batch}")

    def answers(self, state: BatchState) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """Yield each key with its answer, or with None where the request failed."""
        for file in (state.output_file, state.error_file):
            if file is not None:
                yield from self._call(partial(_answers, file), f"file {file}")


def _marked(connection: "OpenAI", mark: str) -> str | None:
    batches = connection.batches.list(limit=100).data
    return next((batch.id for batch in batches if (batch.metadata or {}).get(_MARK) == mark), None)


def _state(connection: "OpenAI", name: str) -> BatchState:
    from openai import NotFoundError

    try:
        batch = connection.batches.retrieve(name)
    except NotFoundError:
        return BatchState(_UNKNOWN, None, None)
    secret = connection.api_key
    errors = batch.errors.data if batch.errors is not None and batch.errors.data else []
    reason = "; ".join(scrub(error.message or error.code or "", secret) for error in errors[:3])
    return BatchState(batch.status, batch.output_file_id, batch.error_file_id, reason)


def _answers(file: str, connection: "OpenAI") -> list[tuple[str, Mapping[str, Any] | None]]:
    lines = connection.files.content(file, timeout=FILE_SECONDS).content.splitlines()
    return [_answer(json.loads(line)) for line in lines if line.strip()]


def _answer(line: Any) -> tuple[str, Mapping[str, Any] | None]:
    """Return the key and the answer of a line, or None for a line without an answer."""
    fields: Mapping[str, Any] = line if isinstance(line, dict) else {}
    key, response = str(fields.get("custom_id")), fields.get("response")
    response = response if isinstance(response, dict) else {}
    body = response.get("body") if response.get("status_code") == 200 else None
    return key, body if isinstance(body, dict) else None
