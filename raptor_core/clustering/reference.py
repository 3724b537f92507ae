"""The paper's clustering by the libraries that its authors used: umap-learn and scikit-learn.

Slower than ``raptor``, whose parts are written out here, and it compiles in every process; it is
for setting the one beside the other. A layer's groups stay as they were fitted, but for what a
tree cannot be without: no row is left out or alone, no cluster is over its budget, and there are
fewer clusters than rows.
"""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.blas import one_blas_thread
from raptor_core.clustering.mixture import Mixture
from raptor_core.clustering.raptor import RaptorClusterer
from raptor_core.clustering.reduction import Doubles
from raptor_core.vectors import Vectors

_ALONE = threading.Lock()
"""umap-learn's compiled loops are not safe in several threads at once."""


@dataclass(frozen=True)
class ReferenceClusterer(RaptorClusterer):
    """As ``RaptorClusterer``, by umap-learn's layout and every mixture of scikit-learn's scan."""

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
