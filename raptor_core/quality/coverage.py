"""Law 3: whoever is below the top has a parent, and no cluster has one member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

from raptor_core.nodes import Node
from raptor_core.quality.subjects import CheckedLayer, CheckedTrees
from raptor_core.quality.verdicts import N_WORST, Measured, WorstNode, check, children_of

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
    return _measured(len(layer.nodes) + len(layer.below), broken)


@check("coverage", "error", _ABOUT)
def tree_coverage(checked: CheckedTrees) -> Measured:
    """Whether nothing is broken in all layers, leaves first, held against each other."""
    by_layer = [
        _broken(nodes, {node.id: node for node in below})
        for below, nodes in pairwise(checked.layers)
    ]
    orphans, singles, unknown = zip(*by_layer, strict=True) if by_layer else ((), (), ())
    nodes = list(chain.from_iterable(checked.layers))
    together = (*(list(chain.from_iterable(p)) for p in (orphans, singles, unknown)),)
    return _measured(len(nodes), (*together, _repeated(nodes)))


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


def _repeated(nodes: Iterable[Node]) -> list[Node]:
    """Every node after the first with its id."""
    seen: Counter[str] = Counter()
    repeated = []
    for node in nodes:
        seen[node.id] += 1
        if seen[node.id] > 1:
            repeated.append(node)
    return repeated


def _measured(n_checked: int, broken: Sequence[Sequence[Node]]) -> Measured:
    found = dict(zip(_BROKEN, broken, strict=True))
    numbers = {"nodes_checked": float(n_checked)}
    numbers |= {_BROKEN[what]: float(len(nodes)) for what, nodes in found.items()}
    told = "; ".join(f"{len(nodes)} nodes {what}" for what, nodes in found.items() if nodes)
    worst = [
        WorstNode.of(n, len(n.children), f"node {what}")
        for what, nodes in found.items()
        for n in nodes[:N_WORST]
    ]
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    summary = f"{told or f'All {n_checked} nodes are covered'}."
    return Measured(not told, summary, numbers, worst, remedy)
