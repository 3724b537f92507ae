"""Clustering of the paper: topics are found, and the result is deterministic."""

import numpy as np
from support.clustering_cases import assert_valid, tokens, topics

from raptor_core.clustering import make_clusterer, raptor
from raptor_core.settings.trees import ClusteringSettings


def clusters_of(vectors, **changes):
    settings = ClusteringSettings(**changes)
    return make_clusterer(settings).cluster(vectors, tokens(len(vectors)))


def test_the_number_of_workers_changes_nothing(monkeypatch):
    vectors, _ = topics(8, 25, spread=1.0)
    found = clusters_of(vectors)
    monkeypatch.setattr(raptor, "n_workers", lambda: 5)
    monkeypatch.setattr("raptor_core.clustering.mixture.n_workers", lambda: 5)
    assert clusters_of(vectors) == found


def test_clusters_keep_to_their_topics():
    vectors, labels = topics(12, 25)
    clusters = clusters_of(vectors)
    assert_valid(clusters, tokens(300), 3500)
    pure = [len(set(labels[list(rows)])) == 1 for rows in clusters.members]
    assert np.mean(pure) > 0.95


def test_a_row_between_two_components_is_in_both():
    generator = np.random.default_rng(0)
    soft = 0
    for spread in (2.0, 3.0, 4.0):
        vectors, _ = topics(6, 40, spread=spread, seed=int(generator.integers(99)))
        soft += clusters_of(vectors, threshold=0.01).details["clusters_per_row"] > 1.0
    assert soft


def test_a_very_large_layer_is_parted_first(monkeypatch):
    monkeypatch.setattr(raptor, "MAX_GLOBAL_ROWS", 200)
    vectors, labels = topics(20, 30)
    clusters = clusters_of(vectors)
    assert_valid(clusters, tokens(600), 3500)
    assert clusters.details["coarse_parts"] >= 6
    pure = [len(set(labels[list(rows)])) == 1 for rows in clusters.members]
    assert np.mean(pure) > 0.9
