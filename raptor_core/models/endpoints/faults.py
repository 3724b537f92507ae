"""Faults of attempts, and the retries after them.

``CallFaultError`` is the fault of one call; every other ``FaultError`` is the endpoint's: an
outage, a key, money. ``messages`` makes faults of errors, ``answers`` of answers.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeVar

from raptor_core.errors import AnswerError, EndpointError
from raptor_core.retrying import RetryPolicy

Result = TypeVar("Result")
Stop = threading.Event | None

CallFault = Literal[
    "filtered", "refused", "cut off", "empty", "degenerate", "context", "batch", "unfit"
]
"""Kind of a call's own fault.

"context" is a call too long for the model, "batch" too many texts at once, "unfit" a check's word.
"""

Meaning = Literal["retry", "limit", "down", "loading", "stop"]
"""Meaning of a fault for the next attempt.

"retry" allows another attempt. "limit" (the rate was refused) and "down" (no call gets an answer)
let all calls pause before it. "loading" waits for the model, and "stop" allows none.
"""

LOADING_SECONDS = 600.0
"""Longest wait for an endpoint that says that it loads its model."""
LOADING_POLL_SECONDS = 2.0
"""Interval between two attempts at an endpoint that loads its model."""


@dataclass(eq=False)
class FaultError(Exception):
    """Fault of an attempt without a usable answer, raised by the client or by a check.

    Attributes:
        retry_after_seconds: wait that the endpoint demands.
        too_long: a shorter answer would be accepted.
        unbilled: the endpoint refused before it did any work.
        plea: line that the next attempt adds to the prompt.
        field: field of the request that the endpoint does not know, or "".
    """

    reason: str
    _: KW_ONLY
    meaning: Meaning = "retry"
    retry_after_seconds: float | None = None
    too_long: bool = False
    unbilled: bool = False
    plea: str = ""
    field: str = ""


@dataclass(eq=False)
class CallFaultError(FaultError):
    """Fault of the call itself: the endpoint works, and another call may get an answer.

    Attributes:
        kind: what is wrong with the call or its answer.
        text: readable part of an answer that was cut off; "" for none.
    """

    kind: CallFault = "unfit"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Retrier:
    """Loop over attempts until one succeeds, fails for good, or the policy ends it.

    Tests replace ``wait``, which returns whether the work was cancelled, and ``jitter``.
    """

    policy: RetryPolicy
    wait: Callable[[float], bool] | None = None
    jitter: Callable[[], float] = random.random

    def run(
        self,
        attempt: Callable[[], Result],
        *,
        label: str,
        stop: Stop = None,
        on_retry: Callable[[FaultError], object] = lambda _fault: None,
    ) -> Result:
        """Return the result of the first attempt that succeeds; ``label`` names it in errors.

        An EndpointError is raised if every attempt failed, or if ``stop`` is set.
        """
        stop = stop or threading.Event()
        wait = stop.wait if self.wait is None else self.wait
        n_failed, loading_seconds = 0, 0.0
        while True:
            if stop.is_set():
                raise EndpointError(f"{label} was cancelled")
            try:
                return attempt()
            except FaultError as fault:
                failed = fault
            if failed.meaning == "loading" and loading_seconds < LOADING_SECONDS:
                seconds = max(LOADING_POLL_SECONDS, failed.retry_after_seconds or 0.0)
                loading_seconds += seconds
            else:
                n_failed += 1
                seconds = self._next_wait(failed, n_failed, label)
            on_retry(failed)
            if wait(seconds):
                raise EndpointError(f"{label} was cancelled after: {failed.reason}")

    def _next_wait(self, fault: FaultError, n_failed: int, label: str) -> float:
        """Return the seconds until the next attempt; raise EndpointError if there is none."""
        seconds, is_final = None, fault.meaning == "stop"
        if not is_final and n_failed <= self.policy.max_retries:
            demanded = fault.retry_after_seconds
            seconds = self.policy.wait_seconds(n_failed, self.jitter(), demanded)
        if seconds is None:
            times = "attempt" if n_failed == 1 else "attempts"
            message = f"{label} failed after {n_failed} {times}: {fault.reason}"
            if isinstance(fault, CallFaultError):
                raise AnswerError(message, fault.kind, fault.text, is_permanent=is_final)
            raise EndpointError(message, is_permanent=is_final)
        return 0.0 if isinstance(fault, CallFaultError) else seconds


MAX_DETAIL_CHARS = 240


def scrub(text: str, secret: str, max_chars: int = MAX_DETAIL_CHARS) -> str:
    """Return ``text`` on one line, shortened, without the secret."""
    line = " ".join(text.replace(secret, "[key]").split()) if secret else " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[:max_chars]}…"
