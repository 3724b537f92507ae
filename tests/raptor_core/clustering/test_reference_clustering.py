"""Method "reference": clusters of umap-learn and scikit-learn, as fitted."""

import warnings

import numpy as np
import pytest
from support.clustering_cases import assert_valid, tokens, topics, unit

from raptor_core.clustering import make_clusterer, raptor
from raptor_core.settings.trees import ClusteringSettings

EXACT = {"patience": 0, "epochs": 0}
"""As the paper's code has it: every k, and umap-learn's own number of epochs."""


def clustered(vectors, n_tokens, **changes):
    settings = ClusteringSettings(method="reference", **EXACT | changes)
    return make_clusterer(settings).cluster(vectors, n_tokens)


def by_hand(vectors, rows, n_neighbors):
    """One step of the paper's code, written down again with the two libraries."""
    from sklearn.mixture import GaussianMixture

    if len(rows) <= 11:
        return [rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from umap import UMAP

        layout = UMAP(
            n_neighbors=n_neighbors, n_components=10, metric="cosine", random_state=224
        ).fit_transform(vectors[rows])
        fits = [GaussianMixture(k, random_state=224).fit(layout) for k in range(1, len(rows))]
    likely = min(fits, key=lambda fit: fit.bic(layout)).predict_proba(layout)
    return [rows[column > 0.1] for column in likely.T]


@pytest.mark.rare
@pytest.mark.slow
def test_clusters_are_those_of_the_two_libraries():
    vectors, _ = topics(4, 12)
    rows = np.arange(48)
    regions = by_hand(vectors, rows, 6)
    wanted = {tuple(part) for region in regions for part in by_hand(vectors, region, 10)}
    assert {*clustered(vectors, tokens(48)).members} == wanted
    assert len(wanted) > 2


@pytest.mark.rare
@pytest.mark.slow
@pytest.mark.parametrize("max_tokens", [260, 3500])
def test_what_a_tree_needs_is_kept(max_tokens):
    vectors, _ = topics(4, 20)
    vectors = unit(np.concatenate([vectors, vectors[:5], -vectors[:3]]))
    n_tokens = np.random.default_rng(3).integers(20, 101, size=len(vectors))
    clusters = clustered(vectors, n_tokens, max_tokens=max_tokens)
    assert_valid(clusters, n_tokens, max_tokens, min_members=1)
    assert clustered(vectors, n_tokens, max_tokens=max_tokens) == clusters


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
