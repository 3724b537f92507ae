"""The gate before an endpoint: everything in this process that calls it goes through one.

It keeps to the rates that the settings name and to what the endpoint says of its own limits, lets
one refusal for the rate slow all callers, and holds all of them back while the endpoint is down.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from raptor_core.errors import EndpointDownError, EndpointError
from raptor_core.models.endpoints.dialects import shown_url
from raptor_core.models.endpoints.faults import FaultError
from raptor_core.models.endpoints.pacing import Begun, Pace, read_allowances
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.base import EndpointPart

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
    is_hopeless: bool = False
    _calls: set[object] = field(default_factory=set)
    _opened: float | None = None
    _next_probe: float = 0.0
    _pause: float = FIRST_PROBE_SECONDS
    _probe: object | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls have to wait."""
        return self._opened is not None

    def open_seconds(self, now: float) -> float:
        """Return the seconds since the circuit opened; 0 where it is closed."""
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
        """Return whether this call is the probe, for which the others wait."""
        return self._probe is call

    def succeeded(self) -> None:
        """Close the circuit after an answer of any kind.

        A late answer to an earlier call counts, too.
        """
        self.n_failed = self.n_probes = 0
        self._calls.clear()
        self._opened, self._probe, self.is_hopeless = None, None, False
        self._pause = FIRST_PROBE_SECONDS

    def failed(self, call: object, reason: str, now: float) -> None:
        """Count an attempt that did not reach the endpoint, or that it could not answer."""
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
            self.is_hopeless = self.open_seconds(now) + self._pause > self.down_seconds
            if self.is_hopeless:
                self._pause = LONGEST_PROBE_SECONDS
            self._next_probe = now + self._pause

    def dropped(self, call: object) -> None:
        """Forget a call that ended and showed nothing of the endpoint."""
        if self._probe is call:
            self._probe = None


_LONGEST_NAP_SECONDS = 5.0
"""After it a waiting call looks again whether the pause still lasts."""


class Gate:
    """Limits, pauses and the circuit of one endpoint; may be used from many threads at once."""

    def __init__(self, endpoint: EndpointPart) -> None:
        self._lock = threading.Lock()
        self._pace = Pace()
        self._circuit = Circuit(endpoint.down_after, endpoint.down_seconds)
        self._policy = RetryPolicy()
        self._n_pauses = 0
        self.limit(endpoint)

    @classmethod
    def of(cls, endpoint: EndpointPart) -> Gate:
        """Return the gate of an endpoint, which all its callers in this process share.

        Of several limits that its users set, the strictest holds.
        """
        key = (endpoint.base_url, endpoint.model, endpoint.api_key_env)
        with _LOCK:
            gate = _GATES.setdefault(key, cls(endpoint))
        gate.limit(endpoint)
        return gate

    def limit(self, endpoint: EndpointPart) -> None:
        """Keep to this endpoint's rates too, by this process's part of them."""
        with self._lock:
            self._pace.limit(
                endpoint.requests_per_minute / endpoint.shared_by,
                endpoint.tokens_per_minute / endpoint.shared_by,
            )

    @contextmanager
    def turn(
        self, endpoint: EndpointPart, tokens: int, stop: threading.Event | None = None
    ) -> Iterator[Callable[[Mapping[str, str]], None]]:
        """Around one attempt of at most ``tokens`` tokens; waits until it may begin.

        Gives what to call with the headers once it is answered. A ``FaultError`` that leaves the
        block is heard of, and marked where the attempt was a probe.

        Raises:
            EndpointDownError: the endpoint is down, and was waited for.
            EndpointError: ``stop`` was set while it waited.
        """
        call = object()  # it stands for the attempt in the circuit
        try:
            begun = self._begin(call, endpoint, tokens, stop)
            try:
                yield lambda headers: self._answered(begun, headers)
            except FaultError as fault:
                self._failed(call, begun, fault)
                raise
        finally:
            with self._lock:
                self._circuit.dropped(call)

    def _begin(
        self, call: object, endpoint: EndpointPart, tokens: int, stop: threading.Event | None
    ) -> Begun:
        """Wait until the attempt may begin; it then counts as sent."""
        wait = (stop or threading.Event()).wait
        with self._lock:
            slot = self._pace.slot(tokens, time.monotonic())
        while True:
            with self._lock:
                seconds = self._wait_seconds(call, slot, endpoint, tokens)
                if seconds == 0:
                    return self._pace.begin(tokens)
            if wait(min(seconds, _LONGEST_NAP_SECONDS)):
                raise EndpointError(f"{endpoint.purpose}: the call was cancelled before it began")

    def _wait_seconds(
        self, call: object, slot: float, endpoint: EndpointPart, tokens: int
    ) -> float:
        """Return the least seconds that the attempt has to wait; 0 where it may begin."""
        now = time.monotonic()
        seconds = self._pace.wait_seconds(slot, now)
        if seconds > 0:
            return seconds
        seconds = self._circuit.wait_seconds(call, now)
        if seconds > 0:
            if self._circuit.is_hopeless:
                raise EndpointDownError(self._describe_outage(endpoint, now))
            return seconds
        seconds = self._pace.exhausted_seconds(tokens, now)
        if 0 < seconds <= self._policy.patience_seconds:
            self._pace.pause(seconds, now)
            return seconds
        return 0.0

    def _answered(self, begun: Begun, headers: Mapping[str, str]) -> None:
        allowances = read_allowances(headers)
        with self._lock:
            self._circuit.succeeded()
            self._pace.heard(allowances, begun, time.monotonic())
            self._n_pauses = 0

    def _failed(self, call: object, begun: Begun, fault: FaultError) -> None:
        with self._lock:
            now = time.monotonic()
            if fault.is_down:
                fault.is_probe = self._circuit.is_probe(call)
                self._circuit.failed(call, fault.reason, now)
                return
            self._circuit.succeeded()
            if not fault.is_limit:
                return
            seconds = fault.retry_after_seconds
            if seconds is None:
                seconds = self._policy.backoff_seconds(self._n_pauses + 1, 1.0)
            if seconds <= self._policy.patience_seconds:
                self._n_pauses += self._pace.limited(begun, seconds, now)

    def _describe_outage(self, endpoint: EndpointPart, now: float) -> str:
        circuit = self._circuit
        return (
            f"{endpoint.purpose}: {endpoint.model!r} at {shown_url(endpoint.base_url)} is down: "
            f"{circuit.n_failed} attempts in a row failed, {circuit.n_probes} of them probes over "
            f"{circuit.open_seconds(now):.0f} s, the last by: {circuit.reason}. Check that the "
            f"endpoint runs and that {endpoint.purpose}.base_url is right, then run again: what "
            "is finished is kept"
        )


_LOCK = threading.Lock()
_GATES: weakref.WeakValueDictionary[tuple[str, str, str], Gate] = weakref.WeakValueDictionary()
