"""Small pictures for metadata: clusters, distributions, layers, costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np
from numpy.typing import NDArray

from raptor_assets.drawing import (
    ACCENT,
    HEIGHT,
    PALETTE,
    REFERENCE,
    ROW,
    SMALL,
    TEXT,
    WIDTH,
    Drawing,
    Panel,
    svg_markdown,
    ticks,
)
from raptor_core.clustering.projection import project
from raptor_core.nodes import Layer
from raptor_core.quality.sizes import PAPER_CHILDREN, PAPER_RATIO
from raptor_core.tree.cluster import Clustering

_MAP_HEIGHT = 330
_MAX_POINTS = 1200
_MAX_BINS = 24


def distribution_svg(cluster_sizes: Sequence[int], compression_ratios: Sequence[float]) -> str:
    """Draw children per summary and compression ratios, with the paper's means marked."""
    drawing = Drawing(2 * WIDTH, HEIGHT)
    first, second = Panel(drawing, 0), Panel(drawing, 1)
    first.title("Cluster size", "children per summary")
    _histogram(first, cluster_sizes, PAPER_CHILDREN)
    second.title("Compression", "summary tokens / children's tokens")
    _histogram(second, compression_ratios, PAPER_RATIO)
    return drawing.svg()


def map_svg(points: NDArray[np.float64], cluster_of: NDArray[np.int64]) -> str:
    """Draw a layer's nodes at ``points`` of shape ``(n, 2)``, coloured by cluster."""
    drawing = Drawing(WIDTH, _MAP_HEIGHT)
    panel = Panel(drawing, 0, _MAP_HEIGHT)
    n_clusters = len(np.unique(cluster_of))
    title = f"{len(points)} nodes in {n_clusters} clusters"
    panel.title(title, "principal axes of the clusters")
    if len(points) > _MAX_POINTS:
        kept = np.linspace(0, len(points) - 1, _MAX_POINTS).astype(np.int64)
        points, cluster_of = points[kept], cluster_of[kept]
    size = float(np.clip(75 / np.sqrt(max(len(points), 1)), 3.4, 9.6))
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    shares = (points - low) / np.where(spread > 0, spread, 1.0)
    xs = panel.x_min + size + shares[:, 0] * (panel.width - 2 * size)
    ys = panel.bottom - size - shares[:, 1] * (panel.height - 2 * size)
    for number, color in enumerate(PALETTE):
        chosen = np.flatnonzero(cluster_of % len(PALETTE) == number)
        if len(chosen):
            places = zip(xs[chosen].tolist(), ys[chosen].tolist(), strict=True)
            drawing.dots(places, size, color)
    panel.baseline()
    return drawing.svg()


def layers_svg(n_nodes: Sequence[int], n_tokens: Sequence[int]) -> str:
    """Draw nodes and tokens by layer, leaves at the bottom."""
    drawing = Drawing(2 * WIDTH, 52 + ROW * len(n_nodes))
    names = [f"layer {at}" for at in range(len(n_nodes))]
    pairs = ((n_nodes, "Nodes by layer"), (n_tokens, "Tokens by layer"))
    for number, (values, title) in enumerate(pairs):
        panel = Panel(drawing, number, drawing.height + 46)
        panel.title(title)
        rows = [(name, float(v), f"{v:,}") for name, v in zip(names, values, strict=True)]
        panel.rows(rows[::-1])
    return drawing.svg()


def cost_svg(builds: Sequence[Mapping[str, float]], unit: str) -> str:
    """Draw the costs in ``unit`` of the last build and of all builds, oldest first, by part."""
    names = list(dict.fromkeys(name for build in builds for name in build))
    colors = {name: PALETTE[at % len(PALETTE)] for at, name in enumerate(names)}
    height = max(HEIGHT, 52 + ROW * len(names))
    drawing = Drawing(2 * WIDTH, height)
    first, second = Panel(drawing, 0, height), Panel(drawing, 1, height)
    first.title(f"{unit} of this build")
    last = builds[-1]
    rows = [(name, last.get(name, 0.0), _amount(last.get(name, 0.0))) for name in names]
    first.rows(rows[::-1], colors)
    second.title(f"{unit} by build", "builds that paid, oldest first")
    _stacks(second, builds, colors)
    return drawing.svg()


