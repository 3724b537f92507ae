"""Corrections that a guard makes to groups of rows."""

from collections import Counter

import numpy as np
from support.clustering_cases import topics, unit

from raptor_core.clustering.guards import ClusterGuard, drop_subsets, is_real_split


def guard(vectors, n_tokens, max_tokens):
    return ClusterGuard(np.rint(vectors * 2.0**16), np.array(n_tokens), max_tokens)


def never(rows):
    raise AssertionError(f"reclustered {rows}")


def finished(guard, groups, recluster=never):
    return guard.correct_groups([np.array(rows) for rows in groups], recluster, {})


def test_a_lone_row_joins_the_most_similar_cluster():
    vectors, _ = topics(2, 4)
    found = finished(guard(vectors, [10] * 8, 100), [(0, 1), (2, 3), (4, 5, 6), (7,)])
    assert found.members == ((0, 1), (2, 3), (4, 5, 6, 7))
    assert found.details["merged_singletons"] == 1


def test_a_lone_row_for_which_none_has_room_shares_the_nearest_row():
    vectors, _ = topics(2, 4)
    groups = [(0, 1, 2), (3, 4), (5, 6), (7,)]
    found = finished(guard(vectors, [10, 10, 10, 20, 10, 10, 20, 20], 35), groups)
    assert found.members[:2] == ((0, 1, 2), (3, 4))
    assert len(found.members) == 4
    assert found.members[2:] in {((4, 7), (5, 6)), ((5, 6), (5, 7))}


def test_a_lone_row_that_another_cluster_holds_is_dropped():
    vectors, _ = topics(2, 3)
    found = finished(guard(vectors, [10] * 6, 100), [(0, 1, 2), (2,), (3, 4, 5)])
    assert found.members == ((0, 1, 2), (3, 4, 5))


def test_a_cluster_within_another_is_dropped():
    counts = Counter()
    kept = drop_subsets([np.array(rows) for rows in [(1, 2), (0, 1, 2), (2, 3), (2, 3)]], counts)
    assert sorted(rows.tolist() for rows in kept) == [[0, 1, 2], [2, 3]]
    assert counts["dropped_subsets"] == 2


def test_too_many_clusters_are_merged_most_similar_first():
    vectors = unit([[1, 0, 0], [1, 0.1, 0], [0, 1, 0], [0, 1, 0.1]])
    groups = [(0, 1), (0, 2), (1, 3), (2, 3)]
    found = finished(guard(vectors, [10] * 4, 40), groups)
    assert len(found.members) <= 2
    assert found.details["merged_clusters"] > 0


def test_a_cluster_over_its_budget_is_reclustered_then_halved():
    vectors, _ = topics(4, 8)
    asked = []

    def recluster(rows):
        asked.append(len(rows))
        return [rows] if len(rows) < 32 else [rows[:16], rows[16:]]

    found = finished(guard(vectors, [10] * 32, 80), [range(32)], recluster)
    assert asked == [32, 16, 16]
    assert [len(rows) for rows in found.members] == [8, 8, 8, 8]
    assert found.details["budget_splits"] == 3


def test_halves_part_topics_and_balance_tokens():
    vectors, _ = topics(2, 5)
    one, other = guard(vectors, [10] * 10, 100).halve_rows(np.arange(10))
    assert {tuple(one), tuple(other)} == {tuple(range(5)), tuple(range(5, 10))}
    one, other = guard(vectors, [50, *[10] * 5], 100).halve_rows(np.arange(6))
    assert min(len(one), len(other)) >= 2


def test_parts_that_would_not_end_the_splitting_are_refused():
    assert is_real_split([np.arange(5), np.arange(5, 10)], 10)
    assert not is_real_split([np.arange(10)], 10)
    assert not is_real_split([np.arange(9), np.arange(1)], 10)
    assert not is_real_split([np.arange(7)] * 3, 10)
