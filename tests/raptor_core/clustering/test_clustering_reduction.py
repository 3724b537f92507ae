"""Reduction by UMAP: exact neighbours, fuzzy graph and layout."""

import warnings

import numpy as np
import pytest
from support.clustering_cases import topics, unit

from raptor_core.clustering import reduction
from raptor_core.clustering.reduction import (
    fuzzy_union_graph,
    nearest_neighbours,
    project_to_plane,
    round_to_grid,
    umap_layout,
)


def umap_learn():
    """The library, which warns on import that it has no tensorflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import umap
    return umap


def dense(heads, tails, weights, n):
    graph = np.zeros((n, n))
    graph[heads, tails] = weights
    return graph


def test_nearest_neighbours_are_exact(monkeypatch):
    monkeypatch.setattr(reduction, "BLOCK_ROWS", 17)
    vectors = unit(np.random.default_rng(0).normal(size=(60, 20)))
    rows, distances = nearest_neighbours(round_to_grid(vectors), 6)
    similarity = vectors.astype(np.float64) @ vectors.T
    np.fill_diagonal(similarity, -2)
    expected = np.argsort(-similarity, axis=1)[:, :6]
    assert (rows == expected).all()
    wanted = 1 - np.take_along_axis(similarity, expected, axis=1)
    np.testing.assert_allclose(distances, wanted, atol=1e-4)


def test_the_fuzzy_union_is_symmetric_and_as_defined():
    rows = np.array([[1, 2], [0, 2], [1, 3], [2, 1]])
    weights = np.array([[1.0, 0.5], [1.0, 0.25], [0.75, 1.0], [1.0, 0.5]])
    graph = dense(*fuzzy_union_graph(rows, weights), 4)
    directed = dense(np.repeat(np.arange(4), 2), rows.ravel(), weights.ravel(), 4)
    np.testing.assert_allclose(graph, directed + directed.T - directed * directed.T)


def trustworthiness(vectors, layout):
    from sklearn.manifold import trustworthiness as score

    return score(vectors, layout, n_neighbors=10, metric="cosine")


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.parametrize(("n_neighbors", "spread"), [(10, 1.0), (17, 2.0)])
def test_the_layout_is_as_trustworthy_as_umap_learns(n_neighbors, spread):
    vectors, _ = topics(10, 30, spread=spread)
    ours = umap_layout(round_to_grid(vectors), n_neighbors=n_neighbors, n_dims=10, epochs=0, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reducer = umap_learn().UMAP(
            n_neighbors=n_neighbors, n_components=10, metric="cosine", random_state=1
        )
        theirs = reducer.fit_transform(vectors)
    assert trustworthiness(vectors, ours) > trustworthiness(vectors, theirs) - 0.01


@pytest.mark.parametrize("shape", [(0, 8), (1, 8), (3, 8), (30, 16), (5, 64)])
def test_the_plane_lies_along_the_largest_spread(shape):
    vectors = np.random.default_rng(4).normal(size=shape).astype(np.float32)
    points = project_to_plane(vectors)
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0) if len(centred) else 0
    axes = np.linalg.svd(centred)[2][:2]
    assert np.allclose(np.abs(points), np.abs(centred @ axes.T), atol=1e-5)
    assert np.array_equal(project_to_plane(vectors), points)
