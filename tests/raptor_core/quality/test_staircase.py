"""Layers that hardly shrink and trees that are too deep."""

import pytest
from support.trees import checked_trees, leaf, summary

from raptor_core.quality.structure import layers_needed, staircase


def layers(*sizes):
    first = [leaf(f"0-{n}") for n in range(sizes[0])]
    above = [
        [summary(f"{layer}-{n}", "xy", layer=layer) for n in range(size)]
        for layer, size in enumerate(sizes[1:], 1)
    ]
    return [first, *above]


def judge(*sizes, **bounds):
    return staircase(checked_trees(layers(*sizes), **bounds))


@pytest.mark.parametrize(
    ("n_leaves", "top", "needed"),
    [(1, 1, 0), (2, 1, 1), (6, 1, 1), (7, 1, 2), (572, 1, 4), (572, 11, 3)],
)
def test_the_layers_that_leaves_ask_for(n_leaves, top, needed):
    assert layers_needed(n_leaves, top) == needed


@pytest.mark.parametrize("sizes", [(100, 18, 4, 1), (100,), (3, 2, 1), (9, 8, 1), (0,)])
def test_a_tree_that_narrows_passes(sizes):
    assert judge(*sizes).passed


def test_a_layer_nearly_as_wide_as_the_one_below_is_named():
    found = judge(100, 80, 12, 2)
    assert (found.name, found.passed, found.severity) == ("staircase", False, "warn")
    assert found.numbers["shrink_worst"] == 0.8
    assert found.numbers["flat_layers"] == 1
    assert [(w.node_id, w.why) for w in found.worst] == [("1-0", "layer 1: 80 over 100")]
    assert judge(100, 80, 12, 2, max_shrink=0.8).passed


def test_a_tree_with_many_more_layers_than_needed_is_named():
    sizes = (64, 32, 16, 8, 4, 2, 1)
    found = judge(*sizes)
    assert not found.passed
    assert found.numbers["tall_trees"] == 1
    assert found.numbers["extra_layers_maximum"] == 3
    assert found.worst[0].why == "6 layers where 3 would do"
    assert judge(*sizes, max_extra_layers=3).passed


def test_no_tree_passes():
    assert staircase(checked_trees([])).passed
