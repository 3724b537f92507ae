"""From one layer to the clusters that the next is made of, or to the tree's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from raptor_core.errors import InvariantError
from raptor_core.tree.tools import Tools
from raptor_core.tree.values import End, Layer


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters over one layer, or why there are none.

    ``groups`` are the node ids of each cluster in document order. ``end`` is given exactly when
    ``groups`` is empty: the layer is the tree's top.
    """

    tree: str
    layer: int
    groups: tuple[tuple[str, ...], ...]
    end: End | None = None
    details: Mapping[str, float] = field(default_factory=dict)


def cluster_layer(tree: str, layer: Layer, tools: Tools) -> Clustering:
    """Cluster one layer of one tree.

    Raises:
        ClusteringError: the settings allow no clustering.
        InvariantError: the clusterer broke its contract.
    """
    number = layer.nodes[0].layer
    reason = _end_before(len(layer.nodes), number, tools)
    if reason:
        return Clustering(tree, number, (), End(number, reason))
    tokens = np.array([node.n_tokens for node in layer.nodes], dtype=np.int64)
    clusters = tools.clusterer.cluster(layer.vectors, tokens)
    if not 0 < len(clusters.members) < len(layer.nodes):
        raise InvariantError(
            f"tree {tree!r}: clustering {len(layer.nodes)} nodes of layer {number} gave "
            f"{len(clusters.members)} clusters; a layer must shrink. This is a defect of the "
            "clusterer: report it with the settings"
        )
    groups = tuple(tuple(layer.nodes[row].id for row in rows) for rows in clusters.members)
    return Clustering(tree, number, groups, None, clusters.details)


def _end_before(n_nodes: int, number: int, tools: Tools) -> str:
    limits = tools.settings.tree
    if n_nodes <= limits.top_nodes:
        return f"{n_nodes} nodes, at most tree.top_nodes = {limits.top_nodes}"
    if number >= limits.max_layers:
        return f"tree.max_layers = {limits.max_layers} reached with {n_nodes} nodes"
    if n_nodes < 2:
        return "one node"
    return ""
