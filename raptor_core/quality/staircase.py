"""Trees that hardly shrink from layer to layer, or are deeper than their leaves ask for."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.cluster_size import PAPER_CHILDREN
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.shrink import layer_sizes
from raptor_core.quality.subjects import CheckedTrees
from raptor_core.quality.verdicts import Measured, WorstNode, check

MIN_NODES = 10
"""A step from fewer nodes is too coarse to judge: three nodes can only become two or one."""


@dataclass(frozen=True, slots=True)
class _Step:
    """From the layer below to the layer of ``first``: nodes there and here."""

    first: Node
    below: int
    nodes: int

    @property
    def ratio(self) -> float:
        return self.nodes / self.below


@dataclass(frozen=True, slots=True)
class _Height:
    """Summary layers of a tree, those that its leaves ask for, and its first top node."""

    top: Node
    layers: int
    needed: int

    @property
    def extra(self) -> int:
        return self.layers - self.needed


def layers_needed(n_leaves: int, top_nodes: int = 1) -> int:
    """Summary layers from ``n_leaves`` to ``top_nodes`` at the paper's children per parent."""
    ratio = max(n_leaves / top_nodes, 1)
    return math.ceil(math.log(ratio) / math.log(PAPER_CHILDREN) - 1e-9)


def _shapes(checked: CheckedTrees) -> tuple[list[_Step], list[_Height]]:
    """Steps from layers of ``MIN_NODES`` or more, and heights, tree by tree."""
    first: dict[tuple[str, int], Node] = {}
    for node in itertools.chain.from_iterable(checked.layers):
        first.setdefault((node.tree, node.layer), node)
    steps, heights = [], []
    for tree, sizes in layer_sizes(checked.layers).items():
        for layer, (below, here) in enumerate(itertools.pairwise(sizes), 1):
            if below >= MIN_NODES and (tree, layer) in first:
                steps.append(_Step(first[tree, layer], below, here))
        top, needed = len(sizes) - 1, layers_needed(sizes[0], checked.settings.tree.top_nodes)
        heights.append(_Height(first[tree, top], top, needed))
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
    numbers = {
        "trees": float(len(heights)),
        "flat_layers": float(len(flat)),
        "tall_trees": float(len(tall)),
    }
    if ratios := [step.ratio for step in steps]:
        numbers["shrink_worst"] = round(max(ratios), DIGITS)
        numbers["shrink_mean"] = round(sum(ratios) / len(ratios), DIGITS)
    if heights:
        numbers["extra_layers_maximum"] = float(max(height.extra for height in heights))
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
