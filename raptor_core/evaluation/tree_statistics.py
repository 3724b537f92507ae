"""Sizes of the trees of an evaluation, as in Table 10 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from statistics import mean
from typing import Any

from raptor_core.evaluation.index import Index
from raptor_core.quality.sizes import compressions


@dataclass(frozen=True, slots=True)
class TreeStatistics:
    """All trees together; the means over summaries are 0 where no tree has one.

    Attributes:
        n_trees: in all.
        nodes_by_layer: nodes of each layer, from the leaves up.
        mean_children: children per summary; the paper's mean is 6.7.
        mean_summary_tokens: tokens of a summary; the paper's mean is 131.
        mean_child_tokens: tokens of a child of a summary; the paper's mean is 85.6.
        mean_ratio: a summary's tokens over its children's; the paper's mean is 0.28.
    """

    n_trees: int
    nodes_by_layer: tuple[int, ...]
    mean_children: float
    mean_summary_tokens: float
    mean_child_tokens: float
    mean_ratio: float

    def values(self) -> dict[str, Any]:
        """The figures as plain values, rounded."""
        rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return rounded | {"nodes_by_layer": list(self.nodes_by_layer)}


def tree_statistics(index: Index) -> TreeStatistics:
    """The statistics of a index's trees; all nodes are read."""
    nodes = index.store.nodes()
    summaries = [node for node in nodes if not node.is_leaf]
    found = compressions(summaries, {node.id: node for node in nodes})
    n_children = sum(len(one.node.children) for one in found)
    sizes = [manifest.layer_sizes for manifest in index.manifests]
    highest = max(map(len, sizes))
    return TreeStatistics(
        n_trees=len(sizes),
        nodes_by_layer=tuple(sum(s[k] for s in sizes if k < len(s)) for k in range(highest)),
        mean_children=n_children / len(found) if found else 0.0,
        mean_summary_tokens=mean(s.node.n_tokens for s in found) if found else 0.0,
        mean_child_tokens=sum(s.child_tokens for s in found) / n_children if found else 0.0,
        mean_ratio=mean(s.ratio for s in found) if found else 0.0,
    )


def pooled(trees: Sequence[TreeStatistics]) -> TreeStatistics:
    """The statistics of all trees of several; a summary of any weighs the same."""
    layers = [one.nodes_by_layer for one in trees]
    summaries = [sum(sizes[1:]) for sizes in layers]
    children = [n * one.mean_children for n, one in zip(summaries, trees, strict=True)]
    return TreeStatistics(
        n_trees=sum(one.n_trees for one in trees),
        nodes_by_layer=tuple(map(sum, zip_longest(*layers, fillvalue=0))),
        mean_children=_mean([one.mean_children for one in trees], summaries),
        mean_summary_tokens=_mean([one.mean_summary_tokens for one in trees], summaries),
        mean_child_tokens=_mean([one.mean_child_tokens for one in trees], children),
        mean_ratio=_mean([one.mean_ratio for one in trees], summaries),
    )


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total else 0.0
