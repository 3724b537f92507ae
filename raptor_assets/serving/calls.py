"""Calls of the HTTP API: one turn in a thread each, from the parameters to the finished response.

A bounded number of them waits. A call whose client is gone by its turn is not made, and a server
that ends answers 503 to those that still wait. Bounds of connections are in ``connections``.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import partial, wraps
from typing import Any

from anyio import to_thread
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from raptor_core.errors import RaptorError

THREADS = 16
"""Number of calls at a time. Searches share the cores and the store, answers wait for a model."""

MAX_WAITING = 200
"""Number of calls that may wait for a turn; others are refused at once."""

GONE = 499
"""Status of a request whose client is gone, in logs alone."""


LAST_SECONDS = 15
"""Time that running calls have from the signal to end a server on."""

ENDS = "the server ends; send the request again, to its successor"


class BusyError(RaptorError):
    """Too many requests wait, or the server ends."""


class Calls:
    """Turns of the calls of one server."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(THREADS)
        self._waiting: set[asyncio.Future[Any]] = set()
        self._running: set[asyncio.Future[Any]] = set()
        self._is_ending = False

    def end(self) -> None:
        """Refuse the calls that wait, and those that come; end the others in ``LAST_SECONDS``."""
        self._is_ending = True
        _cancel(self._waiting)
        asyncio.get_running_loop().call_later(LAST_SECONDS, _cancel, self._running)

    def endpoint(self, call: Callable[..., Any]) -> Callable[..., Awaitable[Response]]:
        """Return an endpoint with the parameters of a call, which returns a model.

        FastAPI would take a second turn in the threads to make the response of a model, behind all
        calls that wait. So the response is made in the call's own turn.
        """

        def respond(**values: Any) -> Response:
            value = call(**values)
            content = value if isinstance(value, bytes) else to_json(value)
            return Response(content, media_type="application/json")

        @wraps(call)
        async def endpoint(request: Request, **values: Any) -> Response:
            await self._wait_for_turn()
            try:
                if await request.is_disconnected():
                    return Response(status_code=GONE)
                return await self._run(partial(respond, **values))
            finally:
                self._turns.release()

        signature = inspect.signature(call)
        request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in signature.parameters.values()
        ]
        endpoint.__signature__ = signature.replace(  # type: ignore[attr-defined]  # FastAPI reads it
            parameters=[request, *parameters]
        )
        return endpoint

    async def _run(self, respond: Callable[[], Response]) -> Response:
        """Return the response of a call; a server that ends does not wait for its thread."""
        running = asyncio.ensure_future(to_thread.run_sync(respond, abandon_on_cancel=True))
        self._running.add(running)
        try:
            return await running
        except asyncio.CancelledError as error:
            raise BusyError(ENDS) from error
        finally:
            self._running.discard(running)

    async def _wait_for_turn(self) -> None:
        """Wait for a turn; raise BusyError where too many wait, or when the server ends."""
        if self._is_ending or len(self._waiting) >= MAX_WAITING:
            raise BusyError(ENDS if self._is_ending else "too many requests wait; send it again")
        waiting = asyncio.ensure_future(self._turns.acquire())
        self._waiting.add(waiting)
        try:
            await waiting
        except asyncio.CancelledError as error:
            raise BusyError(ENDS) from error
        finally:
            self._waiting.discard(waiting)


def _cancel(futures: Iterable[asyncio.Future[Any]]) -> None:
    for future in tuple(futures):
        future.cancel()
