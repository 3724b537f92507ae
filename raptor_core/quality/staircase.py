"""Trees that hardly shrink from layer to layer, or are deeper than their leaves ask for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.cluster_size import PAPER_CHILDREN
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.shrink import measure_shrink
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, verdict
from raptor_core.settings import CheckSettings

STAIRCASE = CheckInfo(
    "staircase",
    "warn",
    "No layer has nearly as many nodes as the one below, and no tree has many more layers than "
    f"the paper's {PAPER_CHILDREN} children per parent would need.",
)
MIN_NODES = 10
"""A step from fewer nodes is too coarse to judge: three nodes can only become two or one."""


@dataclass(frozen=True, slots=True)
class Step:
    """From the layer below ``layer`` to it: nodes there and here, and a node to look at."""

    tree: str
    layer: int
    below: int
    nodes: int
    first: Node

    @property
    def ratio(self) -> float:
        """Nodes here over nodes below."""
        return self.nodes / self.below


@dataclass(frozen=True, slots=True)
class Height:
    """Summary layers of a tree, those that its leaves ask for, and its first top node."""

    tree: str
    layers: int
    needed: int
    top: Node

    @property
    def extra(self) -> int:
        """Layers more than needed; negative where it has fewer."""
        return self.layers - self.needed


@dataclass(frozen=True, slots=True)
class StaircaseReport:
    """Steps from layers of ten nodes or more, and heights, by tree."""

    steps: tuple[Step, ...]
    heights: tuple[Height, ...]


def measure_staircase(layers: Sequence[Sequence[Node]], top_nodes: int = 1) -> StaircaseReport:
    """Steps and heights of every tree in ``layers``, leaves first; ``top_nodes`` end a tree."""
    first: dict[tuple[str, int], Node] = {}
    for nodes in layers:
        for node in nodes:
            first.setdefault((node.tree, node.layer), node)
    steps, heights = [], []
    for tree, sizes in measure_shrink(layers).sizes.items():
        for layer, (below, here) in enumerate(itertools.pairwise(sizes), 1):
            if below >= MIN_NODES and (tree, layer) in first:
                steps.append(Step(tree, layer, below, here, first[tree, layer]))
        top = len(sizes) - 1
        needed = layers_needed(sizes[0], top_nodes)
        heights.append(Height(tree, top, needed, first[tree, top]))
    return StaircaseReport(tuple(steps), tuple(heights))


def layers_needed(n_leaves: int, top_nodes: int = 1) -> int:
    """Summary layers from ``n_leaves`` to ``top_nodes`` at the paper's children per parent."""
    ratio = max(n_leaves / top_nodes, 1)
    return math.ceil(math.log(ratio) / math.log(PAPER_CHILDREN) - 1e-9)


def evaluate_staircase(report: StaircaseReport, checks: CheckSettings) -> Verdict:
    """Whether every step keeps ``max_shrink`` and every height ``max_extra_layers``."""
    flat = [step for step in report.steps if step.ratio > checks.max_shrink]
    flat.sort(key=lambda step: (-step.ratio, step.tree))
    tall = [height for height in report.heights if height.extra > checks.max_extra_layers]
    tall.sort(key=lambda height: (-height.extra, height.tree))
    numbers = {
        "trees": float(len(report.heights)),
        "flat_layers": float(len(flat)),
        "tall_trees": float(len(tall)),
    }
    if report.steps:
        ratios = [step.ratio for step in report.steps]
        numbers["shrink_worst"] = round(max(ratios), DIGITS)
        numbers["shrink_mean"] = round(sum(ratios) / len(ratios), DIGITS)
    if report.heights:
        numbers["extra_layers_maximum"] = float(max(height.extra for height in report.heights))
    worst = [
        WorstNode(s.first.id, s.first.text, s.ratio, f"layer {s.layer}: {s.nodes} over {s.below}")
        for s in flat
    ]
    worst += [
        WorstNode(h.top.id, h.top.text, h.layers, f"{h.layers} layers where {h.needed} would do")
        for h in tall
    ]
    remedy = (
        "Raise clustering.threshold or clustering.max_tokens so that clusters grow, or set "
        "tree.top_nodes so that the tree ends earlier."
    )
    summary = _summary(len(flat), len(tall), len(report.heights), checks)
    return verdict(STAIRCASE, not (flat or tall), summary, numbers, worst, remedy)


def _summary(n_flat: int, n_tall: int, n_trees: int, checks: CheckSettings) -> str:
    told = []
    if n_flat:
        told.append(f"{n_flat} layers have over {checks.max_shrink:g} of the nodes below them")
    if n_tall:
        told.append(
            f"{n_tall} of {n_trees} trees have over {checks.max_extra_layers} layers more than "
            "their leaves ask for"
        )
    return f"{'; '.join(told)}." if told else f"All {n_trees} trees narrow from layer to layer."
