"""Bounds on the answers of a Qdrant server over HTTP: their origin, size and time.

Retries and the remedies of faults are in ``engines/retries.py``.
"""

import time
from collections.abc import Iterator
from typing import cast

import httpx

MAX_ANSWER_BYTES = 512 << 20
"""Largest size of an answer, ten times that of a page of 1,000 points with long texts."""

MIN_BYTES_PER_SECOND = 16 << 10
"""Least speed of an answer once the timeout of its request is over."""


def bound_answer(response: httpx.Response) -> None:
    """Refuse a compressed answer or another address; limit the size and time of other answers."""
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
    """Body of an answer of at most ``MAX_ANSWER_BYTES`` and at least the least speed."""

    def __init__(self, stream: httpx.SyncByteStream, seconds: float) -> None:
        self._stream = stream
        self._deadline = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        n_bytes = 0
        for chunk in self._stream:
            n_bytes += len(chunk)
            if n_bytes > MAX_ANSWER_BYTES:
                raise ValueError(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
            if time.monotonic() > self._deadline + n_bytes / MIN_BYTES_PER_SECOND:
                raise httpx.ReadTimeout("the answer comes too slowly, and was not waited for")
            yield chunk

    def close(self) -> None:
        """Close the stream, which frees its connection."""
        self._stream.close()


HOOKS = {
    "request": [lambda request: request.headers.update({"accept-encoding": "identity"})],
    "response": [bound_answer],
}
"""Event hooks of an HTTP client. They forbid compression: a small answer could unpack to any size,
and on a reused connection the second piece of a compressed answer comes 40 ms later."""
