"""HTTP client below the vendor's: one origin, bounded answers, one time limit for an attempt.

Its import imports the vendor, so ``dialects.connect`` imports it late. Retries are in ``client``,
the reading of answers in ``answers``.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

from httpx import HTTPTransport
from openai import DefaultHttpxClient

from raptor_core.models.endpoints.faults import FaultError
from raptor_core.retrying import call_within

MAX_ANSWER_BYTES = 8 << 20
"""Maximum size of an answer; a chat answer of 4,000 tokens takes 16 KiB."""

MAX_VECTOR_BYTES = 384 << 10
"""Additional size for each text of an embeddings answer: 16,384 numbers of 24 characters."""

MAX_FILE_BYTES = 512 << 20
"""Maximum size of a batch's file of answers, of which there are 50,000 at most."""

MAX_REDIRECTS = 5

_GRACE_SECONDS = 1.0
"""Addition to the limit of an attempt, so that the vendor's clearer timeouts come first."""


class BoundedClient(DefaultHttpxClient):
    """HTTP client that stays at its endpoint's origin and reads bounded answers.

    The read timeout of a request limits the complete attempt, also if bytes come one by one. No
    answer may be compressed, since a small answer could unpack to any size. ``socket`` is the path
    of a local model's Unix socket, to which all requests go.
    """

    def __init__(self, socket: str = "") -> None:
        local: dict[str, Any] = {"transport": HTTPTransport(uds=socket)} if socket else {}
        super().__init__(headers={"Accept-Encoding": "identity"}, **local)

    def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:  # noqa: ARG002  # the vendor's; answers are read whole
        """Send a request and return its complete answer, or raise FaultError."""
        seconds = request.extensions["timeout"]["read"]
        until = time.monotonic() + seconds + _GRACE_SECONDS
        exchange = partial(self._exchange, request, options, until, seconds)
        return call_within(seconds + _GRACE_SECONDS, "endpoint-attempt", exchange, _late(seconds))

    def _exchange(self, request: Any, options: dict[str, Any], until: float, seconds: float) -> Any:
        options["follow_redirects"] = False
        for _ in range(MAX_REDIRECTS + 1):
            response = super().send(request, stream=True, **options)
            try:
                if response.next_request is None:
                    body = _read(response, _max_bytes(request), until, seconds)
                    return type(response)(
                        response.status_code,
                        headers=response.headers,
                        content=body,
                        request=request,
                        extensions=response.extensions,
                    )
                _check_redirect(request, response)
                request = response.next_request
            finally:
                response.close()
        raise FaultError(
            f"it redirects more than {MAX_REDIRECTS} times; check base_url", retryable=False
        )


def _read(response: Any, limit: int, until: float, seconds: float) -> bytes:
    """Return the body of an answer; raise FaultError if it is too long, late or compressed."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise FaultError(
            "the answer is compressed, though the request forbids that; let the endpoint, or the "
            "proxy in front of it, send answers as they are",
            retryable=False,
        )
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > limit:
            raise FaultError(f"the answer is longer than {limit:,} bytes, and was not read further")
        if time.monotonic() > until:
            raise _late(seconds)
    return bytes(body)


def _check_redirect(request: Any, response: Any) -> None:
    """Raise FaultError for a redirect that leaves the origin, or that drops the request's body."""
    target = response.next_request
    if _origin(target.url) != _origin(request.url):
        raise FaultError(
            f"HTTP {response.status_code} redirects to another server, {_origin(target.url)}, to "
            "which nothing was sent; if that is the endpoint, set base_url to it",
            retryable=False,
            unbilled=True,
            status=response.status_code,
        )
    if target.method != request.method:
        raise FaultError(
            f"HTTP {response.status_code} redirects to {target.url.path}, without the request's "
            "body; set base_url to the address that answers",
            retryable=False,
            unbilled=True,
            status=response.status_code,
        )


def _origin(url: Any) -> str:
    """Return scheme, host and port of a URL; the port only where it is not the scheme's own."""
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"


def _max_bytes(request: Any) -> int:
    """Return the number of bytes that an answer to the request may have."""
    path = request.url.path
    if path.endswith("/embeddings"):
        return MAX_ANSWER_BYTES + len(json.loads(request.content)["input"]) * MAX_VECTOR_BYTES
    return MAX_FILE_BYTES if path.endswith("/content") else MAX_ANSWER_BYTES


def _late(seconds: float) -> FaultError:
    return FaultError(f"no whole answer within {seconds:g} s", is_down=True)
