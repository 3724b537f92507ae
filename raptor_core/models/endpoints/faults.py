"""Faults, which are failures of single attempts, and the loop that retries after them.

``CallFaultError`` concerns only one call; every other ``FaultError`` concerns the endpoint: an
outage, a key, money. ``messages`` derives faults from errors, ``answers`` from answers.
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
"""Kind of a fault that concerns only one call.

"context": the call is too long for the model. "batch": it has too many texts. "unfit": a check
rejected the answer.
"""

Meaning = Literal["retry", "limit", "down", "loading", "stop"]
"""What a fault means for the next attempt.

"retry": try again. "limit" (the rate limit was exceeded) and "down" (no call gets an answer): pause
all calls, and then try again. "loading": wait for the model. "stop": do not try again.
"""

LOADING_SECONDS = 600.0
"""Maximum wait for an endpoint that is loading its model."""
LOADING_POLL_SECONDS = 2.0
"""Interval between attempts at an endpoint that is loading its model."""


@dataclass(eq=False)
class FaultError(Exception):
    """An attempt gave no usable answer.

    Attributes:
        reason: the reason in words.
        meaning: what it means for the next attempt.
        retry_after_seconds: wait that the endpoint requests.
        is_too_long: a shorter answer would be accepted.
        is_unbilled: the endpoint rejected the request before it did any work.
        retry_line: line that the next attempt adds to the prompt, or "".
        rejected_field: field of the request that the endpoint does not accept, or "".
    """

    reason: str
    _: KW_ONLY
    meaning: Meaning = "retry"
    retry_after_seconds: float | None = None
    is_too_long: bool = False
    is_unbilled: bool = False
    retry_line: str = ""
    rejected_field: str = ""


@dataclass(eq=False)
class CallFaultError(FaultError):
    """A fault that concerns only this call: the endpoint works, and other calls may succeed.

    Attributes:
        kind: what is wrong with the call or its answer.
        partial_text: readable part of an answer that was cut off, or "".
    """

    kind: CallFault = "unfit"
    partial_text: str = ""


def retry(
    attempt: Callable[[], Result],
    policy: RetryPolicy,
    label: str,
    stop: Stop = None,
    on_retry: Callable[[FaultError], object] = lambda _fault: None,
) -> Result:
    """Return the result of the first attempt that succeeds; errors begin with ``label``.

    Raises:
        EndpointError: every attempt failed, another would be pointless, or ``stop`` is set.
    """
    stop = stop or threading.Event()
    n_failed, loading_seconds = 0, 0.0
    while not stop.is_set():
        try:
            return attempt()
        except FaultError as fault:
            failed = fault
        if failed.meaning == "loading" and loading_seconds < LOADING_SECONDS:
            seconds = max(LOADING_POLL_SECONDS, failed.retry_after_seconds or 0.0)
            loading_seconds += seconds
        else:
            n_failed += 1
            seconds = _next_wait_seconds(failed, n_failed, policy, label)
        on_retry(failed)
        if stop.wait(seconds):
            raise EndpointError(f"{label} was cancelled after: {failed.reason}")
    raise EndpointError(f"{label} was cancelled")


def _next_wait_seconds(fault: FaultError, n_failed: int, policy: RetryPolicy, label: str) -> float:
    """Return the seconds until the next attempt, or raise EndpointError if there is none."""
    seconds, is_final = None, fault.meaning == "stop"
    if not is_final and n_failed <= policy.max_retries:
        seconds = policy.wait_seconds(n_failed, random.random(), fault.retry_after_seconds)
    if seconds is None:
        times = "attempt" if n_failed == 1 else "attempts"
        message = f"{label} failed after {n_failed} {times}: {fault.reason}"
        if isinstance(fault, CallFaultError):
            raise AnswerError(message, fault.kind, fault.partial_text, is_permanent=is_final)
        raise EndpointError(message, is_permanent=is_final)
    return 0.0 if isinstance(fault, CallFaultError) else seconds


MAX_DETAIL_CHARS = 240


def hide_secret_and_shorten(text: str, secret: str, max_chars: int = MAX_DETAIL_CHARS) -> str:
    """Return ``text`` in one line, shortened, with the secret replaced."""
    line = " ".join(text.replace(secret, "[key]").split()) if secret else " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[:max_chars]}…"
