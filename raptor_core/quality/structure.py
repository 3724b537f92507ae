"""How the layers of a tree hang together: coverage (law 3), shrinking (law 4), its height."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from raptor_core.nodes import Node
from raptor_core.quality.checks import (
    N_WORST,
    CheckedLayer,
    CheckedTrees,
    Measured,
    WorstNode,
    check,
    children_of,
)
from raptor_core.quality.sizes import PAPER_CHILDREN
from raptor_core.quality.statistics import DIGITS

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


def _repeated(nodes: Iterable[Node]) -> list[Node]:
    """Every node after the first with its id."""
    seen: Counter[str] = Counter()
    repeated = []
    for node in nodes:
        seen[node.id] += 1
        if seen[node.id] > 1:
            repeated.append(node)
    return repeated


def _coverage_measured(n_checked: int, broken: Sequence[Sequence[Node]]) -> Measured:
    by_fault = dict(zip(_BROKEN, broken, strict=True))
    numbers = {"nodes_checked": n_checked}
    numbers |= {_BROKEN[what]: len(nodes) for what, nodes in by_fault.items()}
    told = "; ".join(f"{len(nodes)} nodes {what}" for what, nodes in by_fault.items() if nodes)
    worst = [
        WorstNode.of(n, len(n.children), f"node {what}")
        for what, nodes in by_fault.items()
        for n in nodes[:N_WORST]
    ]
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    summary = f"{told or f'All {n_checked} nodes are covered'}."
    return Measured(not told, summary, numbers, worst, remedy)


def layer_sizes(layers: Sequence[Sequence[Node]]) -> dict[str, tuple[int, ...]]:
    """Nodes by layer of every tree in ``layers``, leaves first, without layers past its top."""
    counts = [Counter(node.tree for node in nodes) for nodes in layers]
    sizes = {}
    for tree in sorted(set().union(*counts)) if counts else ():
        height = max(layer for layer, count in enumerate(counts) if tree in count)
        sizes[tree] = tuple(count[tree] for count in counts[: height + 1])
    return sizes


@check("shrink", "error", "Every layer of a tree has fewer nodes than the one below.")
def shrink(checked: CheckedTrees) -> Measured:
    """Whether every tree shrinks from layer to layer."""
    by_tree = layer_sizes(checked.layers)
    steps = [
        (tree, layer, below, above)
        for tree, sizes in by_tree.items()
        for layer, (below, above) in enumerate(pairwise(sizes), 1)
    ]
    growing = [step for step in steps if step[3] >= step[2]]
    n_growing = len({tree for tree, *_ in growing})
    numbers: dict[str, float] = {
        "trees": len(by_tree),
        "trees_not_shrinking": n_growing,
        "layers_maximum": max(map(len, by_tree.values()), default=0),
    }
    if ratios := [above / below for *_, below, above in steps if below]:
        numbers["shrink_worst"] = max(ratios)
    summary = f"All {len(by_tree)} trees shrink from layer to layer."
    if growing:
        tree, layer, below, above = growing[0]
        summary = (
            f"{n_growing} trees do not shrink; tree '{tree}' has {above} nodes in layer "
            f"{layer} over {below} in layer {layer - 1}."
        )
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    return Measured(not growing, summary, numbers, (), remedy)


MIN_NODES = 10
"""A step from fewer nodes is too coarse to judge: three nodes can only become two or one."""


class _Step(NamedTuple):
    """From the layer below to the layer of ``first``: nodes there and here, and their ratio."""

    first: Node
    below: int
    nodes: int
    ratio: float


class _Height(NamedTuple):
    """A tree's first top node; its summary layers, what its leaves ask for, and what is more."""

    top: Node
    layers: int
    needed: int
    extra: int


def layers_needed(n_leaves: int, top_nodes: int = 1) -> int:
    """Summary layers from ``n_leaves`` to ``top_nodes`` at the paper's children per parent."""
    ratio = max(n_leaves / top_nodes, 1)
    return math.ceil(math.log(ratio) / math.log(PAPER_CHILDREN) - 1e-9)


def _shapes(checked: CheckedTrees) -> tuple[list[_Step], list[_Height]]:
    """Steps from layers of ``MIN_NODES`` or more, and heights, tree by tree."""
    first: dict[tuple[str, int], Node] = {}
    for node in chain.from_iterable(checked.layers):
        first.setdefault((node.tree, node.layer), node)
    steps, heights = [], []
    for tree, sizes in layer_sizes(checked.layers).items():
        for layer, (below, here) in enumerate(pairwise(sizes), 1):
            if below >= MIN_NODES and (tree, layer) in first:
                steps.append(_Step(first[tree, layer], below, here, here / below))
        top, needed = len(sizes) - 1, layers_needed(sizes[0], checked.settings.tree.top_nodes)
        heights.append(_Height(first[tree, top], top, needed, top - needed))
    return steps, heights


@check(
    "staircase",
    "warn",
    "No layer has nearly as many nodes as the one below, and no tree has many more layers than "
    f"the paper's {PAPER_CHILDREN} children per parent would need.",
)
def staircase(checked: CheckedTrees) -> Measured:
    """Whether every step keeps ``max_shrink`` and every height ``max_extra_layers``."""
    checks, (steps, heights) = checked.settings.checks, _shapes(checked)
    flat = [step for step in steps if step.ratio > checks.max_shrink]
    flat.sort(key=lambda step: (-step.ratio, step.first.tree))
    tall = [height for height in heights if height.extra > checks.max_extra_layers]
    tall.sort(key=lambda height: (-height.extra, height.top.tree))
    numbers: dict[str, float] = {
        "trees": len(heights),
        "flat_layers": len(flat),
        "tall_trees": len(tall),
    }
    if ratios := [step.ratio for step in steps]:
        numbers["shrink_worst"] = round(max(ratios), DIGITS)
        numbers["shrink_mean"] = round(sum(ratios) / len(ratios), DIGITS)
    if heights:
        numbers["extra_layers_maximum"] = max(height.extra for height in heights)
    worst = [
        WorstNode.of(s.first, s.ratio, f"layer {s.first.layer}: {s.nodes} over {s.below}")
        for s in flat
    ]
    worst += [
        WorstNode.of(h.top, h.layers, f"{h.layers} layers where {h.needed} would do") for h in tall
    ]
    remedy = (
        "Raise clustering.threshold or clustering.max_tokens so that clusters grow, or set "
        "tree.top_nodes so that the tree ends earlier."
    )
    told = []
    if flat:
        told.append(f"{len(flat)} layers have over {checks.max_shrink:g} of the nodes below them")
    if tall:
        told.append(
            f"{len(tall)} of {len(heights)} trees have over {checks.max_extra_layers} layers more "
            "than their leaves ask for"
        )
    summary = "; ".join(told) or f"All {len(heights)} trees narrow from layer to layer"
    return Measured(not told, f"{summary}.", numbers, worst, remedy)
