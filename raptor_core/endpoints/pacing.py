"""When the next call may begin: slots in a row, and pauses that move them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.endpoints.headers import Allowance, Kind

_MIN_LEARNT_SECONDS = 0.005
_MAX_LEARNT_SECONDS = 10.0
_RECOVERY = 0.98
"""Of the learnt spacing, after each call that was answered."""


@dataclass
class _Left:
    remaining: float
    resets_at: float


@dataclass
class Pace:
    """Slots for calls, in the order in which they asked.

    A call of ``n`` tokens takes ``60 / requests_per_minute`` or ``60 n / tokens_per_minute``
    seconds, what is longer; the next slot begins after it. So limits are kept in any minute, but
    for one call. Time stands still in a pause: slots given before keep their order and their
    spacing after it. Times are of one monotonic clock, in seconds. The owner locks.

    An endpoint that turns away most of what it is sent has no settings for its limits here: then
    a spacing is learnt, which wears off with every call that is answered.
    """

    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    learnt_seconds: float = 0.0
    _next_slot: float = 0.0
    _moved: float = 0.0
    _paused_until: float = 0.0
    _left: dict[Kind, _Left] = field(default_factory=dict)
    _sent: dict[Kind, float] = field(default_factory=lambda: {"requests": 0.0, "tokens": 0.0})
    _n_begun: int = 0
    _n_limited: int = 0

    def limit(self, requests_per_minute: float, tokens_per_minute: float) -> None:
        """Keep these too: of several limits the strictest holds; 0 is none."""
        self.requests_per_minute = _strictest(self.requests_per_minute, requests_per_minute)
        self.tokens_per_minute = _strictest(self.tokens_per_minute, tokens_per_minute)

    def slot(self, tokens: int, now: float) -> float:
        """The place in the row for a call; give it to ``wait_seconds``."""
        still = max(now, self._paused_until) - self._moved
        begins = max(still, self._next_slot)
        self._next_slot = begins + self._lasts(tokens)
        return begins

    def wait_seconds(self, slot: float, now: float) -> float:
        """Until the slot begins, no pause lasts and the endpoint has something left."""
        return max(slot + self._moved, self._paused_until) - now

    def pause(self, seconds: float, now: float) -> None:
        """Nobody begins before so many seconds are over."""
        until = max(self._paused_until, now + seconds)
        self._moved += until - max(now, self._paused_until)
        self._paused_until = until

    def exhausted_seconds(self, tokens: int, now: float) -> float:
        """Until the endpoint's own count allows the call; 0 where it does."""
        costs: dict[Kind, float] = {"requests": 1.0, "tokens": float(tokens)}
        waits = [
            left.resets_at - now
            for kind, left in self._left.items()
            if left.remaining < costs[kind] and left.resets_at > now
        ]
        return max(waits, default=0.0)

    def begin(self, tokens: int) -> dict[Kind, float]:
        """Count a call as sent; gives the counts that ``heard`` wants with its answer."""
        self._n_begun += 1
        costs: dict[Kind, float] = {"requests": 1.0, "tokens": float(tokens)}
        for kind, cost in costs.items():
            self._sent[kind] += cost
            if kind in self._left:
                self._left[kind].remaining -= cost
        return dict(self._sent)

    def heard(self, said: Mapping[Kind, Allowance], sent: Mapping[Kind, float], now: float) -> None:
        """What an answer's headers say; what was sent after its call is taken off."""
        for kind, allowance in said.items():
            since = self._sent[kind] - sent.get(kind, self._sent[kind])
            self._left[kind] = _Left(allowance.remaining - since, now + allowance.reset_seconds)

    def answered(self) -> None:
        """A call was taken: the next ones may come closer together."""
        self.learnt_seconds *= _RECOVERY
        if self.learnt_seconds < _MIN_LEARNT_SECONDS:
            self.learnt_seconds = 0.0

    def limited(self, seconds: float, now: float) -> bool:
        """A call was turned away for its rate: all pause, and keep apart where most were.

        Gives whether this began a pause; calls that were under way beside the first find one.
        """
        self._n_limited += 1
        is_new = now >= self._paused_until
        if is_new:
            if self._n_limited > max(2, self._n_begun / 2):
                spread = max(seconds, 0.1) / max(1, self._n_begun - self._n_limited)
                learnt = max(2 * self.learnt_seconds, spread, _MIN_LEARNT_SECONDS)
                self.learnt_seconds = min(learnt, _MAX_LEARNT_SECONDS)
            self._n_begun = self._n_limited = 0
        self.pause(seconds, now)
        return is_new

    def _lasts(self, tokens: int) -> float:
        per_request = 60.0 / self.requests_per_minute if self.requests_per_minute else 0.0
        per_tokens = 60.0 * tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(per_request, per_tokens, self.learnt_seconds)


def _strictest(one: float, other: float) -> float:
    return min(one, other) if one and other else one or other
