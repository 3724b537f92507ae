"""Limits of calls: how many run at once, and the rates, pauses and outages of an endpoint.

All callers of an endpoint in this process share one ``Limiter``. Attempts and their waits are in
``faults``.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from typing import TypeVar

from raptor_core.errors import EndpointDownError, EndpointError
from raptor_core.models.endpoints.faults import FaultError
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.base import EndpointPart
from raptor_core.tracing import with_context

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_FAILURES = 6
"""Number of failures in a row after which an endpoint counts as down: about a minute of pauses."""
_NAP_SECONDS = 5.0
"""Longest sleep of a waiting call, which then reads the pause again."""


class Limiter:
    """Limiter of the calls to one endpoint; threads share it.

    Calls begin at intervals that keep the rates of the settings. After a refusal for the rate, or
    a second failure in a row, no call begins during a pause. After ``MAX_FAILURES`` failures in a
    row, calls in a pause fail at once, and the first call after the pause is a new attempt.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests_per_minute = self._tokens_per_minute = 0.0
        self._next = 0.0
        self._paused_at = 0.0
        self._n_pauses = 0
        self._n_failed = 0
        self._reason = ""

    def limit(self, endpoint: EndpointPart) -> None:
        """Keep the rates of these settings; the strictest of several holds, and 0 is no limit."""
        with self._lock:
            requests = (self._requests_per_minute, endpoint.requests_per_minute)
            tokens = (self._tokens_per_minute, endpoint.tokens_per_minute)
            self._requests_per_minute = min(filter(None, requests), default=0)
            self._tokens_per_minute = min(filter(None, tokens), default=0)

    def wait(self, tokens: int, stop: threading.Event, label: str) -> float:
        """Wait until a call of at most ``tokens`` tokens may begin, and return its begin.

        Raises:
            EndpointDownError: the endpoint is down.
            EndpointError: ``stop`` was set.
        """
        while True:
            with self._lock:
                now = time.monotonic()
                if now >= self._next:
                    self._next = now + self._interval(tokens)
                    return now
                if self._n_failed >= MAX_FAILURES:
                    raise EndpointDownError(
                        f"{label} was not sent: the endpoint is down. {self._n_failed} attempts in "
                        f"a row failed, the last by: {self._reason}. Check that it runs and that "
                        "its base_url is right, then run again: what is finished is kept"
                    )
                seconds = self._next - now
            if stop.wait(min(seconds, _NAP_SECONDS)):
                raise EndpointError(f"{label} was cancelled before it began")

    def answered(self) -> None:
        """Note an answer, which ends an outage."""
        with self._lock:
            self._n_pauses = self._n_failed = 0

    def failed(self, fault: FaultError, begun: float, policy: RetryPolicy) -> None:
        """Pause all calls after a fault of a call that began at ``begun``, if it asks for that.

        Calls that began before a pause fail for the same reason, so they count as one.
        """
        if fault.meaning not in {"limit", "down"}:
            self.answered()
            return
        with self._lock:
            now, is_new = time.monotonic(), begun >= self._paused_at
            self._n_pauses += is_new
            is_down = fault.meaning == "down"
            self._n_failed = self._n_failed + is_new if is_down else 0
            self._reason = fault.reason
            seconds = fault.retry_after_seconds
            if seconds is None:
                waits = is_new and (not is_down or self._n_failed > 1)
                seconds = policy.backoff_seconds(self._n_pauses, random.random()) if waits else 0.0
            if seconds <= policy.patience_seconds:
                self._paused_at = now
                self._next = max(self._next, now + seconds)

    def _interval(self, tokens: int) -> float:
        requests, per_minute = self._requests_per_minute, self._tokens_per_minute
        by_requests = 60 / requests if requests else 0.0
        return max(by_requests, 60 * tokens / per_minute if per_minute else 0.0)


def run_concurrently(
    work: Callable[[Item, threading.Event], Result], items: Sequence[Item], concurrency: int
) -> Iterator[Result]:
    """Yield the results of ``work(item, stop)`` in the order in which they finish.

    At most ``concurrency`` items run. After a failure no item begins, ``stop`` is set, and the
    results of running items are yielded before the error is raised, since they are paid for. When
    the iterator is closed, ``stop`` is set and the rest is dropped.
    """
    if not items:
        return
    stop = threading.Event()
    failed: list[BaseException] = []

    def run(item: Item) -> Result:
        if stop.is_set():
            raise CancelledError
        try:
            return work(item, stop)
        except BaseException:
            stop.set()  # before this thread takes another item
            raise

    pool = ThreadPoolExecutor(min(concurrency, len(items)), thread_name_prefix="endpoint")
    try:
        traced = with_context(run)
        pending = [pool.submit(traced, item) for item in items]
        for future in as_completed(pending):
            error = future.exception()
            if error is None:
                yield future.result()
            elif not isinstance(error, CancelledError):
                failed.append(error)
        if failed:
            raise failed[0]
    finally:
        failed.clear()  # no cycle of error and frame
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
