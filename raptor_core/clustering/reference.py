"""The paper's clustering with umap-learn and scikit-learn, like its authors'.

It is slower than ``raptor``, and compiles in every process.
"""

import threading
import warnings
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.mixture import Mixture
from raptor_core.clustering.raptor import RaptorClusterer
from raptor_core.clustering.reduction import Doubles
from raptor_core.threads import one_blas_thread
from raptor_core.vectors import Vectors

_UMAP_LOCK = threading.Lock()
"""umap-learn's compiled loops are not safe in several threads at the same time."""


@dataclass(frozen=True)
class ReferenceClusterer(RaptorClusterer):
    """Soft clusters by umap-learn's layout and scikit-learn's mixtures, with the full scan.

    Groups stay as they were fitted, except for three laws that a tree needs: every row is in a
    cluster, though some are alone in one; no cluster exceeds its budget; and there are fewer
    clusters than rows.
    """

    method = "reference"
    as_fitted = True
    keeps_fits = True

    def _grid(self, vectors: Vectors) -> Doubles:
        return vectors.astype(np.float64)  # not rounded

    def fit_layout_mixture(
        self,
        points: Doubles,
        n_neighbors: int,
        pool: Executor | None,  # noqa: ARG002 - fits run in sequence
    ) -> Mixture:
        """Fit the best mixture; see ``RaptorClusterer.fit_layout_mixture``."""
        from sklearn.exceptions import ConvergenceWarning

        from raptor_core.clustering.compiled import ensure_numba_cache

        with _UMAP_LOCK, one_blas_thread, warnings.catch_warnings():
            ensure_numba_cache()
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
            return self._fit_best_mixture(layout)

    def _fit_best_mixture(self, layout: NDArray[np.float32]) -> Mixture:
        """Return the mixture of lowest BIC for 1 to ``min(max_components, n) - 1`` components."""
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
        resp: NDArray[np.float64] = best.predict_proba(layout).T
        return Mixture(resp, best.score(layout), layout.shape[1])
