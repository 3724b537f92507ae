"""Law 4: every layer has fewer nodes than the one below."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.verdicts import CheckInfo, Verdict, verdict

SHRINK = CheckInfo("shrink", "error", "Every layer of a tree has fewer nodes than the one below.")


@dataclass(frozen=True, slots=True)
class ShrinkReport:
    """Layer sizes by tree, from the leaves up, without the empty layers past the top."""

    sizes: dict[str, tuple[int, ...]]

    @property
    def steps(self) -> list[float]:
        """Nodes of a layer over nodes of the one below, tree by tree."""
        return [
            above / below
            for sizes in self.sizes.values()
            for below, above in itertools.pairwise(sizes)
            if below
        ]

    @property
    def growing(self) -> dict[str, int]:
        """Trees that break the law, with their lowest layer that does not shrink."""
        found: dict[str, int] = {}
        for tree, sizes in self.sizes.items():
            for layer in range(1, len(sizes)):
                if sizes[layer] >= sizes[layer - 1]:
                    found.setdefault(tree, layer)
        return found


def measure_shrink(layers: Sequence[Sequence[Node]]) -> ShrinkReport:
    """Layer sizes of every tree in ``layers``, leaves first."""
    counts = [Counter(node.tree for node in nodes) for nodes in layers]
    sizes = {}
    for tree in sorted(set().union(*counts)) if counts else ():
        height = max(layer for layer, count in enumerate(counts) if tree in count)
        sizes[tree] = tuple(count[tree] for count in counts[: height + 1])
    return ShrinkReport(sizes)


def evaluate_shrink(report: ShrinkReport) -> Verdict:
    """Whether every tree shrinks from layer to layer."""
    growing = report.growing
    numbers = {
        "trees": float(len(report.sizes)),
        "trees_not_shrinking": float(len(growing)),
        "layers_maximum": float(max(map(len, report.sizes.values()), default=0)),
    }
    if report.steps:
        numbers["shrink_worst"] = max(report.steps)
    summary = f"All {len(report.sizes)} trees shrink from layer to layer."
    if growing:
        tree, layer = next(iter(growing.items()))
        sizes = report.sizes[tree]
        summary = (
            f"{len(growing)} trees do not shrink; tree '{tree}' has {sizes[layer]} nodes in layer "
            f"{layer} over {sizes[layer - 1]} in layer {layer - 1}."
        )
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    return verdict(SHRINK, not growing, summary, numbers, (), remedy)
