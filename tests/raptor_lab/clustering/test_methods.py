"""Clustering to compare with: windows of neighbours, and one mixture of the vectors."""

import numpy as np
from support.clusterers import clusterer_of
from support.clustering_cases import tokens

from raptor_lab.clustering.gmm import responsibilities


def clustered(method, vectors, n_tokens, **changes):
    return clusterer_of(method, **changes).cluster(vectors, n_tokens)


def test_windows_follow_the_order_of_the_layer():
    clusters = clustered("contiguous", np.eye(22, dtype=np.float32), tokens(22))
    expected = (range(7), range(7, 14), range(14, 20), range(20, 22))
    assert clusters.members == tuple(map(tuple, expected))


def test_windows_shorten_to_keep_the_budget():
    clusters = clustered("contiguous", np.eye(6, dtype=np.float32), tokens(6, 100), max_tokens=300)
    assert clusters.members == ((0, 1, 2), (3, 4, 5))


def test_a_component_for_every_ten_nodes_and_memberships_that_sum_to_one():
    points = np.random.default_rng(0).normal(size=(60, 16))
    found = responsibilities(points, 224)
    assert found.shape == (6, 60)
    np.testing.assert_allclose(found.sum(axis=0), 1)
