"""Checks of a whole tree: coverage (law 3), shrinking layers (law 4), and readers of its nodes."""

from collections.abc import Sequence
from itertools import chain, pairwise

from raptor_core.checks import base
from raptor_core.nodes import Node
from raptor_core.store.facts import common_readers

MAX_UNREADABLE = 0.1
"""Maximum share of nodes without readers."""

_BROKEN = {
    "without a parent": "nodes_without_parent",
    "with too few children": "clusters_of_one",
    "with an unknown child": "unknown_children",
    "with an id that occurs twice": "duplicate_ids",
}
"""Faults of a node, each with the name of the number that counts it."""


@base.check(
    "coverage",
    "error",
    "Every node of the layer below has a parent, no summary has fewer than two children (one for "
    "the method reference), and every child and every id exists exactly once.",
)
def check_child_links(layer: base.CheckedLayer) -> base.CheckMeasurement:
    """Count the faults in the links between a layer of summaries and the layer below."""
    by_fault = dict(
        zip(
            _BROKEN,
            (*_nodes_with_broken_links(layer), _nodes_with_repeated_ids(layer.nodes)),
            strict=True,
        )
    )
    n_checked = len(layer.nodes) + len(layer.nodes_below)
    numbers = {"nodes_checked": n_checked}
    numbers |= {_BROKEN[fault]: len(nodes) for fault, nodes in by_fault.items()}
    faults = "; ".join(f"{len(nodes)} nodes {fault}" for fault, nodes in by_fault.items() if nodes)
    worst = [
        base.WorstNode.from_node(n, len(n.children), f"node {fault}")
        for fault, nodes in by_fault.items()
        for n in nodes
    ]
    remedy = "Build the partition again from its chunks; if that fails, the clusterer is broken."
    summary = f"{faults or f'All {n_checked} nodes are covered'}."
    return base.CheckMeasurement(not faults, summary, numbers, worst, remedy)


def _nodes_with_broken_links(layer: base.CheckedLayer) -> tuple[list[Node], list[Node], list[Node]]:
    """Return nodes without a parent, and summaries with too few or with unknown children.

    A tree that has no node in this layer ends below it, so its nodes need no parent.
    """
    below, summaries = layer.nodes_below, layer.summaries
    trees = {node.tree for node in summaries}
    covered = {(node.tree, child) for node in summaries for child in node.children}
    return (
        [n for n in below.values() if n.tree in trees and (n.tree, n.id) not in covered],
        [n for n in summaries if len(set(n.children)) < layer.settings.clustering.min_members],
        [n for n in summaries if len(base.children_of(n, below)) < len(n.children)],
    )


def _nodes_with_repeated_ids(nodes: Sequence[Node]) -> list[Node]:
    """Return every node that has the id of an earlier node."""
    first = {node.id: row for row, node in reversed([*enumerate(nodes)])}
    return [node for row, node in enumerate(nodes) if first[node.id] != row]


@base.check("shrink", "error", "Every layer of a tree has fewer nodes than the one below.")
def check_shrinking_layers(checked: base.CheckedTrees) -> base.CheckMeasurement:
    """Count the trees that do not shrink from layer to layer."""
    trees = sorted((tree for tree in checked.trees if tree.n_nodes), key=lambda tree: tree.name)
    steps = [
        (above.nodes[0], len(below.nodes), len(above.nodes))
        for tree in trees
        for below, above in pairwise(tree.layers)
    ]
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
    remedy = "Build the partition again from its chunks; if that fails, the clusterer is broken."
    return base.CheckMeasurement(not growing, summary, numbers, (), remedy)


@base.check(
    "unreadable_nodes",
    "warn",
    "Share of nodes that nobody may read, because their documents have no reader in common. It is "
    "0 if no document declares readers.",
)
def unreadable_nodes(checked: base.CheckedTrees) -> base.CheckMeasurement:
    """Measure the share of nodes without readers, by layer."""
    layers = checked.layers if checked.readers else []
    without = [[n for n in of if not common_readers(n.documents, checked.readers)] for of in layers]
    n_nodes, nodes = sum(map(len, layers)), list(chain.from_iterable(reversed(without)))
    share = len(nodes) / max(n_nodes, 1)
    numbers: dict[str, float] = {"nodes_unreadable": len(nodes), "share_unreadable": share}
    numbers |= {f"layer_{at}_unreadable": len(of) for at, of in enumerate(without) if of}
    summary = "No document declares readers."
    if layers:
        summary = (
            f"Nobody may read {len(nodes)} of {n_nodes} nodes ({base.format_percent(share)}, at "
            f"most {base.format_percent(MAX_UNREADABLE)})."
        )
    worst = [
        base.WorstNode.from_node(node, len(node.documents), "nobody may read all its documents")
        for node in nodes
    ]
    remedy = (
        "Set grouping.separate_readers = true, and name readers for documents that have none "
        "under [[source.readers]]."
    )
    return base.CheckMeasurement(share <= MAX_UNREADABLE, summary, numbers, worst, remedy)
