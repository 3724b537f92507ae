"""Laws 3, 4 and 5 as checks, and checks that block."""

from dataclasses import replace

import pytest
from support.trees import checked_clusters, checked_layer, checked_trees, leaf, summary

from raptor_core.checks.base import CheckResult, blocking_failures, require
from raptor_core.checks.sizes import token_budget
from raptor_core.checks.structure import coverage, shrink, unreadable_nodes
from raptor_core.errors import InvariantError
from raptor_core.settings import Settings

LEAVES = [leaf(name) for name in "abcd"]


def covered(*nodes):
    return coverage(checked_layer(nodes, LEAVES))


def test_a_node_without_a_parent_is_named():
    found = covered(summary("s", "abc"))
    assert not found.passed
    assert [worst.node_id for worst in found.worst] == ["d"]


def test_a_cluster_of_one_and_an_unknown_child_fail():
    assert not covered(summary("s", "abc"), summary("t", "d")).passed
    assert not covered(summary("s", "abcd"), summary("t", "xa")).passed


def test_layers_must_shrink():
    layer = [summary("s", "ab"), summary("t", "cd")]
    assert shrink(checked_trees([LEAVES, layer])).passed
    wide = [summary(name, "abcd") for name in "wxyz"]
    found = shrink(checked_trees([LEAVES, wide]))
    assert (found.passed, found.severity) == (False, "error")


@pytest.mark.parametrize(
    ("readers", "passed", "numbers"),
    [
        ({}, True, {"nodes_unreadable": 0}),
        ({"a": "xy", "b": "y", "c": "y", "d": "*"}, True, {"nodes_unreadable": 0}),
        ({"a": "x", "b": "y", "c": "y", "d": "y"}, False, {"layer_1_unreadable": 1}),
        ({"a": "x", "b": "x"}, False, {"layer_0_unreadable": 2, "layer_1_unreadable": 1}),
    ],
)
def test_nodes_that_nobody_may_read_are_counted_by_layer(readers, passed, numbers):
    leaves = [replace(node, documents=(node.id,)) for node in LEAVES]
    layer = [replace(summary(s, s), documents=tuple(s)) for s in ("ab", "cd")]
    found = unreadable_nodes(replace(checked_trees([leaves, layer]), readers=readers))
    assert (found.passed, found.severity) == (passed, "warn")
    assert numbers.items() <= found.numbers.items()


def test_a_cluster_over_the_budget_fails():
    for leaf_tokens, passed in ((125, True), (126, False)):
        below = [leaf(name, n_tokens=leaf_tokens) for name in "abcd"]
        settings = Settings.model_validate({"clustering": {"max_tokens": 500}})
        assert token_budget(checked_clusters([below], settings)).passed == passed


RESULTS = [
    CheckResult(f"{severity} {passed}", passed, severity, "Seen.", {}, remedy="Mend it.")
    for severity in ("error", "warn")
    for passed in (True, False)
]


def test_a_failed_error_blocks_and_nothing_else_does():
    assert [result.name for result in blocking_failures(RESULTS)] == ["error False"]


def test_a_build_ends_at_a_blocking_failure_with_its_remedy():
    with pytest.raises(InvariantError, match=r"Seen.*Mend it"):
        require(RESULTS)
    require([result for result in RESULTS if result.name != "error False"])
