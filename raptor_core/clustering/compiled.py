"""Compilation of numeric kernels: once per machine, without Python's global lock.

The kernels are in ``layout_kernels`` and ``mixture_kernels``. These modules are imported when a
layer is clustered, never with the package. numba caches the machine code in ``__pycache__`` beside
the source, in the user's cache folder if that is read-only, or in ``NUMBA_CACHE_DIR``. It does not
notice changes in another file that a kernel calls, so files share only the random generator below.
"""

import atexit
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger(__name__)


def ensure_numba_cache() -> None:
    """Give numba a temporary cache folder if no other one is writable.

    This happens in containers whose files belong to another user and that have no home folder.
    numba treats it as an error, and umap-learn's kernels need a cache folder, too.
    """
    try:
        numba.njit(cache=True)(ensure_numba_cache)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="raptor-numba-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = folder
        numba.config.reload_config()
        _log.warning(
            "numba has no writable folder, so each process compiles its kernels again, for up to "
            "15 s: set NUMBA_CACHE_DIR to a folder that only this user can write to"
        )


ensure_numba_cache()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile in strict IEEE order, so that a machine's vector width does not change results."""
    decorate = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast("Callable[P, R]", decorate(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a helper into the kernels of the same file that call it."""
    decorate = numba.njit(inline="always", error_model="numpy")
    return cast("Callable[P, R]", decorate(function))


@compiled
def next_random(state: NDArray[np.uint64]) -> np.uint64:
    """Return one splitmix64 number and advance ``state``, shape ``(1,)``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z: np.uint64 = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def next_uniform(state: NDArray[np.uint64]) -> float:
    """Return one float in [0, 1) and advance ``state``."""
    return float(next_random(state) >> np.uint64(11)) / 9007199254740992.0
