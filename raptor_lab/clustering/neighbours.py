"""Clusterings by similarities of the vectors themselves, without a projection or a mixture.

They are here to be compared with the paper's: average linkage, and cuts between neighbouring nodes
that resemble each other least.
"""

from dataclasses import dataclass

import numpy as np

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import Grid, Guard, GuardedClusterer

CONTEXT_ROWS = 3
"""Rows before and after a gap whose mean vectors are compared."""


@dataclass(frozen=True)
class LinkageClusterer(GuardedClusterer):
    """Average linkage of unit vectors, cut where clusters have ``cluster_size`` rows on average."""

    method = "linkage"
    read_settings = frozenset({"cluster_size", "max_tokens"})

    def _cluster(self, grid: Grid, guard: Guard) -> Clusters:
        from sklearn.cluster import AgglomerativeClustering

        n_clusters = max(1, len(grid) // self.settings.cluster_size)
        labels = AgglomerativeClustering(n_clusters, linkage="average").fit_predict(grid)
        groups = [np.flatnonzero(labels == label) for label in range(n_clusters)]
        return guard.finish(groups, None, {"cluster_size": float(self.settings.cluster_size)})


@dataclass(frozen=True)
class WatershedClusterer(GuardedClusterer):
    """Runs of neighbouring rows, cut where the rows before and after are least alike."""

    method = "watershed"
    read_settings = frozenset({"cluster_size", "max_tokens"})
    anchorable = False  # an insertion may move every cut

    def _cluster(self, grid: Grid, guard: Guard) -> Clusters:
        likeness = _likeness(grid)

        def cut(rows: Rows, n_parts: int) -> list[Rows]:
            gaps = rows[:-1]
            weakest = gaps[np.argsort(likeness[gaps], kind="stable")[: n_parts - 1]]
            return np.split(rows, np.sort(weakest) - rows[0] + 1)

        groups = cut(np.arange(len(grid)), max(1, len(grid) // self.settings.cluster_size))
        return guard.finish(groups, lambda rows: cut(rows, 2), {"cuts": float(len(groups) - 1)})


def _likeness(grid: Grid) -> Grid:
    """Return the cosine of the mean vectors before and after the gap that follows each row."""
    sums = np.concatenate([np.zeros((1, grid.shape[1])), np.cumsum(grid, axis=0)])
    gaps = np.arange(1, len(grid))
    above = sums[gaps] - sums[np.maximum(gaps - CONTEXT_ROWS, 0)]
    below = sums[np.minimum(gaps + CONTEXT_ROWS, len(grid))] - sums[gaps]
    norms = np.linalg.norm(above, axis=1) * np.linalg.norm(below, axis=1)
    cosines: Grid = np.einsum("ij,ij->i", above, below) / np.maximum(norms, 1e-12)
    return cosines
