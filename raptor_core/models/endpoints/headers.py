"""What an endpoint says of its rate limits in the headers of an answer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

Kind = Literal["requests", "tokens"]
KINDS: tuple[Kind, ...] = ("requests", "tokens")

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a limit, and the seconds until all of it is there again."""

    remaining: float
    reset_seconds: float


def read_allowances(headers: Mapping[str, str]) -> dict[Kind, Allowance]:
    """By kind, from ``x-ratelimit-remaining-*`` and ``x-ratelimit-reset-*``.

    A kind of which either is missing or cannot be read is left out.
    """
    allowances: dict[Kind, Allowance] = {}
    for kind in KINDS:
        remaining = number(headers.get(f"x-ratelimit-remaining-{kind}"))
        reset = duration_seconds(headers.get(f"x-ratelimit-reset-{kind}"))
        if remaining is not None and reset is not None:
            allowances[kind] = Allowance(max(0.0, remaining), reset)
    return allowances


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the endpoint asks to wait, from ``retry-after-ms`` or ``retry-after``.

    ``now`` is the time in seconds since the epoch, against which a date is read. None where
    the header is missing or cannot be read.
    """
    milliseconds = number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = number(value)
    if seconds is not None:
        return max(0.0, seconds)
    if not value:
        return None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def duration_seconds(value: str | None) -> float | None:
    """Seconds of "6m0s", "17ms" or "12"; None for anything else."""
    plain = number(value)
    if plain is not None:
        return max(0.0, plain)
    parts = _DURATION.findall(value or "")
    if not parts or "".join(amount + unit for amount, unit in parts) != value:
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in parts)


def number(value: str | None) -> float | None:
    """A finite number, or None."""
    try:
        parsed = float(value or "nan")
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None
