"""The array type of embeddings, which every module shares."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Array of shape ``(n, n_dims)``; rows have Euclidean norm 1 unless stated otherwise."""
