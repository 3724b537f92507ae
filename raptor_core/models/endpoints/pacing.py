"""Pace of calls: consecutive slots, pauses that move all slots, and limits from headers."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

Kind = Literal["requests", "tokens"]
KINDS: tuple[Kind, ...] = ("requests", "tokens")

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)")


@dataclass(frozen=True, slots=True)
class Allowance:
    """Rest of a limit, and the seconds until the limit is reset."""

    remaining: float
    reset_seconds: float


def read_allowances(headers: Mapping[str, str]) -> dict[Kind, Allowance]:
    """Return allowances by kind, from ``x-ratelimit-remaining-*`` and ``-reset-*`` together."""
    allowances: dict[Kind, Allowance] = {}
    for kind in KINDS:
        remaining = number(headers.get(f"x-ratelimit-remaining-{kind}"))
        reset = duration_seconds(headers.get(f"x-ratelimit-reset-{kind}"))
        if remaining is not None and reset is not None:
            allowances[kind] = Allowance(max(0.0, remaining), reset)
    return allowances


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait that an endpoint demands, or None; ``now`` is in seconds since the epoch."""
    milliseconds = number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - now)
    except ValueError:
        return None


def duration_seconds(value: str | None) -> float | None:
    """Return the seconds of "6m0s", "17ms" or "12", or None for anything else."""
    plain = number(value)
    if plain is not None:
        return max(0.0, plain)
    parts = _DURATION.findall(value or "")
    if not parts or "".join(amount + unit for amount, unit in parts) != value:
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in parts)


def number(value: str | None) -> float | None:
    """Return a finite number, or None."""
    try:
        parsed = float(value or "nan")
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


_MINUTE_SECONDS = 60.6
_FIRST_LEARNT = 4.0
"""Ratio of the refused calls to those that the first spacing lets begin during a pause."""
_MIN_LEARNT_SECONDS = 0.005
_MAX_LEARNT_SECONDS = 10.0
_RECOVERY = 0.98
"""Factor of the learnt spacing after each answered call."""


class _Bound(NamedTuple):
    """Limit of the sum of sent units until the reset."""

    sent: float
    resets_at: float


@dataclass
class _Wave:
    """Numbers of calls that began between two pauses, and of refused ones."""

    n_begun: int = 0
    n_limited: int = 0
    was_too_fast: bool = False


@dataclass(frozen=True)
class Begun:
    """Record of a sent call: the sum of sent units at that time, and its wave."""

    sent: Mapping[Kind, float]
    wave: _Wave


@dataclass
class Pace:
    """Consecutive slots for calls.

    A slot of ``n`` tokens lasts ``60 / requests_per_minute`` or ``60 n / tokens_per_minute``
    seconds, the longer of both, and 1 % more for the jitter of the network. So the limits hold in
    any minute, but for the tokens of one call. A pause moves all slots. If an endpoint refuses
    most calls, the pace learns a spacing, which declines with every answer. Times are seconds of a
    monotonic clock. The owner locks.
    """

    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    learnt_seconds: float = 0.0
    _next_slot: float = 0.0
    _moved: float = 0.0
    _paused_until: float = 0.0
    _bounds: dict[Kind, _Bound] = field(default_factory=dict)
    _sent: dict[Kind, float] = field(default_factory=lambda: {"requests": 0.0, "tokens": 0.0})
    _wave: _Wave = field(default_factory=_Wave)

    def limit(self, requests_per_minute: float, tokens_per_minute: float) -> None:
        """Add limits, of which the strictest hold; 0 is no limit."""
        self.requests_per_minute = _strictest(self.requests_per_minute, requests_per_minute)
        self.tokens_per_minute = _strictest(self.tokens_per_minute, tokens_per_minute)

    def slot(self, tokens: int, now: float) -> float:
        """Return the next slot for a call, which ``wait_seconds`` takes."""
        still = max(now, self._paused_until) - self._moved
        begins = max(still, self._next_slot)
        self._next_slot = begins + self._lasts(tokens)
        return begins

    def wait_seconds(self, slot: float, now: float) -> float:
        """Return the seconds until the slot begins and the pause is over."""
        return max(slot + self._moved, self._paused_until) - now

    def pause(self, seconds: float, now: float) -> None:
        """Delay all calls by so many seconds."""
        until = max(self._paused_until, now + seconds)
        self._moved += until - max(now, self._paused_until)
        self._paused_until = until

    def exhausted_seconds(self, tokens: int, now: float) -> float:
        """Return the seconds until the endpoint's own limits allow the call."""
        costs: dict[Kind, float] = {"requests": 1.0, "tokens": float(tokens)}
        waits = [
            bound.resets_at - now
            for kind, bound in self._bounds.items()
            if self._sent[kind] + costs[kind] > bound.sent
        ]
        return max([0.0, *waits])

    def begin(self, tokens: int) -> Begun:
        """Count a call as sent, and return its record."""
        self._sent["requests"] += 1
        self._sent["tokens"] += tokens
        self._wave.n_begun += 1
        return Begun(dict(self._sent), self._wave)

    def answered(self, allowances: Mapping[Kind, Allowance], begun: Begun, now: float) -> None:
        """Use the allowances of an answer, counted from the time of its request."""
        for kind, allowance in allowances.items():
            sent = begun.sent[kind] + allowance.remaining
            self._bounds[kind] = _Bound(sent, now + allowance.reset_seconds)
        self.learnt_seconds *= _RECOVERY
        if self.learnt_seconds < _MIN_LEARNT_SECONDS:
            self.learnt_seconds = 0.0

    def limited(self, begun: Begun, seconds: float, now: float) -> bool:
        """Pause all calls after a refusal for the rate; return whether this call began it."""
        wave = begun.wave
        wave.n_limited += 1
        if not wave.was_too_fast and wave.n_limited > max(2, wave.n_begun / 2):
            wave.was_too_fast = True
            first = _FIRST_LEARNT * max(seconds, 0.1) / wave.n_begun
            learnt = max(2 * self.learnt_seconds, first, _MIN_LEARNT_SECONDS)
            self.learnt_seconds = min(learnt, _MAX_LEARNT_SECONDS)
        is_new = now >= self._paused_until
        if is_new:
            self._wave = _Wave()
        self.pause(seconds, now)
        return is_new

    def _lasts(self, tokens: int) -> float:
        requests, per_minute = self.requests_per_minute, self.tokens_per_minute
        per_request = _MINUTE_SECONDS / requests if requests else 0.0
        per_tokens = _MINUTE_SECONDS * tokens / per_minute if per_minute else 0.0
        return max(per_request, per_tokens, self.learnt_seconds)


def _strictest(*limits: float) -> float:
    return min(filter(None, limits), default=0.0)
