"""Laws 3, 4 and 5 as checks: coverage, shrink, budget, and the store against its manifest."""

from support.trees import by_id, leaf, summary

from raptor_core.quality.cluster_size import evaluate_token_budget, measure_cluster_size
from raptor_core.quality.coverage import (
    evaluate_coverage,
    measure_coverage,
    measure_tree_coverage,
)
from raptor_core.quality.shrink import evaluate_shrink, measure_shrink
from raptor_core.quality.stored import evaluate_store, measure_store
from raptor_core.store.base import Manifest

LEAVES = [leaf(name) for name in "abcd"]


def coverage(*nodes):
    return evaluate_coverage(measure_coverage(nodes, by_id(*LEAVES)))


def test_a_layer_that_covers_all_below_passes():
    assert coverage(summary("s", "ab"), summary("t", "bcd")).passed


def test_a_node_without_a_parent_is_named():
    found = coverage(summary("s", "abc"))
    assert not found.passed
    assert [worst.node_id for worst in found.worst] == ["d"]


def test_a_cluster_of_one_and_an_unknown_child_fail():
    assert not coverage(summary("s", "abc"), summary("t", "d")).passed
    assert not coverage(summary("s", "abcd"), summary("t", "xa")).passed


def test_a_whole_tree_is_covered_layer_by_layer():
    layer = [summary("s", "ab"), summary("t", "cd")]
    top = [summary("r", "st", layer=2)]
    assert evaluate_coverage(measure_tree_coverage([LEAVES, layer, top])).passed
    lost = [summary("r", "sx", layer=2)]
    assert not evaluate_coverage(measure_tree_coverage([LEAVES, layer, lost])).passed


def test_layers_must_shrink():
    layer = [summary("s", "ab"), summary("t", "cd")]
    assert evaluate_shrink(measure_shrink([LEAVES, layer])).passed
    wide = [summary(name, "abcd") for name in "wxyz"]
    found = evaluate_shrink(measure_shrink([LEAVES, wide]))
    assert (found.passed, found.severity) == (False, "error")


def test_a_cluster_over_the_budget_fails():
    report = measure_cluster_size([summary("s", "abcd")], by_id(*LEAVES), 40)
    assert evaluate_token_budget(report).passed
    report = measure_cluster_size([summary("s", "abcd")], by_id(*LEAVES), 39)
    assert not evaluate_token_budget(report).passed


def stored(live, expected="ab", sizes=(2,)):
    manifest = Manifest("t", "b", sizes, 9, {}, "end", "f", "2025-01-01T00:00:00+00:00")
    return evaluate_store([measure_store(manifest, live, expected)])


def test_the_store_must_hold_the_published_nodes_and_no_other():
    assert stored("ab").passed
    assert not stored("a").passed
    assert not stored("abc").passed
    assert not stored("aab").passed
    assert not stored("ab", sizes=(3,)).passed
    assert not evaluate_store([measure_store(None, "ab", "ab")]).passed
