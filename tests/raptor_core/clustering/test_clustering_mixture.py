"""Gaussian mixtures: fit, choice by BIC, and soft membership."""

import numpy as np
import pytest

from raptor_core.clustering import mixture, mixture_kernels
from raptor_core.clustering.mixture import Mixture, assign_softly, fit_best_mixture, fit_mixture


def blobs(n=300, k=4, d=5, gap=4.0, seed=0):
    generator = np.random.default_rng(seed)
    labels = generator.integers(k, size=n)
    centers = generator.normal(size=(k, d)) * gap
    return (centers[labels] + generator.normal(size=(n, d))).astype(np.float32), labels


def started_alike(points, labels, k):
    """scikit-learn's mixture, started from the same hard labels."""
    from sklearn.mixture import GaussianMixture

    points = points.astype(np.float64)
    groups = [points[labels == c] for c in range(k)]
    covariances = [np.cov(g.T, bias=True) + 1e-6 * np.eye(points.shape[1]) for g in groups]
    return GaussianMixture(
        k,
        weights_init=[len(g) / len(points) for g in groups],
        means_init=[g.mean(axis=0) for g in groups],
        precisions_init=np.linalg.inv(covariances),
    ).fit(points)


@pytest.mark.parametrize("gap", [1.0, 2.0, 6.0])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_likelihood_bic_and_responsibilities_equal_scikit_learns(gap, k):
    points, _ = blobs(gap=gap)
    by_dimension = np.ascontiguousarray(points.T, dtype=np.float64)
    labels = mixture_kernels.kmeans_labels(by_dimension, k, 1, 300)
    theirs, ours = started_alike(points, labels, k), fit_mixture(points, k, 1)
    assert ours.log_likelihood == pytest.approx(theirs.score(points.astype(np.float64)), abs=1e-6)
    assert ours.bic == pytest.approx(theirs.bic(points.astype(np.float64)), abs=1e-2)
    expected = theirs.predict_proba(points.astype(np.float64)).T
    np.testing.assert_allclose(ours.responsibilities, expected, atol=1e-5)


def test_bic_finds_the_number_of_blobs():
    points, labels = blobs(n=400, k=6, d=3, gap=12.0, seed=2)
    best = fit_best_mixture(points, max_components=50, patience=6, seed=224)
    assert best.n_components == 6
    found = best.responsibilities.argmax(axis=0)
    assert len(set(zip(found.tolist(), labels.tolist(), strict=True))) == 6


def scan(monkeypatch, bics, **changes):
    """The k that a scan over these BIC values chooses, and the k that it tried."""
    tried = []

    def fake(points, k, seed):
        tried.append(k)
        likelihood = -bics[k - 1] / (2 * len(points))
        return Mixture(np.ones((k, len(points))) / k, likelihood, n_dims=0)

    monkeypatch.setattr(mixture, "fit_mixture", fake)
    monkeypatch.setattr(Mixture, "bic", property(lambda m: -2 * 12 * m.log_likelihood))
    settings = {"max_components": 50, "patience": 0, "seed": 0} | changes
    return fit_best_mixture(np.zeros((12, 2), dtype=np.float32), **settings).n_components, tried


LATE = [9, 5, 7, 7, 7, 4, 8, 8, 8, 1, 1, 1]


@pytest.mark.parametrize(
    ("bics", "changes", "chosen", "n_tried"),
    [
        (range(20, 0, -1), {}, 11, 11),
        (range(20, 0, -1), {"max_components": 4}, 4, 4),
        (LATE, {"patience": 3}, 2, 5),
        (LATE, {"patience": 4}, 10, 11),
    ],
    ids=["last", "limit", "patience", "late"],
)
def test_the_scan_ends_at_its_limits(monkeypatch, bics, changes, chosen, n_tried):
    assert scan(monkeypatch, bics, **changes) == (chosen, list(range(1, n_tried + 1)))


@pytest.mark.parametrize(
    ("responsibilities", "threshold", "members", "n_forced"),
    [
        ([[0.9, 0.3, 0.05], [0.05, 0.32, 0.9], [0.05, 0.38, 0.05]], 0.5, [[0], [2], [1]], 1),
        ([[0.95, 0.5], [0.05, 0.5]], 0.1, [[0, 1], [1]], 0),
        ([[1.0, 1.0], [0.0, 0.0]], 0.1, [[0, 1]], 0),
    ],
    ids=["the most probable", "every one above", "none of an empty one"],
)
def test_rows_belong_to_components(responsibilities, threshold, members, n_forced):
    groups, forced = assign_softly(np.array(responsibilities), threshold)
    assert ([rows.tolist() for rows, _ in groups], forced) == (members, n_forced)
