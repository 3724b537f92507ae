"""Policy of retries, for endpoints of models and for servers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Policy of exponential backoff with jitter, which honours a server's own wait.

    Attributes:
        max_retries: attempts after the first.
        base_seconds: mean wait before the first retry is 3/4 of it; each next one doubles.
        max_seconds: no backoff is longer.
        patience_seconds: a server that asks for a longer wait has failed.
    """

    max_retries: int = 4
    base_seconds: float = 0.5
    max_seconds: float = 30.0
    patience_seconds: float = 120.0

    def backoff_seconds(self, n_failed: int, jitter: float) -> float:
        """Return the wait after the ``n_failed``-th failure; ``jitter`` is in [0, 1)."""
        full = min(self.max_seconds, self.base_seconds * 2.0 ** min(n_failed - 1, 32))
        return full * (0.5 + 0.5 * jitter)

    def wait_seconds(self, n_failed: int, jitter: float, asked: float | None) -> float | None:
        """Return the backoff, or what the server ``asked`` for, or None where that is too long."""
        backoff = self.backoff_seconds(n_failed, jitter)
        if asked is None:
            return backoff
        if asked > self.patience_seconds:
            return None
        return asked + min(backoff, 0.1 * asked)  # never earlier, and not all at once
