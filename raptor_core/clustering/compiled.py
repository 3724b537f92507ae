"""How numeric kernels are compiled: once per machine, off the interpreter's lock.

Modules that use this are imported when a layer is clustered, never with the package. numba keeps
the machine code in ``__pycache__`` beside the source, in the user's cache folder where that is
read-only, or under ``NUMBA_CACHE_DIR``. It does not notice a change in another file that a
kernel calls into: only the generator below is shared between files.
"""

from __future__ import annotations

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


def ensure_cache() -> None:
    """Where numba may write to no folder, which is an error of its, lend it one for the process.

    So it is in containers: another user's files, no home folder. umap-learn's kernels need it too.
    """
    try:
        numba.njit(cache=True)(ensure_cache)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="raptor-numba-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = folder
        numba.config.reload_config()
        _log.warning(
            "numba may write to no folder, so each process compiles its kernels anew, for up to "
            "15 s: let NUMBA_CACHE_DIR name a folder that this user alone may write to"
        )


ensure_cache()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile in strict IEEE order: the same floats whatever the machine's vector width."""
    decorate = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast("Callable[P, R]", decorate(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As ``compiled``, for a helper that is written into the kernels of its file that call it."""
    decorate = numba.njit(inline="always", error_model="numpy")
    return cast("Callable[P, R]", decorate(function))


@compiled
def next_random(state: NDArray[np.uint64]) -> np.uint64:
    """One splitmix64 number from ``state`` of shape ``(1,)``, which it advances."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z: np.uint64 = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """One float in [0, 1) from ``state``."""
    return float(next_random(state) >> np.uint64(11)) / 9007199254740992.0
