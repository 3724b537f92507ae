"""A clusterer: groups of neighbouring nodes."""

import numpy as np
from numpy.typing import NDArray

from raptor_core import Clusters, Settings
from raptor_core.vectors import Vectors

SIZE = 4


class Neighbours:
    """Clusterer that groups up to four nodes that follow each other."""

    fingerprint = "neighbours-1"
    anchorable = False  # an inserted node moves every group after it

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""

    def cluster(self, vectors: Vectors, n_tokens: NDArray[np.int64]) -> Clusters:  # noqa: ARG002
        """Return groups of rows; no group has a single row."""
        n_rows = len(vectors)
        if n_rows < 2:
            return Clusters(())
        groups = np.array_split(np.arange(n_rows), max(1, n_rows // SIZE))
        return Clusters(tuple(tuple(map(int, group)) for group in groups))
