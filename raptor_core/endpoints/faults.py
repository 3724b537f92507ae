"""What an error of the openai client means: a reason for people, and whether to try again."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from raptor_core.endpoints.retry import FaultError

if TYPE_CHECKING:
    from openai import APIError, APIStatusError

_RETRYABLE = frozenset({408, 409, 425, 429})
_FOR_GOOD = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})  # of httpx
_REMEDIES = {
    400: "check the model's name and limits",
    401: "check the key",
    403: "check that the key may use this model",
    404: "check base_url and the model's name",
}
_MAX_DETAIL_CHARS = 240


def fault_of(error: APIError, *, timeout_seconds: float, secret: str) -> FaultError:
    """The fault behind an error of the client; ``secret`` never shows in it.

    The fault keeps no reference to the error, whose request holds the key.
    """
    import openai

    cause = error.__cause__
    unsent = type(cause).__name__ in _UNSENT
    if isinstance(error, openai.APITimeoutError):
        return FaultError(f"no answer within {timeout_seconds:g} s", unbilled=unsent)
    if isinstance(error, openai.APIConnectionError):
        detail = f"{type(cause).__name__}: {cause}" if cause is not None else error.message
        return FaultError(f"the connection failed ({scrub(detail, secret)})", unbilled=unsent)
    if isinstance(error, openai.APIStatusError):
        return _status_fault(error, secret)
    return FaultError(f"the answer is malformed ({scrub(error.message, secret)})")


def scrub(text: str, secret: str) -> str:
    """``text`` on one line, shortened, without the secret."""
    line = " ".join(text.replace(secret, "[key]").split()) if secret else " ".join(text.split())
    return line if len(line) <= _MAX_DETAIL_CHARS else f"{line[:_MAX_DETAIL_CHARS]}…"


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the endpoint asks to wait, from ``retry-after-ms`` or ``retry-after``.

    ``now`` is the time in seconds since the epoch, against which a date is read. None where
    the header is missing or cannot be read.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    if not value:
        return None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def _status_fault(error: APIStatusError, secret: str) -> FaultError:
    status = error.status_code
    retryable = (status in _RETRYABLE or status >= 500) and error.code not in _FOR_GOOD
    remedy = f"; {_REMEDIES[status]}" if status in _REMEDIES else ""
    return FaultError(
        f"HTTP {status} ({scrub(_detail(error), secret)}){remedy}",
        retryable=retryable,
        retry_after_seconds=retry_after_seconds(error.response.headers, time.time()),
        unbilled=True,
    )


def _detail(error: APIStatusError) -> str:
    """The endpoint's own message, or what it sent in its place."""
    body = error.body
    message = body.get("message") if isinstance(body, Mapping) else body
    return str(message or error.code or "no message")


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
