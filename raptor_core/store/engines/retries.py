"""Retries of requests to a server, and its failures as errors with a remedy.

Every request is idempotent, so it may be repeated even if only its answer was lost: points are
written and deleted by id, and an existing index or collection is kept.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.retrying import RetryPolicy

FULL_DISK = ("no space left", "file too large", "can't write wal")
"""Words in the errors of a server whose disk is full, in lower case; the status says nothing."""

_CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"  # OpenSSL uses this word
_REFUSALS = (400, 413, 422)
"""Status codes with which a server rejects a malformed or too large request."""


@dataclass(frozen=True, slots=True)
class CollectionPlace:
    """Location of a collection, for messages: path or URL, remedy, and a secret to hide.

    ``key`` names the setting of a server's key, without its value.
    """

    name: str
    remedy: str
    secret: str | None = None
    key: str = ""

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise errors of qdrant-client as StoreError with the location."""
        # The client asserts that an answer has a result.
        local = (OSError, ValueError, AssertionError)
        try:
            yield
        except (ApiException, QdrantException, *local) as error:
            kind = StoreRefusedError if find_http_status(error) in _REFUSALS else StoreError
            cause = shorten_error_message(error)
            shown = cause.replace(self.secret, "***") if self.secret else cause
            advice = find_error_remedy(error, self.key) or self.remedy
            raise kind(f"{self.name}: {shown[:500]}; {advice}") from None


def find_http_status(error: Exception) -> int:
    """Return the HTTP status of an answer; 0 if there was none."""
    return (error.status_code or 0) if isinstance(error, UnexpectedResponse) else 0


def shorten_error_message(error: Exception) -> str:
    """Return the message of an error in one line, without what the client adds."""
    if isinstance(error, UnexpectedResponse):
        message = f"{error.status_code} {error.reason_phrase}: {_read_body_message(error.content)}"
    elif isinstance(error, ResponseHandlingException):
        message = str(error.source) or type(error.source).__name__
    else:
        message = str(error)
    return " ".join(message.split()).rstrip(":. ") or type(error).__name__


def find_error_remedy(error: Exception, key: str) -> str:
    """Return the remedy for an error, or "" if only that of ``CollectionPlace`` applies."""
    if any(word in shorten_error_message(error).lower() for word in FULL_DISK):
        return (
            "free space on the server's disk, then repeat the command; restart the server if it "
            "still reports a full disk"
        )
    if _CERTIFICATE in shorten_error_message(error):
        return "name the file of the authority that signed the server's certificate in store.tls_ca"
    if find_http_status(error) in (401, 403):
        return f"check {key}: is it the key of this server, and does it permit this request?"
    if find_http_status(error) == 404:
        return "the collection was removed: open the store again and rebuild its trees"
    return ""


def _read_body_message(content: bytes) -> str:
    """Return the message in a body, which is Qdrant's JSON or plain text."""
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, LookupError, TypeError):
        return content.decode("utf-8", "replace")


POLICY = RetryPolicy()
"""Waits between retries; the settings limit their number."""


class RetryingClient:
    """Client that retries calls whose failure may be temporary.

    With several clients, for the nodes of a cluster, a call goes to the next client at once, and
    waits only after all have failed. Tests replace ``wait``.
    """

    def __init__(
        self, clients: Sequence[Any], max_retries: int, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._clients = clients
        self._max_retries = max_retries
        self._wait = wait
        self._at = 0

    def close(self) -> None:
        """Close all clients."""
        for client in self._clients:
            client.close()

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self._call(name, args, kwargs)

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        n_failed = 0
        fault: Exception | None = None
        while True:
            at = self._at
            try:
                return getattr(self._clients[at], name)(*args, **kwargs)
            except Exception as error:
                n_failed += 1
                # An error that a node answers explains more than a node that is unreachable.
                fault = error if fault is None or find_http_status(error) else fault
                n_rounds, n_tried = divmod(n_failed, len(self._clients))
                seconds = wait_seconds(error, max(n_rounds, 1))
                if seconds is None:
                    raise
                if n_rounds > self._max_retries:
                    raise fault from None
                self._at = (at + 1) % len(self._clients)
                if n_tried == 0:
                    self._wait(seconds)


def wait_seconds(error: Exception, n_failed: int) -> float | None:
    """Return the wait before the next attempt, as requested by the server if so; None if permanent.

    A missing, broken or slow connection, 429 and 5xx count as temporary.
    """
    jitter = random.random()
    backoff = POLICY.backoff_seconds(n_failed, jitter)
    if isinstance(error, ResourceExhaustedResponse):
        return POLICY.wait_seconds(n_failed, jitter, float(error.retry_after_s))
    if isinstance(error, QdrantException):  # 429 whose Retry-After is a date
        return backoff
    if isinstance(error, ResponseHandlingException):
        return backoff if isinstance(error.source, httpx.TransportError) else None
    status = find_http_status(error)
    return backoff if status == 429 or status >= 500 else None
