"""Answers that are sent while they are written, as server-sent events.

A model writes in a thread. If the client disconnects, the thread stops, so that another request can
start.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any, Generic, TypeVar

from anyio import CapacityLimiter, to_thread
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

Result = TypeVar("Result")
Work = Callable[[Callable[[str], None], threading.Event], Result]
"""Work that passes on pieces of text, stops early once the event is set, and returns a result."""


class AnswerThreads(Generic[Result]):
    """Threads in which models write, at most ``limit`` at a time."""

    def __init__(self, limit: int) -> None:
        self._limiter = CapacityLimiter(limit)

    async def stream(self, work: Work[Result]) -> AsyncGenerator[str | Result, None]:
        """Yield the pieces of text that ``work`` passes on, then its result."""
        loop, stop = asyncio.get_running_loop(), threading.Event()
        items: asyncio.Queue[tuple[str | Result | None, Exception | None]] = asyncio.Queue()

        def show(piece: str) -> None:
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(items.put_nowait, (piece, None))

        async def run() -> None:
            options: Any = {"abandon_on_cancel": True, "limiter": self._limiter}
            try:
                items.put_nowait((await to_thread.run_sync(work, show, stop, **options), None))
            except Exception as error:  # noqa: BLE001  # the consumer raises it
                items.put_nowait((None, error))

        task = asyncio.ensure_future(run())
        try:
            is_over = False
            while not is_over:
                item, error = await items.get()
                if error is not None:
                    raise error
                is_over = not isinstance(item, str)
                yield item  # type: ignore[misc]  # no error, so an item
        finally:
            stop.set()
            task.cancel()

    async def run(self, work: Work[Result]) -> Result:
        """Return the result of ``work``."""
        async with aclosing(self.stream(work)) as items:
            async for item in items:
                if not isinstance(item, str):
                    return item
        raise AssertionError("a stream ends with its result")


class ClientLeftError(Exception):
    """The client disconnected before it got the answer."""


async def cancel_on_disconnect(request: Request, answering: Coroutine[Any, Any, Result]) -> Result:
    """Return a result, or cancel its computation and raise ClientLeftError on a disconnect."""
    answer = asyncio.ensure_future(answering)
    departure = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({answer, departure}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientLeftError
        return answer.result()
    finally:
        answer.cancel()
        departure.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Response of server-sent events; it closes its source when the client disconnects."""

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        headers = {
            "Cache-Control": "no-cache",
            "X-Accel-Buffering": "no",
        }  # no buffering
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


def encode_event(value: object, name: str = "") -> bytes:
    """Return a server-sent event with a value as JSON."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + to_json(value) + b"\n\n"
