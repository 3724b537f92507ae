"""Linear algebra on one thread, because the number of threads changes the order of sums.

Matrix products in a build are small. OpenBLAS distributes them to threads that then busy-wait,
which wasted a fifth of the CPU time that a build spends outside the model.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import lru_cache
from typing import Any

SetThreads = Callable[[int], object]


class _OneThread(ContextDecorator):
    """Context manager and decorator that limits BLAS to one thread.

    It may be nested, and several threads may enter it at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._previous: list[tuple[SetThreads, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                libraries = _loaded_blas_libraries("scipy.linalg" in sys.modules)
                self._previous = [
                    (_find_thread_setter(lib), lib.get_num_threads()) for lib in libraries
                ]
                for set_threads, _ in self._previous:
                    set_threads(1)

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                for set_threads, n_threads in self._previous:
                    set_threads(n_threads)


one_blas_thread = _OneThread()


@lru_cache(maxsize=2)
def _loaded_blas_libraries(_with_scipy: bool) -> list[Any]:
    """Return the loaded BLAS libraries: NumPy's, and SciPy's own if it is loaded."""
    import numpy as np  # noqa: F401  # loads its BLAS library
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _find_thread_setter(library: Any) -> SetThreads:
    """Return the function that sets a library's number of threads, whichever thread calls it.

    From version 3.8 on, threadpoolctl obeys only the first thread that ever called it.
    """
    setter: SetThreads = getattr(library, "_real_set_num_threads", library.set_num_threads)
    return setter


def n_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
