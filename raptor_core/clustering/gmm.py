"""One Gaussian mixture on the embeddings themselves: the common short recipe for RAPTOR.

No reduction, no BIC: a component for every ten nodes, with full covariances (scikit-learn's EM).
In hundreds of dimensions the memberships are nearly hard. It is here to be compared with.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusters
from raptor_core.clustering.groups import Rows
from raptor_core.clustering.guards import Guard, GuardedClusterer
from raptor_core.clustering.kmeans import coarse_parts
from raptor_core.clustering.reduction import Doubles
from raptor_core.errors import ClusteringError

NODES_PER_COMPONENT = 10
MAX_ROWS = 2048
"""Rows of one mixture; a component takes a matrix of ``n_dims`` squared numbers."""

RIDGES = (1e-6, 1e-4, 1e-2)
"""What is added to the variances; the next where a covariance cannot be inverted."""


@dataclass(frozen=True)
class GmmClusterer(GuardedClusterer):
    """Soft clusters by one mixture of ``max(1, n // 10)`` components."""

    method = "gmm"
    read_settings = frozenset({"threshold", "max_tokens", "seed"})

    def _cluster(self, grid: Doubles, guard: Guard) -> Clusters:
        def groups(rows: Rows) -> list[Rows]:
            parts = coarse_parts(grid[rows], MAX_ROWS, self.settings.seed)
            return [rows[part][one] for part in parts for one in self._mixed(grid[rows[part]])]

        found = groups(np.arange(len(grid)))
        return guard.finish(found, groups, {"components": float(len(found))})

    def _mixed(self, points: Doubles) -> list[Rows]:
        """Rows of each component that has some; a row above no threshold is its likeliest's."""
        n_components = max(1, len(points) // NODES_PER_COMPONENT)
        if n_components == 1:
            return [np.arange(len(points))]
        likely = responsibilities(points, n_components, self.settings.seed)
        chosen = likely > self.settings.threshold
        chosen[np.arange(len(points)), likely.argmax(axis=1)] = True
        return [np.flatnonzero(column) for column in chosen.T if column.any()]


def responsibilities(points: Doubles, n_components: int, seed: int) -> NDArray[np.float64]:
    """Probability of each component for each row, shape ``(len(points), n_components)``.

    Raises:
        ClusteringError: no covariance can be inverted.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    for ridge in RIDGES:
        mixture = GaussianMixture(
            n_components, covariance_type="full", random_state=seed, reg_covar=ridge
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                mixture.fit(points)
            except ValueError:  # a covariance is not positive definite
                continue
        found: NDArray[np.float64] = mixture.predict_proba(points)
        return found
    raise ClusteringError(
        f"a mixture of {n_components} components does not fit {len(points)} vectors; "
        'take clustering.method = "raptor"'
    )
