"""Clustering to compare with: windows of neighbours, k-means, and one mixture of the vectors."""

import numpy as np
import pytest
from support.clustering_cases import assert_valid, tokens, topics

from raptor_core.clustering import make_clusterer
from raptor_core.settings.trees import ClusteringSettings
from raptor_lab.clustering.gmm import responsibilities


def clustered(method, vectors, n_tokens, **changes):
    settings = ClusteringSettings(method=method, **changes)
    return make_clusterer(settings).cluster(vectors, n_tokens)


def test_windows_follow_the_order_of_the_layer():
    clusters = clustered("contiguous", np.eye(22, dtype=np.float32), tokens(22))
    expected = (range(7), range(7, 14), range(14, 20), range(20, 22))
    assert clusters.members == tuple(map(tuple, expected))


def test_windows_shorten_to_keep_the_budget():
    clusters = clustered("contiguous", np.eye(6, dtype=np.float32), tokens(6, 100), max_tokens=300)
    assert clusters.members == ((0, 1, 2), (3, 4, 5))


def test_kmeans_parts_are_disjoint_and_near_the_size_asked():
    vectors, _ = topics(50, 40, spread=1.5)
    clusters = clustered("kmeans", vectors, tokens(len(vectors)), cluster_size=7)
    assert sum(map(len, clusters.members)) == len(vectors)
    assert 5 <= clusters.details["mean_members"] <= 9


def test_kmeans_ends_where_all_but_one_part_are_single_rows():
    vectors = np.repeat(np.eye(9, dtype=np.float32)[:1], 60, axis=0)
    vectors[:8] = np.eye(9, dtype=np.float32)[1:]
    clusters = clustered("kmeans", vectors, tokens(60))
    assert_valid(clusters, tokens(60), 3500)


def test_a_component_for_every_ten_nodes_and_memberships_that_sum_to_one():
    points = np.random.default_rng(0).normal(size=(60, 16))
    found = responsibilities(points, 224)
    assert found.shape == (6, 60)
    np.testing.assert_allclose(found.sum(axis=0), 1)


@pytest.mark.slow
def test_rows_that_are_all_the_same_fit_too():
    found = responsibilities(np.ones((40, 384)), 224)
    assert np.isfinite(found).all()


def test_linkage_finds_topics():
    vectors, topic = topics(5, 12)
    clusters = clustered("linkage", vectors, tokens(60), cluster_size=12)
    assert {len({int(topic[row]) for row in members}) for members in clusters.members} == {1}


def test_watershed_cuts_where_the_topic_changes():
    vectors = np.repeat(np.eye(4, dtype=np.float32), [5, 9, 4, 6], axis=0)
    clusters = clustered("watershed", vectors, tokens(24), cluster_size=6)
    expected = (range(5), range(5, 14), range(14, 18), range(18, 24))
    assert clusters.members == tuple(map(tuple, expected))
