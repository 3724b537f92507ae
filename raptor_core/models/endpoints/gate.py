"""Gate of an endpoint, which every call of this process passes.

It keeps the rates of the settings and the limits in the endpoint's headers. A refusal for the rate
slows all callers, and all callers wait while the endpoint is down. At a server of this machine it
begins with few calls at once, see ``width``.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from raptor_core.errors import EndpointDownError, EndpointError
from raptor_core.models.endpoints.addresses import is_here
from raptor_core.models.endpoints.dialects import shown_url
from raptor_core.models.endpoints.faults import FaultError, Stop
from raptor_core.models.endpoints.pacing import Begun, Pace, read_allowances
from raptor_core.models.endpoints.width import Width
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.base import EndpointPart

FIRST_PROBE_SECONDS = 0.5
LONGEST_PROBE_SECONDS = 15.0
MIN_CALLS = 3
"""Minimum of failing calls that prove an outage; a single call may be faulty itself."""


@dataclass
class Circuit:
    """Circuit breaker, which opens after ``down_after`` failed attempts in a row.

    While it is open, a single attempt probes, at first after half a second, then after twice the
    wait each time; a success closes the circuit. After ``down_seconds`` it is hopeless: all calls
    fail, and there is a probe every ``LONGEST_PROBE_SECONDS``. Times are seconds of a monotonic
    clock. The owner locks.
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
    probe: object | None = None

    def open_seconds(self, now: float) -> float:
        """Return the seconds since the circuit opened; 0 if it is closed."""
        return 0.0 if self._opened is None else now - self._opened

    def wait_seconds(self, call: object, now: float) -> float:
        """Return the wait of a call; 0 if it may go, as a probe if the circuit is open."""
        if self._opened is None or self.probe is call:
            return 0.0
        if self.probe is not None:
            return FIRST_PROBE_SECONDS
        if now < self._next_probe:
            return self._next_probe - now
        self.probe = call
        return 0.0

    def succeeded(self) -> None:
        """Close the circuit after any answer, also a late one."""
        self.n_failed = self.n_probes = 0
        self._calls.clear()
        self._opened, self.probe, self.is_hopeless = None, None, False
        self._pause = FIRST_PROBE_SECONDS

    def failed(self, call: object, reason: str, now: float) -> None:
        """Count an attempt that the endpoint did not receive, or could not answer."""
        self.n_failed += 1
        self.reason = reason
        if self._opened is None:
            if len(self._calls) < MIN_CALLS:
                self._calls.add(call)
            if self.n_failed >= self.down_after and len(self._calls) >= MIN_CALLS:
                self._opened, self._next_probe = now, now + self._pause
        elif self.probe is call:
            self.probe = None
            self.n_probes += 1
            self._pause = min(2 * self._pause, LONGEST_PROBE_SECONDS)
            self.is_hopeless = self.open_seconds(now) + self._pause > self.down_seconds
            if self.is_hopeless:
                self._pause = LONGEST_PROBE_SECONDS
            self._next_probe = now + self._pause

    def dropped(self, call: object) -> None:
        """Forget a call that ended without a proof of the endpoint's state."""
        if self.probe is call:
            self.probe = None


_ROOM_SECONDS = 0.02
"""Interval at which a call checks whether another one ended."""
_LONGEST_NAP_SECONDS = 5.0
"""Interval at which a waiting call checks the pause."""


class Gate:
    """Limits, pauses and the circuit of one endpoint, for many threads."""

    def __init__(self, endpoint: EndpointPart) -> None:
        self._lock = threading.Lock()
        self._pace = Pace()
        self._circuit = Circuit(endpoint.down_after, endpoint.down_seconds)
        self._policy = RetryPolicy()
        self._width = Width()
        self._n_pauses = 0
        self.limit(endpoint)

    @classmethod
    def of(cls, endpoint: EndpointPart) -> "Gate":
        """Return the gate that all callers of an endpoint share; the strictest limits hold."""
        key = (endpoint.base_url, endpoint.model, endpoint.api_key_env)
        with _LOCK:
            gate = _GATES.setdefault(key, cls(endpoint))
        gate.limit(endpoint)
        return gate

    def limit(self, endpoint: EndpointPart) -> None:
        """Keep this process's part of the endpoint's rates, too."""
        with self._lock:
            n = endpoint.shared_by
            self._pace.limit(endpoint.requests_per_minute / n, endpoint.tokens_per_minute / n)

    @contextmanager
    def turn(
        self, endpoint: EndpointPart, tokens: int, stop: Stop = None
    ) -> Iterator[Callable[[Mapping[str, str]], None]]:
        """Wait until an attempt of at most ``tokens`` tokens may begin; the block is the attempt.

        It yields a function that takes the headers of the answer. A ``FaultError`` of the block is
        recorded, and marked if the attempt was a probe.

        Raises:
            EndpointDownError: the endpoint stays down.
            EndpointError: ``stop`` was set while it waited.
        """
        call, is_answered = object(), True  # identity of the attempt in the circuit
        try:
            begun = self._begin(call, endpoint, tokens, stop)
            began = time.monotonic()
            try:
                yield lambda headers: self._answered(begun, headers)
            except FaultError as fault:
                is_answered = not fault.is_down
                self._failed(call, begun, fault)
                raise
            finally:
                with self._lock:
                    now = time.monotonic()
                    self._width.end(tokens, now - began, now, is_answered=is_answered)
        finally:
            with self._lock:
                self._circuit.dropped(call)

    def _begin(self, call: object, endpoint: EndpointPart, tokens: int, stop: Stop) -> Begun:
        """Wait until the attempt may begin; it then counts as sent."""
        wait = (stop or threading.Event()).wait
        with self._lock:
            slot = self._pace.slot(tokens, time.monotonic())
        while True:
            with self._lock:
                seconds = self._wait_seconds(call, slot, endpoint, tokens)
                if seconds == 0:
                    self._width.begin(time.monotonic())
                    return self._pace.begin(tokens)
            if wait(min(seconds, _LONGEST_NAP_SECONDS)):
                raise EndpointError(f"{endpoint.purpose}: the call was cancelled before it began")

    def _wait_seconds(
        self, call: object, slot: float, endpoint: EndpointPart, tokens: int
    ) -> float:
        """Return the minimum wait of the attempt in seconds; 0 if it may begin."""
        now = time.monotonic()
        seconds = self._pace.wait_seconds(slot, now)
        if seconds > 0:
            return seconds
        is_adaptive = "concurrency" not in endpoint.model_fields_set and is_here(endpoint.base_url)
        if is_adaptive and self._width.n_running >= self._width.n_calls:
            return _ROOM_SECONDS
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
            self._pace.answered(allowances, begun, time.monotonic())
            self._n_pauses = 0

    def _failed(self, call: object, begun: Begun, fault: FaultError) -> None:
        with self._lock:
            now = time.monotonic()
            if fault.is_down:
                fault.is_probe = self._circuit.probe is call
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
