"""Batches of chat requests, which are uploaded as a file and answered in a day at a lower price."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.dialects import EndpointState
from raptor_core.models.endpoints.faults import hide_secret_and_shorten
from raptor_core.models.endpoints.values import ChatModelRequest
from raptor_core.settings.base import EndpointSettings

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch

MAX_REQUESTS = 50_000
MAX_BYTES = 190 * 2**20
"""Limits of a batch; those of OpenAI are 50,000 requests and 200 MB."""
FILE_SECONDS = 3600.0
"""Time limit for the transfer of a batch's file, in seconds."""
_PATH: Literal["/v1/chat/completions"] = "/v1/chat/completions"
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_LABEL_KEY = "raptor"


def batch_request_line(endpoint: EndpointSettings, key: str, ask: ChatModelRequest) -> bytes:
    """Return the line of a batch's file for a request, whose answer will have the same ``key``."""
    body = EndpointState.for_endpoint(endpoint).dialect.chat_body(endpoint.model, ask, ask.user)
    line = {"custom_id": key, "method": "POST", "url": _PATH, "body": body}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def has_ended(batch: "Batch") -> bool:
    """Return whether a batch has ended, so that no more answers follow."""
    return batch.status in _OVER


class BatchClient:
    """Client for the batches of a chat endpoint.

    Its calls cost nothing, are retried, and raise EndpointError.
    """

    def __init__(self, client: EndpointClient) -> None:
        self._client = client

    def create(self, lines: bytes, label: str) -> "Batch":
        """Create a batch; a retry first checks whether the batch was created already."""

        def upload(c: "OpenAI") -> str:
            file = (f"{label}.jsonl", lines)
            return c.files.create(file=file, purpose="batch", timeout=FILE_SECONDS).id

        uploaded = self._client.send_free_request(upload, "upload")
        n_attempts = 0

        def begin(c: "OpenAI") -> "Batch":
            nonlocal n_attempts
            n_attempts += 1
            newest = _newest_batches(c) if n_attempts > 1 else []
            previous = next((b for b in newest if b.input_file_id == uploaded), None)
            return previous or c.batches.create(
                input_file_id=uploaded,
                endpoint=_PATH,
                completion_window="24h",
                metadata={_LABEL_KEY: label},
            )

        return self._client.send_free_request(begin, "a new batch")

    def find_by_label(self, label: str) -> "list[Batch]":
        """Return the batches with this label among the newest hundred, newest first."""
        newest = self._client.send_free_request(_newest_batches, "the list of batches")
        return [batch for batch in newest if (batch.metadata or {}).get(_LABEL_KEY) == label]

    def refresh(self, batch: "Batch") -> "Batch":
        """Return the current state of a batch; raise EndpointError if the endpoint rejected it."""
        batch = self._client.send_free_request(
            lambda c: c.batches.retrieve(batch.id), f"batch {batch.id}"
        )
        if batch.status != "failed":
            return batch
        errors = (batch.errors.data if batch.errors is not None else None) or []
        key = self._client.require_key()
        reason = "; ".join(
            hide_secret_and_shorten(error.message or error.code or "", key) for error in errors[:3]
        )
        raise EndpointError(
            f"summarizer: the endpoint rejected batch {batch.id}: {reason or 'no reason'}. "
            "Set summarizer.batch_from = 0 to request each summary in a single call"
        )

    def request_keys(self, batch: "Batch") -> set[str]:
        """Return the keys of a batch's requests."""
        return {key for key, _ in self._cached_lines(batch.input_file_id)}

    def answers(self, batch: "Batch") -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """Yield each key with its answer, or with None if the request failed."""
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            for key, line in self._cached_lines(file):
                response = line.get("response")
                response = response if isinstance(response, dict) else {}
                body = response.get("body") if response.get("status_code") == 200 else None
                yield key, body if isinstance(body, dict) else None

    def _cached_lines(self, file: str) -> list[tuple[str, dict[str, Any]]]:
        return self._client.send_free_request(partial(_download_lines, file), f"file {file}")


def _newest_batches(connection: "OpenAI") -> "Sequence[Batch]":
    return connection.batches.list(limit=100).data


def _download_lines(file: str, connection: "OpenAI") -> list[tuple[str, dict[str, Any]]]:
    """Return the lines of a batch's file, each with its key."""
    content = connection.files.content(file, timeout=FILE_SECONDS).content
    lines = (json.loads(line) for line in content.splitlines() if line.strip())
    return [(str(line.get("custom_id")), line) for line in lines if isinstance(line, dict)]
