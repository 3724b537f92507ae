"""k-means as a method of its own, by scikit-learn's repeated splitting."""

from dataclasses import dataclass

import numpy as np

from raptor_core.clustering.base import Clusters
from raptor_core.clustering.guards import Guard, GuardedClusterer
from raptor_core.clustering.raptor import bisected
from raptor_core.clustering.reduction import Doubles


@dataclass(frozen=True)
class KMeansClusterer(GuardedClusterer):
    """Disjoint clusters of about ``cluster_size`` rows."""

    method = "kmeans"
    read_settings = frozenset({"cluster_size", "max_tokens", "seed"})

    def _cluster(self, grid: Doubles, guard: Guard) -> Clusters:
        size, budget = self.settings.cluster_size, self.settings.max_tokens
        by_tokens = -(-int(guard.n_tokens.sum()) // budget)
        labels = bisected(grid, max(by_tokens, len(grid) // size, 1), self.settings.seed)
        groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        return guard.finish(groups, None, {"cluster_size": float(size)})
