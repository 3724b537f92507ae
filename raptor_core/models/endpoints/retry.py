"""Retries: exponential backoff with jitter, and the endpoint's own word where it gives one."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar

from raptor_core.errors import EndpointError

Result = TypeVar("Result")

Wait = Callable[[float], bool]
"""Waits so many seconds; true when the work was cancelled meanwhile."""


@dataclass(eq=False)
class FaultError(Exception):
    """One attempt that gave nothing usable. Never leaves this package.

    Attributes:
        reason: for people.
        retryable: whether it may be different next time.
        retry_after_seconds: what the endpoint asked for.
        too_long: a shorter answer would have been taken.
        unbilled: the endpoint refused before it did any work.
        is_limit: the endpoint turned the call away for its rate.
        is_down: the endpoint was not reached, or cannot answer anybody.
        is_probe: it was tried for all who wait for the endpoint.
        plea: a line to ask the next time with.
        status: of HTTP; None where no answer came.
    """

    reason: str
    _: KW_ONLY
    retryable: bool = True
    retry_after_seconds: float | None = None
    too_long: bool = False
    unbilled: bool = False
    is_limit: bool = False
    is_down: bool = False
    is_probe: bool = False
    plea: str = ""
    status: int | None = None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again.

    Attributes:
        max_retries: attempts after the first.
        base_seconds: mean wait before the first retry is 3/4 of it; each next one doubles.
        max_seconds: no backoff is longer.
        patience_seconds: an endpoint that asks for a longer wait has failed.
    """

    max_retries: int = 4
    base_seconds: float = 0.5
    max_seconds: float = 30.0
    patience_seconds: float = 120.0

    def backoff_seconds(self, n_failed: int, jitter: float) -> float:
        """Wait after the ``n_failed``-th failure; ``jitter`` in [0, 1) spreads the callers."""
        full = min(self.max_seconds, self.base_seconds * 2.0 ** min(n_failed - 1, 32))
        return full * (0.5 + 0.5 * jitter)


@dataclass(frozen=True, slots=True)
class Retrier:
    """Runs an attempt until it succeeds, fails for good, or the policy ends it.

    ``wait`` and ``jitter`` are seams for tests.
    """

    policy: RetryPolicy
    wait: Wait | None = None
    jitter: Callable[[], float] = random.random

    def run(
        self,
        attempt: Callable[[], Result],
        *,
        what: str,
        stop: threading.Event | None = None,
        on_retry: Callable[[FaultError], None] = lambda _fault: None,
    ) -> Result:
        """The result of the first attempt that succeeds.

        ``what`` names the call in errors. Once ``stop`` is set, no attempt is begun.

        Raises:
            EndpointError: the last fault's reason and the number of attempts.
        """
        wait = self.wait
        if wait is None:
            wait = stop.wait if stop is not None else sleep
        n_failed = 0
        while True:
            if stop is not None and stop.is_set():
                raise EndpointError(f"{what} was cancelled")
            try:
                return attempt()
            except FaultError as fault:
                failed = fault
            if failed.is_probe:
                on_retry(failed)
                continue  # it was tried for all; the gate waits, and bounds how often
            n_failed += 1
            seconds = self._next_wait(failed, n_failed)
            if seconds is None:
                times = "attempt" if n_failed == 1 else "attempts"
                message = f"{what} failed after {n_failed} {times}: {failed.reason}"
                raise EndpointError(message, comes_again=not failed.retryable)
            on_retry(failed)
            if wait(seconds):
                raise EndpointError(f"{what} was cancelled after: {failed.reason}")

    def _next_wait(self, fault: FaultError, n_failed: int) -> float | None:
        """Seconds to wait before the next attempt, or None where there is none."""
        if not fault.retryable or n_failed > self.policy.max_retries:
            return None
        backoff = self.policy.backoff_seconds(n_failed, self.jitter())
        asked = fault.retry_after_seconds
        if asked is None:
            return 0.0 if fault.too_long else backoff
        if asked > self.policy.patience_seconds:
            return None
        return asked + min(backoff, 0.1 * asked)  # never earlier, and not all at once


def sleep(seconds: float) -> bool:
    """Waits; nobody can cancel it."""
    time.sleep(seconds)
    return False
