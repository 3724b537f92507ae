"""The type of vectors, for everything that handles them, and their direction."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape ``(n, n_dims)``; rows are of Euclidean norm 1 where nothing else is said."""


def mean_direction(rows: Sequence[Vectors] | NDArray[np.float64]) -> Vectors:
    """Unit vector of the rows' sum."""
    total = np.sum(rows, axis=0, dtype=np.float64)
    norm = max(float(np.linalg.norm(total)), 1e-12)
    return np.asarray(total / norm, dtype=np.float32)
