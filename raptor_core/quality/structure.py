"""How the layers of a tree hang together: coverage (law 3), shrinking (law 4), its height."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

from raptor_core.nodes import Node, Tree
from raptor_core.quality.checks import (
    CheckedLayer,
    CheckedTrees,
    Measured,
    WorstNode,
    check,
    children_of,
)

_ABOUT = (
    "Every node below has a parent, no summary has fewer than two children, and every child and "
    "every id exists exactly once."
)
_BROKEN = {
    "without a parent": "nodes_without_parent",
    "with fewer than two children": "clusters_of_one",
    "with an unknown child": "unknown_children",
    "with an id that occurs twice": "duplicate_ids",
}
"""What may be wrong with a node, and the number that counts it."""


@check("coverage", "error", _ABOUT)
def coverage(layer: CheckedLayer) -> Measured:
    """Whether one layer of summaries breaks nothing, held against the layer below."""
    broken = (*_broken(layer.nodes, layer.below), _repeated(layer.nodes))
    return _coverage_measured(len(layer.nodes) + len(layer.below), broken)


@check("coverage", "error", _ABOUT)
def tree_coverage(checked: CheckedTrees) -> Measured:
    """Whether nothing is broken in all layers, leaves first, held against each other."""
    by_layer = [
        _broken(nodes, {node.id: node for node in below})
        for below, nodes in pairwise(checked.layers)
    ]
    nodes = list(chain.from_iterable(checked.layers))
    together = [list(chain.from_iterable(parts)) for parts in zip(*by_layer, strict=True)]
    return _coverage_measured(len(nodes), (*(together or [[], [], []]), _repeated(nodes)))


def _broken(
    nodes: Sequence[Node], below: Mapping[str, Node]
) -> tuple[list[Node], list[Node], list[Node]]:
    """Nodes below without a parent; summaries of one child; those with an unknown child.

    A tree without a node in ``nodes`` ended below: its nodes need no parent.
    """
    summaries = [node for node in nodes if not node.is_leaf]
    trees = {node.tree for node in summaries}
    covered = {(node.tree, child) for node in summaries for child in node.children}
    return (
        [n for n in below.values() if n.tree in trees and (n.tree, n.id) not in covered],
        [n for n in summaries if len(set(n.children)) < 2],
        [n for n in summaries if len(children_of(n, below)) < len(n.children)],
    )


def _repeated(nodes: Sequence[Node]) -> list[Node]:
    """Every node after the first with its id."""
    first = {node.id: row for row, node in reversed([*enumerate(nodes)])}
    return [node for row, node in enumerate(nodes) if first[node.id] != row]


def _coverage_measured(n_checked: int, broken: Sequence[Sequence[Node]]) -> Measured:
    by_fault = dict(zip(_BROKEN, broken, strict=True))
    numbers = {"nodes_checked": n_checked}
    numbers |= {_BROKEN[what]: len(nodes) for what, nodes in by_fault.items()}
    told = "; ".join(f"{len(nodes)} nodes {what}" for what, nodes in by_fault.items() if nodes)
    worst = [
        WorstNode.of(n, len(n.children), f"node {what}")
        for what, nodes in by_fault.items()
        for n in nodes
    ]
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    summary = f"{told or f'All {n_checked} nodes are covered'}."
    return Measured(not told, summary, numbers, worst, remedy)


def _by_name(trees: Iterable[Tree]) -> list[Tree]:
    """The trees that have nodes."""
    return sorted((tree for tree in trees if tree.n_nodes), key=lambda tree: tree.name)


def _steps(trees: Iterable[Tree]) -> list[tuple[Node, int, int]]:
    """From each layer to the one above it: the first node there, nodes here, and nodes there."""
    return [
        (above.nodes[0], len(below.nodes), len(above.nodes))
        for tree in trees
        for below, above in pairwise(tree.layers)
    ]


@check("shrink", "error", "Every layer of a tree has fewer nodes than the one below.")
def shrink(checked: CheckedTrees) -> Measured:
    """Whether every tree shrinks from layer to layer."""
    trees = _by_name(checked.trees)
    steps = _steps(trees)
    growing = [(first, below, above) for first, below, above in steps if above >= below]
    n_growing = len({first.tree for first, *_ in growing})
    numbers: dict[str, float] = {
        "trees": len(trees),
        "trees_not_shrinking": n_growing,
        "layers_maximum": max((len(tree.layers) for tree in trees), default=0),
    }
    if ratios := [above / below for _, below, above in steps]:
        numbers["shrink_worst"] = max(ratios)
    summary = f"All {len(trees)} trees shrink from layer to layer."
    if growing:
        first, below, above = growing[0]
        summary = (
            f"{n_growing} trees do not shrink; tree '{first.tree}' has {above} nodes in layer "
            f"{first.layer} over {below} in layer {first.layer - 1}."
        )
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    return Measured(not growing, summary, numbers, (), remedy)
