"""Retry policy for requests to model endpoints and vector stores."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, which honours the wait that a server requests.

    Attributes:
        max_retries: attempts after the first.
        base_seconds: backoff before the first retry; the mean wait is 3/4 of it. It doubles with
            each failure.
        max_seconds: maximum backoff.
        patience_seconds: longest wait that a server may request; a longer one is a failure.
    """

    max_retries: int = 4
    base_seconds: float = 0.5
    max_seconds: float = 30.0
    patience_seconds: float = 120.0

    def backoff_seconds(self, n_failed: int, jitter: float) -> float:
        """Return the wait after ``n_failed`` failures; ``jitter`` is a random number in [0, 1)."""
        full = min(self.max_seconds, self.base_seconds * 2.0 ** min(n_failed - 1, 32))
        return full * (0.5 + 0.5 * jitter)

    def wait_seconds(self, n_failed: int, jitter: float, requested: float | None) -> float | None:
        """Return the wait that the server requested, else the backoff; None if it is too long."""
        backoff = self.backoff_seconds(n_failed, jitter)
        if requested is None:
            return backoff
        if requested > self.patience_seconds:
            return None
        return requested + min(backoff, 0.1 * requested)  # later, so that calls spread out
