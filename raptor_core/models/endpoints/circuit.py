"""Whether an endpoint is down, by what all who call it have seen."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_PROBE_SECONDS = 0.5
LONGEST_PROBE_SECONDS = 15.0
MIN_CALLS = 3
"""A single call that fails again and again may be at fault itself."""


@dataclass
class Circuit:
    """Closed while calls get through; open once ``down_after`` attempts in a row did not.

    While it is open, one attempt at a time tries, at first after half a second, then after twice
    as long, and so on; the first that gets through closes it. After ``down_seconds`` it has given
    up: everybody is told so, and from then on one attempt in ``LONGEST_PROBE_SECONDS`` tries.
    Times are of one monotonic clock, in seconds. The owner locks.
    """

    down_after: int
    down_seconds: float
    n_failed: int = 0
    reason: str = ""
    n_probes: int = 0
    _calls: set[object] = field(default_factory=set)
    _opened: float | None = None
    _next_probe: float = 0.0
    _pause: float = FIRST_PROBE_SECONDS
    _probe: object | None = None
    _gave_up: bool = False

    @property
    def is_open(self) -> bool:
        """Whether calls have to wait."""
        return self._opened is not None

    @property
    def is_hopeless(self) -> bool:
        """Whether it was waited for long enough."""
        return self._gave_up

    def open_seconds(self, now: float) -> float:
        """For how long it has been open."""
        return 0.0 if self._opened is None else now - self._opened

    def wait_seconds(self, call: object, now: float) -> float:
        """0 where ``call`` may go, as a probe if the circuit is open; else when to ask again."""
        if self._opened is None or self._probe is call:
            return 0.0
        if self._probe is not None:
            return FIRST_PROBE_SECONDS
        if now < self._next_probe:
            return self._next_probe - now
        self._probe = call
        return 0.0

    def is_probe(self, call: object) -> bool:
        """Whether this call tries while the others wait."""
        return self._probe is call

    def succeeded(self) -> None:
        """An answer came, of whatever kind: the endpoint is up.

        Of calls begun before it went down, answers may come late; they count alike.
        """
        self.n_failed = self.n_probes = 0
        self._calls.clear()
        self._opened, self._probe, self._gave_up = None, None, False
        self._pause = FIRST_PROBE_SECONDS

    def failed(self, call: object, reason: str, now: float) -> None:
        """The endpoint was not reached, or said that it cannot."""
        self.n_failed += 1
        self.reason = reason
        if self._opened is None:
            if len(self._calls) < MIN_CALLS:
                self._calls.add(call)
            if self.n_failed >= self.down_after and len(self._calls) >= MIN_CALLS:
                self._opened, self._next_probe = now, now + self._pause
        elif self._probe is call:
            self._probe = None
            self.n_probes += 1
            self._pause = min(2 * self._pause, LONGEST_PROBE_SECONDS)
            self._gave_up = self.open_seconds(now) + self._pause > self.down_seconds
            if self._gave_up:
                self._pause = LONGEST_PROBE_SECONDS
            self._next_probe = now + self._pause

    def dropped(self, call: object) -> None:
        """The call ended without a word about the endpoint."""
        if self._probe is call:
            self._probe = None
