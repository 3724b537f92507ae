"""Faults of attempts: their reasons in plain words, and the retries after them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from json import JSONDecodeError
from typing import TYPE_CHECKING, Literal, TypeVar

from raptor_core.errors import AnswerError, EndpointError
from raptor_core.models.endpoints.pacing import retry_after_seconds
from raptor_core.redaction import proxy_hint
from raptor_core.retrying import RetryPolicy

if TYPE_CHECKING:
    from openai import APIStatusError

Result = TypeVar("Result")

CallFault = Literal["filtered", "refused", "cut off", "empty", "degenerate", "context", "unfit"]
"""Kind of a call's own fault; "context" is a call too long for the model, "unfit" is of a check."""


@dataclass(eq=False)
class FaultError(Exception):
    """Fault of an attempt without a usable answer, raised by the client or by a check.

    Attributes:
        retry_after_seconds: wait that the endpoint demands.
        too_long: a shorter answer would be accepted.
        unbilled: the endpoint refused before it did any work.
        is_limit: the endpoint refused the call for its rate.
        is_down: the endpoint was not reached, or cannot answer any call.
        is_probe: the attempt was a probe, for which all calls wait.
        plea: line that the next attempt adds to the prompt.
        status: HTTP status; None without an answer.
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
        stop: threading.Event | None = None,
        on_retry: Callable[[FaultError], object] = lambda _fault: None,
    ) -> Result:
        """Return the result of the first attempt that succeeds; ``label`` names it in errors.

        Raises:
            EndpointError: every attempt failed, or ``stop`` is set.
        """
        stop = stop or threading.Event()
        wait = stop.wait if self.wait is None else self.wait
        n_failed = 0
        while True:
            if stop.is_set():
                raise EndpointError(f"{label} was cancelled")
            try:
                return attempt()
            except FaultError as fault:
                failed = fault
            if failed.is_probe:
                on_retry(failed)
                continue  # the gate waits, and limits the number of probes
            n_failed += 1
            seconds = self._next_wait(failed, n_failed)
            if seconds is None:
                times = "attempt" if n_failed == 1 else "attempts"
                message = f"{label} failed after {n_failed} {times}: {failed.reason}"
                comes_again = not failed.retryable
                if isinstance(failed, CallFaultError):
                    raise AnswerError(message, failed.kind, failed.text, comes_again=comes_again)
                raise EndpointError(message, comes_again=comes_again)
            on_retry(failed)
            if wait(seconds):
                raise EndpointError(f"{label} was cancelled after: {failed.reason}")

    def _next_wait(self, fault: FaultError, n_failed: int) -> float | None:
        """Return the seconds until the next attempt, or None if there is none."""
        if not fault.retryable or n_failed > self.policy.max_retries:
            return None
        demanded = fault.retry_after_seconds
        if demanded is None and fault.too_long:
            return 0.0
        return self.policy.wait_seconds(n_failed, self.jitter(), demanded)


_RETRYABLE = frozenset({408, 409, 425, 429})
_FOR_GOOD = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})  # of httpx
_REMEDIES = {
    400: "check the model's name and limits",
    401: "check the key",
    403: "check that the key may use this model",
    404: "check base_url and the model's name",
}
_HINTS = {
    "max_completion_tokens": "max_tokens_field",
    "max_tokens": "max_tokens_field",
    "temperature": "sends_temperature = false",
    "response_format": "json_format",
    "json_schema": "json_format",
    "encoding_format": "encoding",
    "api-version": "api_version",
}
"""Setting that corrects a refused field, see docs/endpoints.md."""
_MAX_DETAIL_CHARS = 240
_LIST_SCOPE = "api.model.read"


def fault_of(error: Exception, timeout_seconds: float, secret: str) -> FaultError:
    """Return the fault behind an error of the vendor's client, without ``secret`` and request."""
    import openai

    cause = error.__cause__
    for fault in (error, cause):  # some versions of the client wrap errors of its transport
        if isinstance(fault, FaultError):
            return replace(fault, reason=fault.reason.replace(secret, "[key]"))
    if not isinstance(error, openai.APIError):
        detail = error.msg if isinstance(error, JSONDecodeError) else type(error).__name__
        return FaultError(f"the answer is no JSON ({scrub(detail, secret)})")
    unsent = type(cause).__name__ in _UNSENT
    if isinstance(error, openai.APITimeoutError):
        reason = f"no answer within {timeout_seconds:g} s"
        return FaultError(reason, unbilled=unsent, is_down=True)
    if isinstance(error, openai.APIConnectionError):
        detail = f"{type(cause).__name__}: {cause}" if cause is not None else error.message
        hint = proxy_hint(str(error.request.url))
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            hint += "; let SSL_CERT_FILE name the certificates of the authority that signed it"
        reason = f"the connection failed ({scrub(detail, secret)}){hint}"
        return FaultError(reason, unbilled=unsent, is_down=True)
    if isinstance(error, openai.APIStatusError):
        return _status_fault(error, secret)
    return FaultError(f"the answer is malformed ({scrub(error.message, secret)})")


def is_refusal(fault: FaultError, model: str) -> bool:
    """Return whether a look-up of a model was refused, for the key or for the model's name.

    OpenAI's scopes may allow calls and no look-ups. An address without look-ups answers 404, too,
    without the name.
    """
    if fault.status in {401, 403}:
        return _LIST_SCOPE not in fault.reason
    return fault.status == 404 and model in fault.reason


def scrub(text: str, secret: str) -> str:
    """Return ``text`` on one line, shortened, without the secret."""
    line = " ".join(text.replace(secret, "[key]").split()) if secret else " ".join(text.split())
    return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"


def _status_fault(error: APIStatusError, secret: str) -> FaultError:
    status = error.status_code
    retryable = (status in _RETRYABLE or status >= 500) and error.code not in _FOR_GOOD
    detail = _detail(error)
    remedy = _REMEDIES.get(status, "")
    if status in {400, 404, 422}:
        hints = (hint for word, hint in _HINTS.items() if word in detail)
        remedy = next((f"set {hint} for it in the settings" for hint in hints), remedy)
    return FaultError(
        f"HTTP {status} ({scrub(detail, secret)}){f'; {remedy}' if remedy else ''}",
        retryable=retryable,
        retry_after_seconds=retry_after_seconds(error.response.headers, time.time()),
        unbilled=True,
        is_limit=status == 429 and retryable,
        is_down=status >= 500,
        status=status,
    )


def _detail(error: APIStatusError) -> str:
    """Return the endpoint's own message, in OpenAI's form or FastAPI's, or the body itself."""
    body = error.body
    if isinstance(body, Mapping):
        body = body.get("message") or body.get("detail")
    return str(body or error.code or "no message")
