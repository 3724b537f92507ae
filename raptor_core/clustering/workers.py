"""How many threads the compiled kernels may use at once. No result depends on it."""

from __future__ import annotations

import os

MAX_WORKERS = 8


def n_workers() -> int:
    """Processors that this process may use, 8 at most."""
    if hasattr(os, "sched_getaffinity"):
        return min(MAX_WORKERS, len(os.sched_getaffinity(0)))
    return min(MAX_WORKERS, os.cpu_count() or 1)
