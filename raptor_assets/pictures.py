"""Metadata that is looked at: pictures of clusters, distributions and layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np

from raptor_assets.plots import distribution_svg, layers_svg, map_svg
from raptor_assets.svg import svg_markdown
from raptor_core.clustering.projection import project
from raptor_core.nodes import Layer
from raptor_core.tree.cluster import Clustering

MIN_PICTURED = 5
"""Fewer values than these make nothing to look at."""

Metadata = dict[str, Any]


def distributions_picture(sizes: Sequence[int], ratios: Sequence[float]) -> Metadata:
    """Cluster sizes and compression ratios of a layer, with the paper's means."""
    if len(sizes) < MIN_PICTURED:
        return {}
    alt = "Distributions of cluster size and compression"
    picture = distribution_svg(sizes, ratios)
    return {"distributions": dg.MetadataValue.md(svg_markdown(picture, alt))}


def layers_picture(nodes: Mapping[int, int], tokens: Mapping[int, int]) -> Metadata:
    """Nodes and tokens by layer; empty where there is one layer, which its numbers tell."""
    if len(nodes) == 1:
        return {}
    picture = layers_svg([nodes[at] for at in sorted(nodes)], [tokens[at] for at in sorted(tokens)])
    return {"layers": dg.MetadataValue.md(svg_markdown(picture, "Nodes and tokens by layer"))}


def map_picture(clusterings: Sequence[Clustering], below: Mapping[str, Layer]) -> Metadata:
    """The clusters of the tree that has most of them; empty where they are too few to look at."""
    largest = max(clusterings, key=lambda done: len(done.groups))
    if len(largest.groups) < MIN_PICTURED:
        return {}
    layer = below[largest.tree]
    row_of = {node.id: row for row, node in enumerate(layer.nodes)}
    groups = [[row_of[member] for member in group] for group in largest.groups]
    cluster_of = np.zeros(len(layer.nodes), dtype=np.int64)
    for at in reversed(range(len(groups))):  # a node of several clusters shows its first
        cluster_of[groups[at]] = at
    picture = map_svg(project(layer.vectors, groups), cluster_of)
    alt = f"Map of the nodes of tree {largest.tree}, coloured by cluster"
    return {"map": dg.MetadataValue.md(svg_markdown(picture, alt))}
