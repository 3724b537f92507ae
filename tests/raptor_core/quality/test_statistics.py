"""Compression and cluster size against their bounds, and the registry that lists the checks."""

import pytest
from support.trees import by_id, leaf, summary

from raptor_core.quality.cluster_size import evaluate_cluster_size, measure_cluster_size
from raptor_core.quality.compression import evaluate_compression, measure_compression
from raptor_core.quality.distribution import distribution
from raptor_core.quality.registry import LAYER_CHECKS, layer_verdicts
from raptor_core.settings import CheckSettings, Settings

LEAVES = [leaf(name) for name in "abcd"]
CHECKS = CheckSettings()


@pytest.mark.parametrize(
    ("n_tokens", "passed"), [(3, False), (4, True), (11, True), (24, True), (25, False)]
)
def test_the_mean_ratio_is_held_to_its_bounds(n_tokens, passed):
    found = evaluate_compression(
        measure_compression([summary("s", "abcd", n_tokens=n_tokens)], by_id(*LEAVES)), CHECKS
    )
    assert found.passed == passed
    assert found.severity == "warn"
    assert found.numbers["ratio_mean"] == pytest.approx(n_tokens / 40)


def test_children_without_tokens_are_not_divided_by():
    empty = leaf("z", n_tokens=0)
    report = measure_compression([summary("s", "z")], by_id(empty))
    assert report.unmeasured == 1
    assert evaluate_compression(report, CHECKS).numbers.get("ratio_mean") is None


def test_children_per_parent_are_held_to_their_bounds():
    report = measure_cluster_size([summary("s", "abcd")], by_id(*LEAVES), 3500)
    assert evaluate_cluster_size(report, CHECKS).passed
    narrow = CheckSettings(min_children=2, max_children=3)
    assert not evaluate_cluster_size(report, narrow).passed


def test_nothing_measured_is_no_figure():
    assert distribution([]).numbers("x") == {}
    assert distribution([1.23456]).numbers("x")["x_mean"] == 1.2346


def test_a_layer_is_told_of_by_every_check_even_when_it_is_empty():
    for nodes in ([], [summary("s", "ab"), summary("t", "cd")]):
        below = by_id(*LEAVES) if nodes else {}
        found = layer_verdicts(nodes, below, Settings())
        assert [verdict.name for verdict in found] == [check.name for check in LAYER_CHECKS]
        assert all(verdict.passed for verdict in found)
