"""Clustering of unusual layers: tiny, equal, heavy or broken rows."""

import numpy as np
import pytest
from support.clustering_cases import assert_valid, tokens, topics, unit

from raptor_core.clustering import Clusters, make_clusterer
from raptor_core.settings.trees import ClusteringSettings

METHODS = ("raptor", "contiguous", "kmeans", "gmm", "linkage", "louvain", "watershed")

by_method = pytest.mark.parametrize("method", METHODS)


def clustered(method, vectors, n_tokens, **changes):
    settings = ClusteringSettings(method=method, **changes)
    return make_clusterer(settings).cluster(vectors, n_tokens)


@by_method
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_rows_give_no_cluster(method, n):
    assert clustered(method, np.ones((n, 8), dtype=np.float32), tokens(n)) == Clusters(())


@by_method
@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_rows_are_one_cluster(method, n):
    vectors = unit(np.eye(8)[:n])
    assert clustered(method, vectors, tokens(n)).members == (tuple(range(n)),)


@pytest.mark.parametrize("n", range(2, 12))
def test_a_layer_of_few_rows_is_one_cluster(n):
    vectors = unit(np.random.default_rng(n).normal(size=(n, 16)))
    assert clustered("raptor", vectors, tokens(n)).members == (tuple(range(n)),)


def test_a_small_layer_over_the_budget_is_split():
    vectors, _ = topics(2, 4)
    clusters = clustered("raptor", vectors, tokens(8), max_tokens=400)
    assert clusters.members == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert clusters.details["budget_splits"] == 1


@by_method
def test_three_rows_of_which_only_two_fit_share_one(method):
    vectors = unit([[1, 0, 0], [0.9, 0.1, 0], [0, 0, 1]])
    clusters = clustered(method, vectors, tokens(3, 100), max_tokens=200)
    assert_valid(clusters, tokens(3, 100), 200)
    assert len(clusters.members) == 2


@by_method
def test_heavy_rows_share_the_one_light_row(method):
    vectors, _ = topics(2, 3)
    n_tokens = np.array([900, 900, 50, 900, 900, 900])
    clusters = clustered(method, vectors, n_tokens, max_tokens=1000)
    assert_valid(clusters, n_tokens, 1000)
    assert all(2 in rows for rows in clusters.members)


@by_method
def test_two_hundred_identical_rows(method):
    vectors = unit(np.ones((200, 16)))
    clusters = clustered(method, vectors, tokens(200))
    assert_valid(clusters, tokens(200), 3500)
    assert len(clusters.members) <= 60


@by_method
def test_many_duplicates_among_distinct_rows(method):
    distinct, _ = topics(3, 15)
    vectors = np.concatenate([distinct, np.repeat(distinct[:1], 60, axis=0)])
    assert_valid(clustered(method, vectors, tokens(105)), tokens(105), 3500)


@by_method
def test_two_distinct_vectors_only(method):
    vectors = unit(np.repeat(np.eye(4)[:2], 20, axis=0))
    clusters = clustered(method, vectors, tokens(40), cluster_size=20)
    assert_valid(clusters, tokens(40), 3500)
    assert all(max(rows) < 20 or min(rows) >= 20 for rows in clusters.members)


@by_method
def test_collinear_rows(method):
    angles = np.linspace(0.1, 1.4, 80)
    vectors = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert_valid(clustered(method, vectors, tokens(80)), tokens(80), 3500)


@by_method
def test_opposite_and_zero_vectors(method):
    vectors = np.concatenate([np.eye(6), -np.eye(6), np.zeros((6, 6))]).astype(np.float32)
    assert_valid(clustered(method, vectors, tokens(18)), tokens(18), 3500)


@by_method
def test_rows_without_tokens(method):
    vectors, _ = topics(3, 10)
    assert_valid(clustered(method, vectors, tokens(30, 0)), tokens(30, 0), 3500)


def test_one_component_only():
    vectors, _ = topics(1, 40)
    clusters = clustered("raptor", vectors, tokens(40), max_components=1)
    assert clusters.members[0] == tuple(range(40))
    assert clusters.details["global_components"] == 1
