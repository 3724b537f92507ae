"""Law 4: every layer has fewer nodes than the one below."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from raptor_core.nodes import Node
from raptor_core.quality.subjects import CheckedTrees
from raptor_core.quality.verdicts import Measured, check


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
        for layer, (below, above) in enumerate(itertools.pairwise(sizes), 1)
    ]
    growing = [step for step in steps if step[3] >= step[2]]
    n_growing = len({tree for tree, *_ in growing})
    numbers = {
        "trees": float(len(by_tree)),
        "trees_not_shrinking": float(n_growing),
        "layers_maximum": float(max(map(len, by_tree.values()), default=0)),
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
