"""What learning a spacing from refusals is worth, beside pauses alone.

An endpoint takes so many calls in a window of time and turns the others away after 0.1 s, with or
without saying when to come back. Both clients pause when they are refused; the baseline, `pauses`,
then begins at its full concurrency again. A call that is refused five times is lost.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from measuring import print_head, print_row

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints import pacing
from raptor_core.models.endpoints.faults import FaultError, Retrier
from raptor_core.models.endpoints.gate import Gate
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import EndpointPart

REFUSAL_SECONDS, ANSWER_SECONDS = 0.1, 0.05
LONGEST = {"pauses": 0.0, "learnt": 10.0}
"""Seconds between two calls that a client learns at the most."""

CASES = ((8, 40, 2, 1.0), (32, 120, 10, 0.5), (64, 120, 8, 1.0))
"""Calls at once, calls, and what the endpoint takes in a window of so many seconds."""


class LimitedEndpoint:
    """Takes ``n_calls`` in each window; ``tells`` when the next one begins."""

    def __init__(self, n_calls: int, window_seconds: float, *, tells: bool) -> None:
        self._n_calls, self._window, self._tells = n_calls, window_seconds, tells
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._taken: dict[int, int] = {}
        self.n_requests = 0

    def call(self) -> None:
        """One request.

        Raises:
            FaultError: it is turned away.
        """
        passed = time.monotonic() - self._started
        number = int(passed / self._window)
        with self._lock:
            self.n_requests += 1
            self._taken[number] = self._taken.get(number, 0) + 1
            is_taken = self._taken[number] <= self._n_calls
        time.sleep(ANSWER_SECONDS if is_taken else REFUSAL_SECONDS)
        if not is_taken:
            left = (number + 1) * self._window - passed if self._tells else None
            raise FaultError("429", unbilled=True, is_limit=True, retry_after_seconds=left)


def lost_calls(limited: LimitedEndpoint, concurrency: int, n_calls: int) -> int:
    """Send the calls through a gate of their own; how many failed for good."""
    endpoint = EndpointPart(base_url="http://endpoint")
    gate, retrier = Gate(endpoint), Retrier(RetryPolicy())

    def attempt() -> None:
        with gate.turn(endpoint, 100) as answered:
            limited.call()
            answered({})

    def is_lost(_number: int) -> bool:
        try:
            retrier.run(attempt, what="call")
        except EndpointError:
            return True
        return False

    with ThreadPoolExecutor(concurrency) as pool:
        return sum(pool.map(is_lost, range(n_calls)))


def main() -> None:
    told = ("at once", "endpoint takes", "says when", "client", "lost", "requests", "s", "least")
    print_head(*told)
    for concurrency, n_calls, per_window, window in CASES:
        for tells in (True, False):
            for client in ("pauses", "learnt"):
                limited = LimitedEndpoint(per_window, window, tells=tells)
                started = time.monotonic()
                with mock.patch.object(pacing, "_MAX_LEARNT_SECONDS", LONGEST[client]):
                    lost = lost_calls(limited, concurrency, n_calls)
                seconds = time.monotonic() - started
                limit, says = f"{per_window} in {window:g} s", "yes" if tells else "no"
                counts = f"{lost} of {n_calls}", limited.n_requests, f"{seconds:.1f}"
                least = f"{n_calls / per_window * window:.1f}"
                print_row(concurrency, limit, says, client, *counts, least)


if __name__ == "__main__":
    main()
