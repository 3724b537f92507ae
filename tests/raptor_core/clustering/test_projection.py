"""The plane on which clusters are shown."""

import numpy as np
import pytest

from raptor_core.clustering.projection import project


def test_the_plane_keeps_clusters_apart_and_is_the_same_every_time():
    rng = np.random.default_rng(3)
    centres = np.linalg.qr(rng.normal(size=(64, 3)))[0].T
    rows = np.repeat(np.arange(3), 20)
    vectors = (centres[rows] + rng.normal(scale=0.05, size=(60, 64))).astype(np.float32)
    groups = [np.flatnonzero(rows == at).tolist() for at in range(3)]
    points = project(vectors, groups)
    means = np.stack([points[rows == at].mean(axis=0) for at in range(3)])
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(axis=1)
    assert (nearest == rows).all()
    assert np.array_equal(project(vectors, groups), points)


@pytest.mark.parametrize(("n_groups", "n_dims"), [(30, 16), (5, 64)])
def test_the_plane_lies_along_the_largest_spread_of_the_centres(n_groups, n_dims):
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(4 * n_groups, n_dims)).astype(np.float32)
    groups = np.arange(4 * n_groups).reshape(n_groups, 4).tolist()
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    centres = np.stack([centred[group].sum(axis=0) / 2 for group in groups])
    axes = np.linalg.svd(centres)[2][:2]
    expected = np.abs(centred @ axes.T)
    assert np.allclose(np.abs(project(vectors, groups)), expected, atol=1e-5)


@pytest.mark.parametrize(("n", "groups"), [(0, []), (1, [[0]]), (4, [[0, 1, 2, 3]])])
def test_few_vectors_have_a_place_on_the_plane_too(n, groups):
    vectors = np.eye(4, 8, dtype=np.float32)[:n]
    points = project(vectors, groups)
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
