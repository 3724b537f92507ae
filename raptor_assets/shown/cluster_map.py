"""Map of the clusters of a layer, as SVG in metadata.

The SVG is short and deterministic, because it is stored in an event of Dagster's log. matplotlib
would take 1.0 second of CPU time for the first map of a process, a fifth of a small build.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.reduction import project_to_plane
from raptor_core.nodes import Layer
from raptor_core.tree.cluster import Clustering

MIN_CLUSTERS = 5  # fewest clusters that are drawn
_WIDTH, _HEIGHT = 460, 330  # pixels
_MARGIN, _TOP = 14.0, 32.0
_MAX_POINTS = 1200
_TEXT = "#8a8f98"
_PALETTE = (
    *("#5b7fe5", "#e0862e", "#3fa57a", "#c95d8f", "#9a6fd8"),
    *("#b0912f", "#4aa3c7", "#d0614f", "#7d8f3a", _TEXT),
)
"""Colours of clusters, distinct on light and dark backgrounds."""


def draw_cluster_map(
    clusterings: Sequence[Clustering], below: Mapping[str, Layer]
) -> dict[str, dg.MetadataValue[Any]]:
    """Draw the clusters of the tree with the most clusters; draw nothing if they are few."""
    largest = max(clusterings, key=lambda done: len(done.groups))
    if len(largest.groups) < MIN_CLUSTERS:
        return {}
    layer = below[largest.tree]
    row_of = {node.id: row for row, node in enumerate(layer.nodes)}
    groups = [[row_of[member] for member in group] for group in largest.groups]
    cluster_of = np.zeros(len(layer.nodes), dtype=np.int64)
    for at in reversed(range(len(groups))):  # a node in several clusters shows its first
        cluster_of[groups[at]] = at
    data = base64.b64encode(
        draw_map_svg(project_to_plane(layer.vectors), cluster_of).encode()
    ).decode()
    tree = " ".join(largest.tree.replace("[", "(").replace("]", ")").split())
    alt = f"Map of the nodes of tree {tree}, coloured by cluster"
    return {"map": dg.MetadataValue.md(f"![{alt}](data:image/svg+xml;base64,{data})")}


def draw_map_svg(points: NDArray[np.float64], cluster_of: NDArray[np.int64]) -> str:
    """Draw a layer's nodes at ``points`` of shape ``(n, 2)``, coloured by cluster."""
    title = f"{len(points)} nodes in {len(np.unique(cluster_of))} clusters"
    if len(points) > _MAX_POINTS:
        rows = np.linspace(0, len(points) - 1, _MAX_POINTS).astype(np.int64)
        points, cluster_of = points[rows], cluster_of[rows]
    size = float(np.clip(75 / np.sqrt(max(len(points), 1)), 3.4, 9.6))
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    shares = (points - low) / np.where(spread > 0, spread, 1.0)
    xs = _MARGIN + size + shares[:, 0] * (_WIDTH - 2 * (_MARGIN + size))
    ys = _HEIGHT - _MARGIN - size - shares[:, 1] * (_HEIGHT - _TOP - _MARGIN - 2 * size)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" fill="none">'
    )
    svg += (
        f'<text x="14" y="18" fill="{_TEXT}" font-family="sans-serif" font-size="13">{title}</text>'
    )
    for number, color in enumerate(_PALETTE):
        chosen = np.flatnonzero(cluster_of % len(_PALETTE) == number)
        # A disc is a line of length zero with round ends.
        path = "".join(f"M{xs[row]:.1f} {ys[row]:.1f}h0" for row in chosen)
        if path:
            svg += f'<path d="{path}" stroke="{color}" stroke-width="{size:.1f}" '
            svg += 'stroke-linecap="round" stroke-opacity=".85"/>'
    return svg + "</svg>"
