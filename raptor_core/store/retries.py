"""Requests to a server, made again where the fault may pass.

All that is asked of a server may be asked twice: points are written and deleted by id, an index or
an alias that is there is set again, a collection that is gone is removed again, and one that is
there when it is made was made by the request before (``Corpus.make``). So a request whose answer
was lost is simply repeated.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from raptor_core.store.reasons import code

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

BASE_SECONDS = 0.5
"""Mean wait before the first repetition is 3/4 of it; each next one doubles."""

MAX_SECONDS = 30.0
PATIENCE_SECONDS = 120.0
"""A server that asks for a longer wait has failed."""

_CONFLICT = 409
_REFUSALS = frozenset({400, 413, 422})
_BUSY = 429
_GRPC_PASSING = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL")


class PatientClient:
    """A QdrantClient whose methods are called again while their fault may pass.

    Of several clients, one for each node of a cluster, another is asked at once; a call waits when
    all of them have failed it. ``wait`` is a seam for tests.
    """

    def __init__(
        self,
        clients: Sequence[QdrantClient],
        max_retries: int,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clients = clients
        self._max_retries = max_retries
        self._wait = wait
        self._at = 0

    @classmethod
    def over(cls, clients: Sequence[QdrantClient], max_retries: int) -> QdrantClient:
        """The clients, patient, as one; it has the same methods."""
        return cast("QdrantClient", cls(clients, max_retries))

    @property
    def bare(self) -> QdrantClient:
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
    on the wait counts, where it is not longer than ``PATIENCE_SECONDS``.
    """
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    backoff = min(MAX_SECONDS, BASE_SECONDS * 2.0 ** min(n_failed - 1, 32))
    backoff *= 0.5 + 0.5 * random.random()
    if isinstance(error, ResourceExhaustedResponse):
        asked = float(error.retry_after_s)
        return max(asked, backoff) if asked <= PATIENCE_SECONDS else None
    if isinstance(error, QdrantException):  # 429 whose Retry-After is a date
        return backoff
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        return backoff if status == _BUSY or status >= 500 else None
    if isinstance(error, ResponseHandlingException):
        return backoff if _is_transport(error.source) else None
    return backoff if code(error) in _GRPC_PASSING else None


def _is_transport(error: Exception) -> bool:
    import httpx

    return isinstance(error, httpx.TransportError)


def is_conflict(error: Exception) -> bool:
    """Whether the server says that what was to be made is there already."""
    from qdrant_client.http.exceptions import UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return error.status_code == _CONFLICT
    return code(error) == "ALREADY_EXISTS"


def is_refusal(error: Exception) -> bool:
    """Whether the server took the request itself for wrong: malformed, or too large."""
    from qdrant_client.http.exceptions import UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return error.status_code in _REFUSALS
    return code(error) in ("INVALID_ARGUMENT", "OUT_OF_RANGE")
