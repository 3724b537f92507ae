"""Policy of retries, for endpoints of models and for servers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Policy of exponential backoff with jitter, which honours the wait that a server demands.

    Attributes:
        base_seconds: the mean wait before the first retry is 3/4 of it, and doubles each time.
        max_seconds: maximum backoff.
        patience_seconds: a server that demands a longer wait has failed.
    """

    max_retries: int = 4
    base_seconds: float = 0.5
    max_seconds: float = 30.0
    patience_seconds: float = 120.0

    def backoff_seconds(self, n_failed: int, jitter: float) -> float:
        """Return the wait after the ``n_failed``-th failure; ``jitter`` is in [0, 1)."""
        full = min(self.max_seconds, self.base_seconds * 2.0 ** min(n_failed - 1, 32))
        return full * (0.5 + 0.5 * jitter)

    def wait_seconds(self, n_failed: int, jitter: float, demanded: float | None) -> float | None:
        """Return the backoff, or the ``demanded`` wait, or None if that is too long."""
        backoff = self.backoff_seconds(n_failed, jitter)
        if demanded is None:
            return backoff
        if demanded > self.patience_seconds:
            return None
        return demanded + min(backoff, 0.1 * demanded)  # never earlier, and not all at once
