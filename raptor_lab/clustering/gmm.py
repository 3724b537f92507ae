"""Clustering by a Gaussian mixture over the embeddings, a common simplification of RAPTOR.

There is neither a reduction nor BIC: a mixture has a component per ten nodes, with full covariances
(scikit-learn's EM). In hundreds of dimensions, memberships are nearly hard. The method is only for
comparisons; the paper's method is in ``raptor_core.clustering.raptor``.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import ClusterGuard, GuardedClustererBase
from raptor_core.clustering.mixture import assign_softly
from raptor_core.clustering.raptor import split_into_coarse_parts
from raptor_core.clustering.reduction import Doubles
from raptor_core.errors import ClusteringError

NODES_PER_COMPONENT = 10
MAX_ROWS = 2048
"""Maximum rows of a mixture, because each component needs ``n_dims`` squared numbers."""
RIDGES = (1e-6, 1e-4, 1e-2)
"""Values to add to the variances; the next one is tried if a covariance cannot be inverted."""


@dataclass(frozen=True)
class GmmClusterer(GuardedClustererBase):
    """Clusterer that fits a mixture with ``max(1, n // 10)`` components."""

    method = "gmm"
    used_settings = frozenset({"threshold", "max_tokens", "seed"})
    keeps_fits = True

    def _cluster(self, grid: Doubles, guard: ClusterGuard) -> Clusters:
        fitted: dict[tuple[int, ...], tuple[float, ...]] = {}

        def groups(rows: Rows) -> list[Rows]:
            soft_groups = []
            for part in split_into_coarse_parts(grid[rows], MAX_ROWS, self.settings.seed):
                resp = compute_responsibilities(grid[rows[part]], self.settings.seed)
                for members, member_resp in assign_softly(resp, self.settings.threshold)[0]:
                    soft_groups.append(rows[part][members])
                    fitted[tuple(soft_groups[-1].tolist())] = member_resp
            return soft_groups

        fit = groups(np.arange(len(grid)))
        result = guard.correct_groups(fit, groups, {"components": float(len(fit))})
        member_resp = tuple(fitted.get(rows, ()) for rows in result.members)
        return replace(result, responsibilities=member_resp)


def compute_responsibilities(points: Doubles, seed: int) -> NDArray[np.float64]:
    """Return the probability of each component for each row, ``(n_components, len(points))``.

    Raises:
        ClusteringError: no covariance can be inverted.
    """
    n_components = len(points) // NODES_PER_COMPONENT
    if n_components < 2:
        return np.ones((1, len(points)))
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
        probabilities: NDArray[np.float64] = mixture.predict_proba(points).T
        return probabilities
    raise ClusteringError(
        f"a mixture of {n_components} components does not fit {len(points)} vectors; "
        "remove components.clusterer"
    )
