"""Requests to a server, made again where the fault may pass, and else told in our own words.

Every request may be repeated: points are written and deleted by id, an index or an alias is set
again, a removed collection is removed again, and an existing one is taken over
(``CorpusCollections.make``). So a request whose answer was lost is simply repeated.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
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
"""What a server whose disk is full says, in lower case; its status is that of any fault."""

_KEY_CODES = ("401", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")
_GONE_CODES = ("404", "NOT_FOUND")
_CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"  # in OpenSSL's words, and in gRPC's
_REFUSALS = ("400", "413", "422", "INVALID_ARGUMENT", "OUT_OF_RANGE")
"""Of a request that is taken for wrong: malformed, or too large."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the collection is, for messages: a path or URL, what to do, what never to show.

    ``key`` names a server's key, never its value.
    """

    name: str
    remedy: str
    secret: str | None = None
    key: str = ""

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what qdrant-client raises into a StoreError that names the place."""
        # The client asserts that an answer has a result, and local mode raises ValueError.
        local = (sqlite3.Error, OSError, ValueError, AssertionError)
        try:
            yield
        except (ApiException, QdrantException, grpc.RpcError, *local) as error:
            kind = StoreRefusedError if code(error) in _REFUSALS else StoreError
            said = reason(error)
            shown = said.replace(self.secret, "***") if self.secret else said
            helps = remedy(error, self.key) or self.remedy
            raise kind(f"{self.name}: {shown[:500]}; {helps}") from None


def code(error: Exception) -> str:
    """The status of an answer, "404", or of a call by gRPC, "NOT_FOUND"; empty where none came."""
    if isinstance(error, UnexpectedResponse):
        return str(error.status_code or "")
    if isinstance(error, grpc.RpcError) and hasattr(error, "code"):
        return str(error.code().name)
    return ""


def reason(error: Exception) -> str:
    """What was said, in one line, without the client's own wrapping."""
    if isinstance(error, UnexpectedResponse):
        said = f"{error.status_code} {error.reason_phrase}: {_message(error.content)}"
    elif isinstance(error, grpc.RpcError) and hasattr(error, "details"):
        said = f"{code(error)}: {error.details()}"
    elif isinstance(error, ResponseHandlingException):
        said = str(error.source) or type(error.source).__name__
    else:
        said = str(error)
    return " ".join(said.split()).rstrip(":. ") or type(error).__name__


def remedy(error: Exception, key: str) -> str:
    """What helps; empty where the server's address and health are to be looked at.

    ``key`` names the key: "the key in QDRANT_API_KEY (set)".
    """
    if any(word in reason(error).lower() for word in FULL_DISK):
        return (
            "free space on the server's disk, then run the same again; a server that goes on "
            "saying so is to be started anew"
        )
    if _CERTIFICATE in reason(error):
        return "name the file of the authority that signed the server's certificate in store.tls_ca"
    if code(error) in _KEY_CODES:
        return f"check {key}: whether it is this server's, and may do what was asked"
    if code(error) in _GONE_CODES:
        return (
            "the collection was removed or replaced meanwhile: open the store again, and build "
            "what is missing"
        )
    return ""


def _message(content: bytes) -> str:
    """The sentence in a body, which is JSON of Qdrant's form or a text of anybody's."""
    try:
        status = json.loads(content)["status"]
        return str(status["error"])
    except (ValueError, LookupError, TypeError):
        return content.decode("utf-8", "replace")


POLICY = RetryPolicy()
"""When a server is asked again; how often, the settings say."""

CONFLICTS = ("409", "ALREADY_EXISTS")
"""Of what was to be made and is there already."""

_PASSING = ("429", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL")


class PatientClient:
    """A client whose methods are called again while their fault may pass.

    Of several clients, one for each node of a cluster, another is asked at once; a call waits when
    all of them have failed it. ``wait`` is a seam for tests.
    """

    def __init__(
        self,
        clients: Sequence[Any],
        max_retries: int,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clients = clients
        self._max_retries = max_retries
        self._wait = wait
        self._at = 0

    @property
    def bare(self) -> Any:
        """The client that is asked now, without patience."""
        return self._clients[self._at]

    def close(self) -> None:
        """Close all clients."""
        for client in self._clients:
            client.close()

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: self._call(name, given, named)

    def _call(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        n_failed = 0
        told: Exception | None = None
        while True:
            at = self._at
            try:
                return getattr(self._clients[at], name)(*given, **named)
            except Exception as error:
                n_failed += 1
                # What a node answered says more than that another is dead.
                told = error if told is None or code(error) else told
                n_rounds, n_tried = divmod(n_failed, len(self._clients))
                seconds = wait_seconds(error, max(n_rounds, 1))
                if seconds is None:
                    raise
                if n_rounds > self._max_retries:
                    raise told from None
                self._at = (at + 1) % len(self._clients)
                if n_tried == 0:
                    self._wait(seconds)


def wait_seconds(error: Exception, n_failed: int) -> float | None:
    """How long to wait before the next attempt; None for a fault that stays.

    What passes: no connection, one that was cut or timed out, 429, and 5xx. A server's own word
    on the wait counts, within the policy's patience.
    """
    jitter = random.random()
    backoff = POLICY.backoff_seconds(n_failed, jitter)
    if isinstance(error, ResourceExhaustedResponse):
        return POLICY.wait_seconds(n_failed, jitter, float(error.retry_after_s))
    if isinstance(error, QdrantException):  # 429 whose Retry-After is a date
        return backoff
    if isinstance(error, ResponseHandlingException):
        return backoff if isinstance(error.source, httpx.TransportError) else None
    told = code(error)
    return backoff if told in _PASSING or told.startswith("5") else None
