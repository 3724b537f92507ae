"""Number of calls at once at a server of this machine, which shares its processors with the run.

``gate`` asks it before each attempt. Rates and pauses are in ``pacing``.
"""

from dataclasses import dataclass

FIRST_CALLS = 2
"""Calls at once of a server that nothing is known about."""
MAX_CALLS = 512
"""Maximum of calls at once, as in the settings."""
QUICK_SECONDS = 0.25
"""Mean duration of calls below which more of them at once are never a burden."""
MIN_GAIN = 1.15
"""Ratio of the tokens a second to those of the last width from which a wider one pays off."""
PATIENCE_ROUNDS = 16
"""Rounds without a gain after which a wider width is tried again."""


@dataclass
class Width:
    """Number of calls at once, which grows while the server answers more tokens a second.

    A round lasts for twice as many answers as calls may run. After a round with a gain, the width
    doubles; without a gain it returns to the best one. Times are seconds of a monotonic clock. The
    owner locks.
    """

    n_calls: int = FIRST_CALLS
    n_running: int = 0
    _best_calls: int = FIRST_CALLS
    _best_rate: float = 0.0
    _n_idle_rounds: int = 0
    _n_answers: int = 0
    _tokens: float = 0.0
    _seconds: float = 0.0
    _round_began: float | None = None

    def begin(self, now: float) -> None:
        """Count a call that begins."""
        self.n_running += 1
        if self._round_began is None:
            self._round_began = now

    def end(self, tokens: int, seconds: float, now: float, *, is_answered: bool) -> None:
        """Count a call that ended after ``seconds``; ``tokens`` measures its work."""
        self.n_running -= 1
        if not is_answered:
            self._best_calls = self.n_calls = max(1, self.n_calls // 2)
            self._best_rate = 0.0
            self._begin_round(None)
            return
        self._n_answers += 1
        self._tokens += tokens
        self._seconds += seconds
        if self._n_answers >= 2 * self.n_calls and self._round_began is not None:
            rate = self._tokens / max(1e-6, now - self._round_began)
            self._adapt(rate, self._seconds / self._n_answers)
            self._begin_round(now)

    def _adapt(self, rate: float, mean_seconds: float) -> None:
        if rate > MIN_GAIN * self._best_rate or mean_seconds < QUICK_SECONDS:
            self._best_rate, self._best_calls = rate, self.n_calls
            self.n_calls, self._n_idle_rounds = min(MAX_CALLS, 2 * self.n_calls), 0
            return
        self.n_calls = self._best_calls
        self._n_idle_rounds += 1
        if self._n_idle_rounds >= PATIENCE_ROUNDS:
            self._best_rate = 0.0  # the next round tries a wider one

    def _begin_round(self, now: float | None) -> None:
        self._n_answers, self._tokens, self._seconds, self._round_began = 0, 0.0, 0.0, now
