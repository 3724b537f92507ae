"""Numbers of every layer, as the report's table shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.sizes import compressions, parent_counts


@dataclass(frozen=True, slots=True)
class LayerStatistics:
    """One layer.

    Attributes:
        layer: 0 for the leaves.
        n_nodes, n_tokens: of the layer.
        mean_children: children per summary (the paper's mean is 6.7); None for the leaves.
        mean_compression: a summary's tokens over its children's (the paper's mean is 0.28); None
            for the leaves.
        mean_parents: parents per node, more than 1 by soft membership; None for the top layer.
    """

    layer: int
    n_nodes: int
    n_tokens: int
    mean_children: float | None = None
    mean_compression: float | None = None
    mean_parents: float | None = None


def layer_statistics(nodes: Sequence[Node]) -> tuple[LayerStatistics, ...]:
    """Statistics of every layer that has nodes, from the leaves up."""
    layers: dict[int, list[Node]] = {}
    for node in nodes:
        layers.setdefault(node.layer, []).append(node)
    by_id = {node.id: node for node in nodes}
    parents = parent_counts(nodes)
    return tuple(_of(layer, layers[layer], by_id, parents) for layer in sorted(layers))


def _of(
    layer: int, nodes: Sequence[Node], by_id: Mapping[str, Node], parents: Mapping[str, int]
) -> LayerStatistics:
    n_tokens = sum(node.n_tokens for node in nodes)
    mean_parents = sum(parents.get(node.id, 0) for node in nodes) / len(nodes) or None
    if not layer:
        return LayerStatistics(layer, len(nodes), n_tokens, mean_parents=mean_parents)
    ratios = [found.ratio for found in compressions(nodes, by_id)]
    return LayerStatistics(
        layer,
        len(nodes),
        n_tokens,
        mean_children=sum(len(node.children) for node in nodes) / len(nodes),
        mean_compression=sum(ratios) / len(ratios) if ratios else None,
        mean_parents=mean_parents,
    )
