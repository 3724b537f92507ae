"""One thread for linear algebra: their number decides in which order sums are added up.

Products of a build are small. OpenBLAS shares them out among threads that then spin, which took a
fifth of a build's CPU, the model aside, for nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import lru_cache
from typing import Any

SetThreads = Callable[[int], object]


class _OneThread(ContextDecorator):
    """Context manager and decorator; may be nested, and entered by several threads at once."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._depth = 0
        self._before: list[tuple[SetThreads, int]] = []

    def __enter__(self) -> None:
        with self._turn:
            self._depth += 1
            if self._depth == 1:
                libraries = _libraries("scipy.linalg" in sys.modules)
                self._before = [(_setter(lib), lib.get_num_threads()) for lib in libraries]
                for set_threads, _ in self._before:
                    set_threads(1)

    def __exit__(self, *_error: object) -> None:
        with self._turn:
            self._depth -= 1
            if not self._depth:
                for set_threads, n_threads in self._before:
                    set_threads(n_threads)


one_blas_thread = _OneThread()


@lru_cache(maxsize=2)
def _libraries(_with_scipy: bool) -> list[Any]:
    """The libraries that are loaded, among them NumPy's and, once it is loaded, SciPy's own."""
    import numpy as np  # noqa: F401 - must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _setter(library: Any) -> SetThreads:
    """Sets a library's number of threads, whichever thread asks.

    From 3.8 on, threadpoolctl itself hears only the first thread that ever asked.
    """
    found: SetThreads = getattr(library, "_real_set_num_threads", library.set_num_threads)
    return found
