"""The paper's clustering: global, then local within each global cluster (RAPTOR, section 3).

Once by parts that are written out here, and once by the libraries that its authors used, umap-learn
and scikit-learn, to set the one beside the other: those are slower, and compile in every process.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from raptor_core.blas import one_blas_thread
from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import Guard, GuardedClusterer
from raptor_core.clustering.kmeans import coarse_parts
from raptor_core.clustering.mixture import Mixture, best_mixture, n_workers, soft_members
from raptor_core.clustering.reduction import Doubles, umap_layout
from raptor_core.settings.trees import ClusteringSettings
from raptor_core.vectors import Vectors

MAX_GLOBAL_ROWS = 8192

_ALONE = threading.Lock()
"""umap-learn's compiled loops are not safe in several threads at once."""


@dataclass(frozen=True)
class RaptorClusterer(GuardedClusterer):
    """Soft clusters by UMAP and Gaussian mixtures, the number of them by BIC.

    A layer of at most ``dimensions + 1`` rows is one cluster, if the budget allows. One of more
    than 8,192 rows is first parted by k-means, so that time and memory stay linear.
    """

    method = "raptor"
    read_settings = frozenset(
        {
            *("dimensions", "local_neighbors", "threshold", "max_components", "patience"),
            *("epochs", "max_tokens", "seed"),
        }
    )

    def _cluster(self, grid: Doubles, guard: Guard) -> Clusters:
        with ThreadPoolExecutor(n_workers()) as pool:
            run = _Run(grid, self, pool)
            groups = run.groups(np.arange(len(grid)))
            keys = ("coarse_parts", "global_components", "local_components", "forced_rows")
            details = {"threshold": self.settings.threshold}
            details |= {key: float(run.counts[key]) for key in keys}
            found = guard.finish(groups, run.groups, details)
        likely = tuple(run.fitted.get(rows, ()) for rows in found.members)
        return replace(found, responsibilities=likely)

    def mixture(self, points: Doubles, n_neighbors: int, pool: Executor | None) -> Mixture:
        """The best mixture over a layout of points ``(n, d)``, n > ``dimensions + 1``."""
        chosen = self.settings
        layout = umap_layout(
            points,
            n_neighbors=n_neighbors,
            n_dims=chosen.dimensions,
            epochs=chosen.epochs,
            seed=chosen.seed,
        )
        return best_mixture(
            layout,
            max_components=chosen.max_components,
            patience=chosen.patience,
            seed=chosen.seed,
            pool=pool,
        )


@dataclass(frozen=True)
class ReferenceClusterer(RaptorClusterer):
    """As ``RaptorClusterer``, by umap-learn's layout and every mixture of scikit-learn's scan.

    Groups stay as they were fitted, but for what a tree cannot be without: no row is left out or
    alone, no cluster is over its budget, and there are fewer clusters than rows.
    """

    method = "reference"
    as_fitted = True

    def _grid(self, vectors: Vectors) -> Doubles:
        return vectors.astype(np.float64)  # not rounded

    def mixture(self, points: Doubles, n_neighbors: int, pool: Executor | None) -> Mixture:  # noqa: ARG002 - one after the other
        """See ``RaptorClusterer.mixture``; ``epochs`` and ``patience`` hold here too."""
        from sklearn.exceptions import ConvergenceWarning

        from raptor_core.clustering.compiled import ensure_cache

        with _ALONE, one_blas_thread, warnings.catch_warnings():
            ensure_cache()
            for category in (ImportWarning, UserWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", category)
            from umap import UMAP

            layout = UMAP(
                n_neighbors=n_neighbors,
                n_components=min(self.settings.dimensions, len(points) - 2),
                metric="cosine",
                n_epochs=self.settings.epochs or None,
                random_state=self.settings.seed,
                n_jobs=1,
            ).fit_transform(points)
            return self._best(layout)

    def _best(self, layout: NDArray[np.float32]) -> Mixture:
        """The mixture of lowest BIC for 1 to ``min(max_components, n) - 1`` components."""
        from sklearn.mixture import GaussianMixture

        def fitted(k: int) -> GaussianMixture:
            return GaussianMixture(k, random_state=self.settings.seed).fit(layout)

        best = fitted(1)
        best_bic, patience = best.bic(layout), self.settings.patience
        for k in range(2, min(self.settings.max_components, len(layout))):
            fit = fitted(k)
            if (bic := fit.bic(layout)) < best_bic:
                best, best_bic = fit, bic
            elif patience and k - best.n_components >= patience:
                break
        likely: NDArray[np.float64] = best.predict_proba(layout).T
        return Mixture(likely, best.score(layout), layout.shape[1])


@dataclass(frozen=True, eq=False)
class _Run:
    """One layer on its way; ``counts`` explains what was done.

    ``fitted`` are the responsibilities of each component for its rows.
    """

    grid: Doubles
    clusterer: RaptorClusterer
    pool: ThreadPoolExecutor
    counts: Counter[str] = field(default_factory=Counter)
    fitted: dict[tuple[int, ...], tuple[float, ...]] = field(default_factory=dict)

    @property
    def settings(self) -> ClusteringSettings:
        return self.clusterer.settings

    def groups(self, rows: Rows) -> list[Rows]:
        """Soft groups of ``rows``, global then local; they cover the rows."""
        if len(rows) <= MAX_GLOBAL_ROWS:
            return self.global_then_local(rows)
        parts = coarse_parts(self.grid[rows], MAX_GLOBAL_ROWS // 2, self.settings.seed)
        self.counts["coarse_parts"] += len(parts)
        return [group for part in parts for group in self.global_then_local(rows[part])]

    def global_then_local(self, rows: Rows) -> list[Rows]:
        """Soft groups of at most 8,192 rows."""
        n_neighbors = math.isqrt(max(1, len(rows) - 1))
        regions, forced = self.mixed(rows, n_neighbors, self.pool)
        self.counts["global_components"] += len(regions)
        self.counts["forced_rows"] += forced
        local = partial(self.mixed, n_neighbors=self.settings.local_neighbors, pool=None)
        found: list[Rows] = []
        for groups, forced in self.pool.map(local, regions):
            self.counts["local_components"] += len(groups)
            self.counts["forced_rows"] += forced
            found.extend(groups)
        return found

    def mixed(
        self, rows: Rows, n_neighbors: int, pool: ThreadPoolExecutor | None
    ) -> tuple[list[Rows], int]:
        """Soft groups by one reduction and one mixture; all rows as one where they are few.

        Also how many rows were above no threshold.
        """
        points = self.grid[rows]
        if len(rows) <= self.settings.dimensions + 1 or not (points != points[0]).any():
            return [rows], 0
        mixture = self.clusterer.mixture(points, n_neighbors, pool)
        members, forced = soft_members(mixture.responsibilities, self.settings.threshold)
        found = [(rows[member], likely) for member, likely in members]
        self.fitted.update((tuple(part.tolist()), likely) for part, likely in found)
        return [part for part, _ in found], forced
