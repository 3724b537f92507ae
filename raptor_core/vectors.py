"""The type of vectors, for everything that handles them."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape ``(n, n_dims)``; rows are of Euclidean norm 1 where nothing else is said."""
