"""Anchored clustering: rows that stay, placed rows, splits, merges, and the laws of any layer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clusterers import clusterer_of
from support.clustering_cases import assert_valid, tokens, topics, unit
from support.examples import examples

from raptor_core.clustering.anchored import ClusterBounds, cluster_anchored, match_earlier_clusters

BOUNDS = ClusterBounds(max_members=12, max_tokens=3500)


def clusterer(method="raptor"):
    return clusterer_of(method)


def by_label(labels):
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def run(vectors, kept, touched=(), bounds=BOUNDS, n_tokens=None, method="raptor"):
    n_tokens = tokens(len(vectors)) if n_tokens is None else n_tokens
    return cluster_anchored(vectors, n_tokens, kept, touched, clusterer(method), bounds)


def changed(found, kept):
    """Clusters that differ from the earlier ones."""
    return [rows for rows in found.members if list(rows) not in [list(k) for k in kept]]


def test_a_new_row_joins_the_cluster_of_its_topic_and_no_other_changes():
    vectors, labels = topics(6, 8)
    kept = by_label(labels)
    kept[3].remove(25)
    found = run(vectors, kept)
    assert changed(found, kept) == [tuple(by_label(labels)[3])]
    assert found.details["placed_rows"] == 1.0


def test_a_cluster_that_is_touched_anyhow_is_preferred_while_it_is_about_as_near():
    axis = np.eye(4, dtype=np.float32)
    left, right = axis[0] + 0.30 * axis[1], axis[0] - 0.30 * axis[1]
    vectors = unit(np.stack([left, left, right, right, axis[0] + 0.01 * axis[1]]))
    kept = [[0, 1], [2, 3]]
    assert (0, 1, 4) in run(vectors, kept).members
    assert (2, 3, 4) in run(vectors, kept, touched=[1]).members


def test_rows_that_resemble_nothing_old_found_a_cluster_of_their_own():
    vectors, labels = topics(5, 8, seed=3)
    kept = by_label(labels)[:4]
    found = run(vectors, kept)
    assert tuple(range(32, 40)) in found.members
    assert sorted(map(list, found.members))[:4] == kept
    assert found.earlier_indices.count(-1) == 1


def test_a_cluster_that_grows_over_its_bound_is_split_and_one_part_goes_on():
    vectors, labels = topics(3, 12, seed=1)
    kept = [by_label(labels)[0], by_label(labels)[1], by_label(labels)[2][:8]]
    more = unit(vectors[:1] + 0.02 * np.random.default_rng(2).normal(size=(2, vectors.shape[1])))
    found = run(np.concatenate([vectors, more]), kept)
    assert max(map(len, found.members)) <= BOUNDS.max_members
    parts = [rows for rows in found.members if set(rows) & set(kept[0])]
    assert len(parts) > 1
    assert sum(found.earlier_indices[found.members.index(rows)] == 0 for rows in parts) == 1
    assert found.details["split_clusters"] >= 1.0


def test_a_fitted_cluster_over_the_bound_stays_until_it_is_touched():
    vectors, labels = topics(2, 14)
    kept = by_label(labels)
    assert sorted(map(list, run(vectors, kept).members)) == kept
    touched = run(vectors, kept, touched=[1])
    assert tuple(kept[0]) in touched.members
    assert max(len(rows) for rows in touched.members if set(rows) & set(kept[1])) <= 12


def test_what_is_left_of_a_cluster_joins_the_nearest():
    vectors, labels = topics(4, 6)
    kept = by_label(labels)
    lone = np.concatenate([vectors[:18], vectors[18:19]])
    found = run(lone, [*kept[:3], [18]])
    assert len(found.members) == 3
    assert found.details["merged_remnants"] == 1.0
    assert_valid(found, tokens(19), 3500)


@st.composite
def changes(draw):
    """A layer, earlier clusters over some of its rows, and which of them are touched."""
    n = draw(st.integers(2, 40))
    seed = draw(st.integers(0, 2**16))
    generator = np.random.default_rng(seed)
    vectors = unit(generator.normal(size=(n, 6)))
    if draw(st.booleans()):
        vectors[:] = vectors[generator.integers(0, max(1, n // 4), n)]
    n_tokens = generator.integers(1, 60, n)
    old = [row for row in range(n) if generator.random() < draw(st.sampled_from([0.3, 0.8, 1.0]))]
    old = old or [0]
    n_clusters = draw(st.integers(1, 6))
    kept = [sorted({row for row in old if generator.random() < 0.4}) for _ in range(n_clusters)]
    kept[0] = sorted({*kept[0], old[0]})
    touched = [at for at in range(n_clusters) if generator.random() < 0.5]
    return vectors, n_tokens, kept, touched


@pytest.mark.slow
@given(changes(), st.sampled_from(["raptor", "gmm"]))
@examples(150)
def test_any_change_leaves_a_lawful_layer(change, method):
    vectors, n_tokens, kept, touched = change
    bounds = ClusterBounds(max_members=8, max_tokens=400)
    found = run(vectors, kept, touched, bounds, n_tokens, method)
    assert_valid(found, n_tokens, 400)
    origins = [origin for origin in found.earlier_indices if origin >= 0]
    assert len(set(origins)) == len(origins)
    again = run(vectors, kept, touched, bounds, n_tokens, method)
    assert again == found


def test_a_cluster_goes_on_from_the_one_that_most_of_it_comes_from():
    earlier = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert match_earlier_clusters([(0, 1, 2), (3, 4, 5, 6, 7), (8, 10), (9, 11)], earlier) == (
        0,
        1,
        2,
        -1,
    )
    assert match_earlier_clusters([(0, 4, 8)], earlier) == (-1,)
    assert match_earlier_clusters([(10, 11)], earlier) == (-1,)
