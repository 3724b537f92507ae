"""HTTP client below the vendor's: one origin, bounded answers, time limits by progress.

Its import imports the vendor, so ``dialects.connect`` imports it late. Retries are in ``client``,
the reading of answers in ``answers``.
"""

import json
import socket
import threading
import time
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from importlib import import_module
from typing import Any

from openai import DefaultHttpxClient

from raptor_core.models.endpoints.addresses import is_nearby
from raptor_core.models.endpoints.events import holds_token, is_stream, join_events
from raptor_core.models.endpoints.faults import FaultError

_HTTP = import_module(DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
"""HTTP library below the vendor: httpx or httpx2, by the vendor's release."""
MAX_ANSWER_BYTES = 8 << 20
"""Maximum size of an answer; a chat answer of 4,000 tokens takes 16 KiB."""
MAX_VECTOR_BYTES = 384 << 10
"""Additional size for each text of an embeddings answer: 16,384 numbers of 24 characters."""
MAX_FILE_BYTES = 512 << 20
"""Maximum size of a batch's file of answers, of which there are 50,000 at most."""
MAX_REDIRECTS = 5
FIRST_FACTOR = 2.0
"""Wait for an answer's first token, divided by the wait for the next one."""
NEARBY_FACTOR = 10.0
"""The same for servers of this machine and its network, which make calls queue."""
TOTAL_FACTOR = 20.0
"""Wait for the complete answer after its first token, divided by the wait for a next one."""
_GRACE_SECONDS = 1.0
"""Addition to a limit, so that the clearer timeouts of the thread that reads come first."""


class _Watch:
    """Time limits of an attempt, which move with its progress; seconds of a monotonic clock.

    A request for an answer of a model waits longer for the first token than for each next one. Any
    different request has one limit for the complete attempt.
    """

    def __init__(self, request: Any, seconds: float) -> None:
        is_paid = request.url.path.endswith(("/chat/completions", "/embeddings"))
        factor = NEARBY_FACTOR if is_nearby(str(request.url)) else FIRST_FACTOR
        self.seconds = seconds
        self.first_seconds = seconds * factor if is_paid else seconds
        self.until = time.monotonic() + self.first_seconds
        self._last = self.until + (TOTAL_FACTOR * seconds if is_paid else 0.0)
        self._n_tokens = 0
        self._stream: Any = None
        self.future: Future[Any] = Future()

    def begin(self, response: Any) -> None:
        """Note the response whose connection ``give_up`` closes, at once if it was called."""
        self._stream = response.extensions.get("network_stream")
        if self.future.done():
            self.give_up()

    def progress(self, chunk: bytes, *, is_stream: bool) -> None:
        """Move the limit after a piece of an answer; signs of life alone do not move it."""
        is_part = bool(chunk.strip()) and not chunk.lstrip().startswith(b":")
        if is_part and (self._n_tokens or not is_stream or holds_token(chunk)):
            self._n_tokens += 1
            self.until = min(self._last, time.monotonic() + self.seconds)

    def give_up(self) -> None:
        """End the attempt, and close its connection, so that the server cancels its work."""
        with suppress(InvalidStateError):
            self.future.set_exception(FaultError("the attempt was given up", retryable=False))
        if self._stream is not None:
            with suppress(OSError, AttributeError):  # closed already, or no socket
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def late(self) -> FaultError:
        """Return the fault of the limit that has passed."""
        reason = f"no answer within {self.first_seconds:g} s"
        if self._n_tokens:
            reason = f"no progress of the answer within {self.seconds:g} s"
        if self._n_tokens and time.monotonic() >= self._last:
            reason = f"no whole answer within {TOTAL_FACTOR * self.seconds:g} s"
        return FaultError(f"{reason}; raise timeout_seconds if the server is slow", is_down=True)


class BoundedClient(DefaultHttpxClient):
    """HTTP client that stays at its endpoint's origin and reads bounded answers.

    The read timeout of a request is the longest time without progress. No answer may be
    compressed, since a small answer could unpack to any size. A streamed answer is returned joined.
    ``local_socket`` is the path of a local model's Unix socket, to which all requests go.
    """

    def __init__(self, local_socket: str = "") -> None:
        local: dict[str, Any] = {}
        if local_socket:
            local["transport"] = _HTTP.HTTPTransport(uds=local_socket)
        super().__init__(headers={"Accept-Encoding": "identity"}, **local)
        self._watches: set[_Watch] = set()

    def close(self) -> None:
        """Give up the open attempts, and close the connections."""
        for watch in list(self._watches):
            watch.give_up()
        super().close()

    def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:  # noqa: ARG002  # the vendor's; answers are read whole
        """Send a request and return its complete answer, or raise FaultError."""
        timeout = request.extensions["timeout"]
        watch = _Watch(request, timeout["read"])
        timeout["read"] = watch.first_seconds
        future = watch.future

        def run() -> None:
            with suppress(InvalidStateError):  # the attempt was given up
                try:
                    future.set_result(self._exchange(request, options, watch))
                except _HTTP.ReadTimeout:
                    future.set_exception(watch.late())
                except BaseException as error:  # noqa: BLE001  # ``send`` raises it
                    future.set_exception(error)

        self._watches.add(watch)
        threading.Thread(target=run, name="endpoint-attempt", daemon=True).start()
        try:
            while not future.done():
                seconds = watch.until + _GRACE_SECONDS - time.monotonic()
                if seconds <= 0:
                    watch.give_up()
                    raise watch.late()
                wait([future], seconds)
            return future.result()
        finally:
            self._watches.discard(watch)

    def _exchange(self, request: Any, options: dict[str, Any], watch: _Watch) -> Any:
        options["follow_redirects"] = False
        for _ in range(MAX_REDIRECTS + 1):
            response = super().send(request, stream=True, **options)
            try:
                watch.begin(response)
                if response.next_request is None:
                    body = _read(response, _max_bytes(request), watch)
                    kept: dict[str, Any] = {"content": body, "headers": response.headers}
                    kept |= {"request": request, "extensions": response.extensions}
                    return type(response)(response.status_code, **kept)
                _check_redirect(request, response)
                request = response.next_request
            finally:
                response.close()
        reason = f"it redirects more than {MAX_REDIRECTS} times; check base_url"
        raise FaultError(reason, retryable=False)


def _read(response: Any, limit: int, watch: _Watch) -> bytes:
    """Return the body of an answer; raise FaultError if it is too long, late or compressed."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise FaultError(
            "the answer is compressed, though the request forbids that; let the endpoint, or the "
            "proxy in front of it, send answers as they are",
            retryable=False,
        )
    content_type = response.headers.get("content-type", "")
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > limit:
            raise FaultError(f"the answer is longer than {limit:,} bytes, and was not read further")
        watch.progress(chunk, is_stream=is_stream(content_type, body[:64]))
        if time.monotonic() > watch.until:
            raise watch.late()
    if response.status_code == 200 and is_stream(content_type, body[:64]):
        return join_events(bytes(body))
    return bytes(body)


def _check_redirect(request: Any, response: Any) -> None:
    """Raise FaultError for a redirect that leaves the origin, or that drops the request's body."""
    target = response.next_request
    if _origin(target.url) != _origin(request.url):
        place = (
            f"another server, {_origin(target.url)}, to which nothing was sent; if that is the "
            "endpoint, set base_url to it"
        )
    elif target.method != request.method:
        place = f"{target.url.path}, without the request's body; set base_url to the final address"
    else:
        return
    status = response.status_code
    reason = f"HTTP {status} redirects to {place}"
    raise FaultError(reason, retryable=False, unbilled=True, status=status)


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