def _histogram(panel: Panel, values: Sequence[float], reference: float) -> None:
    drawing, data = panel.drawing, np.asarray(values, dtype=np.float64)
    if not len(data):
        middle = (panel.x_min + panel.x_max) / 2
        drawing.text(middle, (panel.top + panel.bottom) / 2, "no data", TEXT, anchor="middle")
        return
    edges = _edges(data)
    counts, _ = np.histogram(data, edges)
    unit = panel.heights(float(counts.max()) * 1.22, integer=True)
    low, high = min(edges[0], reference), max(edges[-1], reference)
    margin = 0.04 * (high - low)
    start, scale = low - margin, panel.width / (high - low + 2 * margin)
    lefts = panel.x_min + (edges - start) * scale
    for x, width, count in zip(lefts[:-1], np.diff(lefts), counts.tolist(), strict=True):
        if count:
            height = count * unit
            drawing.rect(x + 0.04 * width, panel.bottom - height, 0.92 * width, height, ACCENT)
    for value in ticks(low, high, 7):
        x = panel.x_min + (value - start) * scale
        drawing.text(x, panel.bottom + 17, f"{value:g}", TEXT, size=SMALL, anchor="middle")
    mean = float(data.mean())
    x_mean, x_paper = (panel.x_min + (value - start) * scale for value in (mean, reference))
    on_left = x_mean < x_paper
    panel.mark(x_mean, f"mean {mean:.3g}", TEXT, line=1, on_left=on_left)
    panel.mark(x_paper, f"paper {reference:g}", REFERENCE, dashes="5 3", on_left=not on_left)


def _edges(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bin edges, shape ``(n_bins + 1,)``; integers over a short range have a bin each."""
    low, high = float(data.min()), float(data.max())
    if np.array_equal(data, np.round(data)) and high - low < _MAX_BINS:
        return np.arange(low - 0.5, high + 1.0)
    n_bins = int(np.clip(np.ceil(2 * np.cbrt(len(data))), 5, _MAX_BINS))
    edges: NDArray[np.float64] = np.histogram_bin_edges(data, n_bins)
    return edges


def _stacks(panel: Panel, builds: Sequence[Mapping[str, float]], colors: Mapping[str, str]) -> None:
    drawing = panel.drawing
    highest = max(sum(build.values()) for build in builds) or 1.0
    scale = (panel.height - 18) / highest
    slot = panel.width / max(len(builds), 4)
    width = min(slot * 0.7, 60.0)
    for at, build in enumerate(builds):
        x, y = panel.x_min + (at + 0.5) * slot, panel.bottom
        for name, color in colors.items():
            height = build.get(name, 0.0) * scale
            y -= height
            if height:
                drawing.rect(x - width / 2, y, width, height, color)
        if at == len(builds) - 1 or len(builds) <= 6:
            total = _amount(sum(build.values()))
            drawing.text(x, y - 6, total, TEXT, size=SMALL, anchor="middle")
    panel.baseline()


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == round(value) else f"{value:.3g}"


MIN_PICTURED = 5  # least number of values that are drawn
Metadata = dict[str, Any]  # raw values of metadata by their names


def distributions_picture(sizes: Sequence[int], ratios: Sequence[float]) -> Metadata:
    """Draw cluster sizes and compression ratios of a layer, unless they are few."""
    if len(sizes) < MIN_PICTURED:
        return {}
    svg = distribution_svg(sizes, ratios)
    return _picture("distributions", svg, "Distributions of cluster size and compression")


def layers_picture(nodes: Mapping[int, int], tokens: Mapping[int, int]) -> Metadata:
    """Draw nodes and tokens by layer, unless there is one layer only."""
    if len(nodes) == 1:
        return {}
    svg = layers_svg([nodes[at] for at in sorted(nodes)], [tokens[at] for at in sorted(tokens)])
    return _picture("layers", svg, "Nodes and tokens by layer")


def map_picture(clusterings: Sequence[Clustering], below: Mapping[str, Layer]) -> Metadata:
    """Draw the clusters of the tree that has most of them, unless they are few."""
    largest = max(clusterings, key=lambda done: len(done.groups))
    if len(largest.groups) < MIN_PICTURED:
        return {}
    layer = below[largest.tree]
    row_of = {node.id: row for row, node in enumerate(layer.nodes)}
    groups = [[row_of[member] for member in group] for group in largest.groups]
    cluster_of = np.zeros(len(layer.nodes), dtype=np.int64)
    for at in reversed(range(len(groups))):  # a node of several clusters shows its first
        cluster_of[groups[at]] = at
    svg = map_svg(project(layer.vectors, groups), cluster_of)
    return _picture("map", svg, f"Map of the nodes of tree {largest.tree}, coloured by cluster")


def _picture(name: str, svg: str, alt: str) -> Metadata:
    return {name: dg.MetadataValue.md(svg_markdown(svg, alt))}
