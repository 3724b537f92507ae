"""Bounds on what a Qdrant server answers over HTTP: it comes from that server, and it ends.

Retries and messages are not here: see ``engines.retries``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import cast

import httpx

MAX_ANSWER_BYTES = 512 << 20
"""Bound of one answer; a page of 1,000 points with long texts takes a tenth of it."""

MIN_BYTES_PER_SECOND = 16 << 10
"""An answer that comes slower than this, after the time of a request is over, does not go on."""


def bound_answer(response: httpx.Response) -> None:
    """Have an answer end at its bounds.

    Raises:
        ValueError: it redirects to another address, or is compressed.
    """
    if response.has_redirect_location:
        target = response.request.url.join(response.headers["location"])
        raise ValueError(
            f"HTTP {response.status_code} redirects to {target.scheme}://{target.netloc.decode()}, "
            "to which nothing was sent; if Qdrant is there, set store.url to it"
        )
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError(
            "the answer is compressed, though the request forbids that; let the server, or the "
            "proxy in front of it, send answers as they are"
        )
    stream = cast("httpx.SyncByteStream", response.stream)
    response.stream = _BoundedStream(stream, response.request.extensions["timeout"]["read"])


class _BoundedStream(httpx.SyncByteStream):
    """Body of an answer up to ``MAX_ANSWER_BYTES``, for as long as it comes fast enough."""

    def __init__(self, stream: httpx.SyncByteStream, seconds: float) -> None:
        self._stream = stream
        self._until = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        n_bytes = 0
        for chunk in self._stream:
            n_bytes += len(chunk)
            if n_bytes > MAX_ANSWER_BYTES:
                raise ValueError(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
            if time.monotonic() > self._until + n_bytes / MIN_BYTES_PER_SECOND:
                raise httpx.ReadTimeout("the answer comes too slowly, and was not waited for")
            yield chunk

    def close(self) -> None:
        """Close the connection, or give it back."""
        self._stream.close()


HOOKS = {
    "request": [lambda request: request.headers.update({"accept-encoding": "identity"})],
    "response": [bound_answer],
}
"""Event hooks of an HTTP client. Its answers are not compressed: a small one could unpack to any
size, and over a connection that is kept a compressed one waits 40 ms for its second piece."""
