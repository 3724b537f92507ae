"""Gaussian mixtures: BIC chooses the number of components, a threshold decides soft membership."""

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Rows
from raptor_core.threads import n_cores

REGULARIZATION = 1e-6
TOLERANCE = 1e-3
MAX_ROUNDS = 100
MAX_KMEANS_ROUNDS = 300
MAX_WORKERS = 8


def n_workers() -> int:
    """Return the number of processors for this process, at most 8; no result depends on it."""
    return min(MAX_WORKERS, n_cores())


@dataclass(frozen=True, eq=False)
class Mixture:
    """Fitted mixture.

    ``responsibilities`` has shape ``(n_components, n_points)``, and its columns sum to 1.
    ``log_likelihood`` is the mean over the points.
    """

    responsibilities: NDArray[np.float64]
    log_likelihood: float
    n_dims: int

    @property
    def n_components(self) -> int:
        """Number of components, empty ones included."""
        return len(self.responsibilities)

    @property
    def bic(self) -> float:
        """Bayesian information criterion; lower is better."""
        k, n = self.responsibilities.shape
        parameters = k * self.n_dims * (self.n_dims + 3) / 2 + k - 1
        return float(parameters * math.log(n) - 2.0 * n * self.log_likelihood)


def fit_mixture(points: NDArray[np.float32], k: int, seed: int) -> Mixture:
    """Fit a full-covariance mixture of ``k`` components to points ``(n, d)``, from k-means."""
    from raptor_core.clustering import mixture_kernels as kernels

    by_dimension = np.ascontiguousarray(points.T, dtype=np.float64)
    labels = kernels.kmeans_labels(by_dimension, k, seed, MAX_KMEANS_ROUNDS)
    fit = kernels.run_em(by_dimension, labels, k, REGULARIZATION, TOLERANCE, MAX_ROUNDS)
    return Mixture(*fit, n_dims=points.shape[1])


def fit_best_mixture(
    points: NDArray[np.float32],
    *,
    max_components: int,
    patience: int,
    seed: int,
    pool: Executor | None = None,
) -> Mixture:
    """Return the mixture with the lowest BIC for 1 to ``min(max_components, n - 1)`` components.

    The scan over points ``(n, d)`` stops after ``patience`` values of k without a better mixture; 0
    tries all. A pool fits several k at once; the result is the same.
    """
    best = fit_mixture(points, 1, seed)
    last = min(max_components, len(points) - 1)
    wave = n_workers() if pool else 1
    for start in range(2, last + 1, wave):
        ks = range(start, min(start + wave, last + 1))
        fit = partial(fit_mixture, points, seed=seed)
        for tried in pool.map(fit, ks) if pool else map(fit, ks):
            if tried.bic < best.bic:
                best = tried
            elif patience and tried.n_components - best.n_components >= patience:
                return best
    return best


def assign_softly(
    responsibilities: NDArray[np.float64], threshold: float
) -> tuple[list[tuple[Rows, tuple[float, ...]]], int]:
    """Assign rows to all components above ``threshold``, or else to the most probable one.

    Return the rows of each non-empty component with its responsibilities for them, and the number
    of rows above no threshold.
    """
    above = responsibilities > threshold
    forced = np.flatnonzero(~above.any(axis=0))
    above[responsibilities[:, forced].argmax(axis=0), forced] = True
    rounded = np.round(responsibilities, 4)
    members = [
        (np.flatnonzero(rows), resp[rows]) for rows, resp in zip(above, rounded, strict=True)
    ]
    return [(rows, tuple(resp.tolist())) for rows, resp in members if len(rows)], len(forced)
