"""Compression and cluster size against their bounds, and the registry that lists the checks."""

import pytest
from support.trees import checked_clusters, checked_layer, leaf, summary

from raptor_core.checks.registry import LAYER_CHECKS, check_layer
from raptor_core.checks.sizes import cluster_size, compression_ratio

LEAVES = [leaf(name) for name in "abcd"]


@pytest.mark.parametrize(
    ("n_tokens", "passed"), [(3, False), (4, True), (11, True), (24, True), (25, False)]
)
def test_the_mean_ratio_is_held_to_its_bounds(n_tokens, passed):
    found = compression_ratio(checked_layer([summary("s", "abcd", n_tokens=n_tokens)], LEAVES))
    assert found.passed == passed
    assert found.severity == "warn"
    assert found.numbers["ratio_mean"] == pytest.approx(n_tokens / 40)


def test_children_without_tokens_are_not_divided_by():
    found = compression_ratio(checked_layer([summary("s", "z")], [leaf("z", n_tokens=0)]))
    assert found.numbers["unmeasured"] == 1
    assert "ratio_mean" not in found.numbers


def test_children_per_parent_are_held_to_their_bounds():
    assert cluster_size(checked_clusters([LEAVES])).passed
    found = cluster_size(checked_clusters([LEAVES], min_children=2, max_children=3))
    assert (found.passed, found.worst[0].node_id) == (False, "a")


def test_nodes_with_several_parents_are_told_as_a_share():
    clusters = checked_clusters([LEAVES[:3], LEAVES[2:]])
    assert cluster_size(clusters).numbers["several_parents_share"] == 0.25


def test_a_layer_is_told_of_by_every_check_even_when_it_is_empty():
    for nodes in ([], [summary("s", "ab"), summary("t", "cd")]):
        found = check_layer(checked_layer(nodes, LEAVES if nodes else []))
        assert [verdict.name for verdict in found] == [check.name for check in LAYER_CHECKS]
        assert all(verdict.passed for verdict in found)
