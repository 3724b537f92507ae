"""Spherical k-means as a method of its own; the splits are in ``raptor_core.clustering.kmeans``."""

from dataclasses import dataclass

import numpy as np

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import Grid, Guard, GuardedClusterer
from raptor_core.clustering.kmeans import Singles, round_to_grid, split
from raptor_core.vectors import Vectors


@dataclass(frozen=True)
class KMeansClusterer(GuardedClusterer):
    """Disjoint clusters of about ``cluster_size`` rows."""

    method = "kmeans"
    read_settings = frozenset({"cluster_size", "max_tokens", "seed"})

    def _grid(self, vectors: Vectors) -> Grid:
        return round_to_grid(vectors)

    def _cluster(self, grid: Singles, guard: Guard) -> Clusters:
        size, budget = self.settings.cluster_size, self.settings.max_tokens

        def n_parts(rows: Rows) -> int:
            by_tokens = -(-int(guard.n_tokens[rows].sum()) // budget)
            return max(by_tokens, len(rows) // size, 1)

        groups = split(grid, np.arange(len(grid)), n_parts, self.settings.seed)
        return guard.finish(groups, None, {"cluster_size": float(size)})
