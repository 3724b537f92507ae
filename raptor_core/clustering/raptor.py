"""The paper's clustering: global, then local within each global cluster (RAPTOR, section 3).

It uses the compiled kernels of this package; ``reference`` uses umap-learn and scikit-learn, like
the paper's authors.
"""

import math
import warnings
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import ClusterGuard, Grid, GuardedClustererBase
from raptor_core.clustering.mixture import Mixture, assign_softly, fit_best_mixture, n_workers
from raptor_core.clustering.reduction import Doubles, umap_layout
from raptor_core.settings.trees import ClusteringSettings

MAX_GLOBAL_ROWS = 8192


def split_into_coarse_parts(grid: Grid, max_rows: int, seed: int) -> list[Rows]:
    """Split the rows into disjoint parts of at most ``max_rows`` rows each, rows ascending.

    A part that k-means cannot split is cut in the order of its rows.
    """
    if len(grid) <= max_rows:
        return [np.arange(len(grid))]
    labels = bisect_into_parts(grid, -(-2 * len(grid) // max_rows), seed)
    parts = (np.flatnonzero(labels == label) for label in range(labels.max() + 1))
    return [p for rows in parts for p in np.array_split(rows, -(-len(rows) // max_rows))]


def bisect_into_parts(grid: Grid, n_parts: int, seed: int) -> Rows:
    """Label the rows by repeatedly splitting the largest part in two with k-means.

    One thread computes the sums, because their order decides ties.
    """
    from sklearn.cluster import BisectingKMeans
    from threadpoolctl import threadpool_limits

    parts = BisectingKMeans(n_parts, random_state=seed, bisecting_strategy="largest_cluster")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that are all the same
        return np.asarray(parts.fit_predict(grid.astype(np.float32)), dtype=np.int64)


@dataclass(frozen=True)
class RaptorClusterer(GuardedClustererBase):
    """Soft clusters from UMAP and Gaussian mixtures; BIC chooses their number.

    A layer of at most ``dimensions + 1`` rows is one cluster, if the budget allows it. A layer of
    more than 8,192 rows is first split by k-means, so that time and memory stay linear.
    """

    method = "raptor"
    used_settings = frozenset(
        {
            *("dimensions", "local_neighbors", "threshold", "max_components", "patience"),
            *("epochs", "max_tokens", "seed"),
        }
    )

    def _cluster(self, grid: Doubles, guard: ClusterGuard) -> Clusters:
        with ThreadPoolExecutor(n_workers()) as pool:
            layer = _LayerClustering(grid, self, pool)
            groups = layer.cluster_rows(np.arange(len(grid)))
            keys = ("coarse_parts", "global_components", "local_components", "forced_rows")
            details = {"threshold": self.settings.threshold}
            details |= {key: float(layer.counts[key]) for key in keys}
            clusters = guard.correct_groups(groups, layer.cluster_rows, details)
        member_resp = tuple(
            layer.fitted_responsibilities.get(rows, ()) for rows in clusters.members
        )
        return replace(clusters, responsibilities=member_resp)

    def fit_layout_mixture(
        self, points: Doubles, n_neighbors: int, pool: Executor | None
    ) -> Mixture:
        """Fit the best mixture over a layout of points ``(n, d)``, n > ``dimensions + 1``."""
        chosen = self.settings
        layout = umap_layout(
            points,
            n_neighbors=n_neighbors,
            n_dims=chosen.dimensions,
            epochs=chosen.epochs,
            seed=chosen.seed,
        )
        return fit_best_mixture(
            layout,
            max_components=chosen.max_components,
            patience=chosen.patience,
            seed=chosen.seed,
            pool=pool,
        )


@dataclass(frozen=True, eq=False)
class _LayerClustering:
    """Clustering of a layer in progress, with the responsibilities of each fitted component."""

    grid: Doubles
    clusterer: RaptorClusterer
    pool: ThreadPoolExecutor
    counts: Counter[str] = field(default_factory=Counter)
    fitted_responsibilities: dict[tuple[int, ...], tuple[float, ...]] = field(default_factory=dict)

    @property
    def settings(self) -> ClusteringSettings:
        return self.clusterer.settings

    def cluster_rows(self, rows: Rows) -> list[Rows]:
        """Return soft groups of ``rows``, global then local, that cover the rows."""
        if len(rows) <= MAX_GLOBAL_ROWS:
            return self.cluster_global_then_local(rows)
        parts = split_into_coarse_parts(self.grid[rows], MAX_GLOBAL_ROWS, self.settings.seed)
        self.counts["coarse_parts"] += len(parts)
        return [group for part in parts for group in self.cluster_global_then_local(rows[part])]

    def cluster_global_then_local(self, rows: Rows) -> list[Rows]:
        """Return soft groups of at most 8,192 rows."""
        n_neighbors = math.isqrt(max(1, len(rows) - 1))
        regions, forced = self.fit_groups(rows, n_neighbors, self.pool)
        self.counts["global_components"] += len(regions)
        self.counts["forced_rows"] += forced
        local = partial(self.fit_groups, n_neighbors=self.settings.local_neighbors, pool=None)
        result: list[Rows] = []
        for groups, forced in self.pool.map(local, regions):
            self.counts["local_components"] += len(groups)
            self.counts["forced_rows"] += forced
            result.extend(groups)
        return result

    def fit_groups(
        self, rows: Rows, n_neighbors: int, pool: ThreadPoolExecutor | None
    ) -> tuple[list[Rows], int]:
        """Group rows by one reduction and mixture; also return the number above no threshold."""
        points = self.grid[rows]
        if len(rows) <= self.settings.dimensions + 1 or not (points != points[0]).any():
            return [rows], 0
        mixture = self.clusterer.fit_layout_mixture(points, n_neighbors, pool)
        members, forced = assign_softly(mixture.responsibilities, self.settings.threshold)
        groups = [(rows[member], resp) for member, resp in members]
        self.fitted_responsibilities.update((tuple(group.tolist()), resp) for group, resp in groups)
        return [group for group, _ in groups], forced
