"""Limits of calls: concurrency, and the rates, pauses and outages of an endpoint.

All callers of an endpoint in this process share a ``CallLimiter``. Retries of a single call are in
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
from raptor_core.settings.base import EndpointSettings
from raptor_core.tracing import with_context

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_FAILURES = 6
"""Number of consecutive failures, about a minute, after which an endpoint counts as down."""
_POLL_SECONDS = 5.0
"""Maximum time for which a call sleeps before it checks the pause again."""


class CallLimiter:
    """Limiter of the calls to an endpoint, which threads share.

    Calls begin at intervals that keep the rates of the settings. If the endpoint's rate limit is
    exceeded, or two consecutive calls fail, no call begins for a while. After ``MAX_FAILURES``
    consecutive failures, calls during such a pause fail at once; the first one after it is sent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests_per_minute = self._tokens_per_minute = 0.0
        self._next = 0.0
        self._paused_at = 0.0
        self._n_pauses = 0
        self._n_failed = 0
        self._reason = ""

    def apply_rates(self, endpoint: EndpointSettings) -> None:
        """Apply the rates of these settings, if they are stricter than earlier ones; 0 is none."""
        with self._lock:
            requests = (self._requests_per_minute, endpoint.requests_per_minute)
            tokens = (self._tokens_per_minute, endpoint.tokens_per_minute)
            self._requests_per_minute = min(filter(None, requests), default=0)
            self._tokens_per_minute = min(filter(None, tokens), default=0)

    def wait_for_turn(self, tokens: int, stop: threading.Event, label: str) -> float:
        """Wait until a call of at most ``tokens`` tokens may begin, and return that time.

        Raises:
            EndpointDownError: the endpoint is down.
            EndpointError: ``stop`` was set.
        """
        while True:
            with self._lock:
                now = time.monotonic()
                if now >= self._next:
                    self._next = now + self._interval_seconds(tokens)
                    return now
                if self._n_failed >= MAX_FAILURES:
                    raise EndpointDownError(
                        f"{label} was not sent: the endpoint is down. {self._n_failed} consecutive "
                        f"attempts failed, the last one with: {self._reason}. Check that it runs "
                        "and that its base_url is right, then run again: finished work is kept"
                    )
                seconds = self._next - now
            if stop.wait(min(seconds, _POLL_SECONDS)):
                raise EndpointError(f"{label} was cancelled before it began")

    def record_answer(self) -> None:
        """Record an answer, which ends an outage."""
        with self._lock:
            self._n_pauses = self._n_failed = 0

    def record_fault(self, fault: FaultError, begun: float, policy: RetryPolicy) -> None:
        """Record the fault of a call that began at ``begun``, and pause all calls if necessary.

        Calls that began before a pause failed for the same reason, so they count as one failure.
        """
        if fault.meaning not in {"limit", "down"}:
            self.record_answer()
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

    def _interval_seconds(self, tokens: int) -> float:
        requests, per_minute = self._requests_per_minute, self._tokens_per_minute
        by_requests = 60 / requests if requests else 0.0
        return max(by_requests, 60 * tokens / per_minute if per_minute else 0.0)


def run_concurrently(
    work: Callable[[Item, threading.Event], Result], items: Sequence[Item], concurrency: int
) -> Iterator[Result]:
    """Yield the results of ``work(item, stop)`` in the order in which they finish.

    At most ``concurrency`` items run at the same time. After a failure, ``stop`` is set and no more
    items begin; the results of running items, which are paid for, are yielded before the error is
    raised. If the iterator is closed, ``stop`` is set and remaining results are dropped.
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
        failed.clear()  # breaks the reference cycle of error and frame
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
