"""One thread for linear algebra: their number decides in which order sums are added up.

Products of a build are small. OpenBLAS shares them out among threads that then spin, which took a
fifth of a build's CPU, the model aside, for nothing.
"""

from __future__ import annotations

import sys
import threading
from contextlib import ContextDecorator
from functools import lru_cache
from typing import Any


class _OneThread(ContextDecorator):
    """Context manager and decorator; may be nested, and entered by several threads at once."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._depth = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._turn:
            self._depth += 1
            if self._depth == 1:
                self._limits = _libraries("scipy.linalg" in sys.modules).limit(
                    limits=1, user_api="blas"
                )

    def __exit__(self, *_error: object) -> None:
        with self._turn:
            self._depth -= 1
            if not self._depth:
                self._limits.restore_original_limits()


one_blas_thread = _OneThread()


@lru_cache(maxsize=2)
def _libraries(_with_scipy: bool) -> Any:
    """The libraries that are loaded, among them NumPy's and, once it is loaded, SciPy's own."""
    import numpy as np  # noqa: F401 - must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
