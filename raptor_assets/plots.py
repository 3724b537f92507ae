"""Small pictures for metadata, readable on the light and on the dark theme of the UI.

Transparent, so that the theme's own background shows, in greys and one accent that keep their
contrast on both. The same values give the same bytes.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.quality.cluster_size import PAPER_CHILDREN
from raptor_core.quality.compression import PAPER_RATIO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT = "#8a8f98"
GRID = "#8a8f9840"
ACCENT = "#5b7fe5"
REFERENCE = "#e0862e"
PALETTE = (
    *("#5b7fe5", "#e0862e", "#3fa57a", "#c95d8f", "#9a6fd8"),
    *("#b0912f", "#4aa3c7", "#d0614f", "#7d8f3a", "#8a8f98"),
)
"""Colours that differ from one another and from both backgrounds."""

_PANEL_INCHES = (4.2, 2.3)
_MAX_POINTS = 1200
_DPI = 110
_MAX_BINS = 24
_FONT_POINTS = 9.0


def histogram_png(
    values: Sequence[float],
    *,
    title: str,
    x_label: str,
    reference: float | None = None,
    reference_label: str = "",
) -> bytes:
    """PNG of the distribution of finite ``values``, with a marked ``reference`` value.

    Whole numbers get a bar each while they span at most 24. Without values the picture says so.
    """
    figure, (axes,) = _figure(1)
    _draw(axes, values, title, x_label, reference, reference_label)
    return _png(figure)


def distribution_png(cluster_sizes: Sequence[int], compression_ratios: Sequence[float]) -> bytes:
    """PNG of children per summary beside compression ratios, with the paper's means marked."""
    figure, (left, right) = _figure(2)
    _draw(left, cluster_sizes, "Cluster size", "children per summary", PAPER_CHILDREN, "paper")
    ratios = "summary tokens / children's tokens"
    _draw(right, compression_ratios, "Compression", ratios, PAPER_RATIO, "paper")
    return _png(figure)


def map_png(points: NDArray[np.float64], cluster_of: NDArray[np.int64]) -> bytes:
    """PNG of a layer's nodes on a plane, ``points`` of shape ``(n, 2)``, coloured by cluster.

    Colours come again where there are more clusters than colours: neighbours then differ by place.
    """
    figure, (axes,) = _figure(1, height=3.0)
    n_clusters = len(np.unique(cluster_of))
    _style(axes, f"{len(points)} nodes in {n_clusters} clusters", "principal axes of the clusters")
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    if len(points) > _MAX_POINTS:
        kept = np.linspace(0, len(points) - 1, _MAX_POINTS).astype(np.int64)
        points, cluster_of = points[kept], cluster_of[kept]
    colours = [PALETTE[at % len(PALETTE)] for at in cluster_of]
    size = float(np.clip(2400 / max(len(points), 1), 5, 40))
    axes.scatter(points[:, 0], points[:, 1], s=size, c=colours, linewidths=0, alpha=0.85)
    return _png(figure)


def layers_png(n_nodes: Sequence[int], n_tokens: Sequence[int]) -> bytes:
    """PNG of nodes and tokens by layer, leaves at the bottom."""
    figure, panels = _figure(2)
    names = [f"layer {at}" for at in range(len(n_nodes))]
    for axes, values, title in zip(
        panels, (n_nodes, n_tokens), ("Nodes by layer", "Tokens by layer"), strict=True
    ):
        _style(axes, title, "")
        axes.grid(visible=False)
        axes.set_xticks([])
        axes.set_yticks(range(len(names)), names)
        axes.barh(range(len(names)), values, color=ACCENT, height=0.7, linewidth=0)
        axes.set_xlim(0, max(values, default=1) * 1.2)
        for at, value in enumerate(values):
            label = f" {value:,}"
            axes.text(value, at, label, va="center", color=TEXT, fontsize=_FONT_POINTS - 1)
    figure.subplots_adjust(left=0.08, wspace=0.25)
    return _png(figure)


def png_markdown(png: bytes, alt: str) -> str:
    """Markdown that shows ``png`` inline, with ``alt`` for those who do not see it."""
    told = " ".join(alt.replace("[", "(").replace("]", ")").split())
    return f"![{told}](data:image/png;base64,{base64.b64encode(png).decode('ascii')})"


def _figure(n_panels: int, height: float = _PANEL_INCHES[1]) -> tuple[Figure, list[Axes]]:
    # Figure and its own canvas: pyplot would keep global state and pick a window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = _PANEL_INCHES[0]
    # Fixed margins: a computed layout draws every picture twice.
    figure = Figure(figsize=(width * n_panels, height), dpi=_DPI)
    FigureCanvasAgg(figure)
    figure.subplots_adjust(
        left=0.09 / n_panels, right=1 - 0.03 / n_panels, bottom=0.22, top=0.88, wspace=0.16
    )
    figure.patch.set_alpha(0.0)
    return figure, [figure.add_subplot(1, n_panels, i + 1) for i in range(n_panels)]


def _draw(
    axes: Axes,
    values: Sequence[float],
    title: str,
    x_label: str,
    reference: float | None,
    reference_label: str,
) -> None:
    _style(axes, title, x_label)
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        _say_empty(axes)
        return
    edges = _edges(data)
    counts, _ = np.histogram(data, edges)
    axes.bar(edges[:-1], counts, np.diff(edges) * 0.92, align="edge", color=ACCENT, linewidth=0)
    axes.set_ylim(0, counts.max() * 1.22)
    if reference is not None:
        _mark(axes, reference, f"{reference_label} {reference:g}".strip())
    _mark_mean(axes, float(data.mean()))


def _edges(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bin edges, shape ``(n_bins + 1,)``."""
    low, high = float(data.min()), float(data.max())
    if np.array_equal(data, np.round(data)) and high - low < _MAX_BINS:
        return np.arange(low - 0.5, high + 1.0)
    n_bins = int(np.clip(np.ceil(2 * np.cbrt(len(data))), 5, _MAX_BINS))
    edges: NDArray[np.float64] = np.histogram_bin_edges(data, n_bins)
    return edges


def _mark(axes: Axes, at: float, label: str) -> None:
    axes.axvline(at, color=REFERENCE, linewidth=1.4, linestyle=(0, (4, 2)))
    _label(axes, at, label, REFERENCE, 0.97)


def _mark_mean(axes: Axes, mean: float) -> None:
    axes.axvline(mean, color=TEXT, linewidth=1.2)
    _label(axes, mean, f"mean {mean:.3g}", TEXT, 0.86)


def _label(axes: Axes, at: float, text: str, color: str, height: float) -> None:
    """A label beside a vertical line, on the side where there is more room."""
    low, high = axes.get_xlim()
    right = at > (low + high) / 2
    axes.annotate(
        text,
        (at, height),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if right else 4, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        color=color,
        fontsize=_FONT_POINTS - 1,
    )


def _say_empty(axes: Axes) -> None:
    axes.set_yticks([])
    axes.set_xticks([])
    axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", va="center", color=TEXT)


def _style(axes: Axes, title: str, x_label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.patch.set_alpha(0.0)
    axes.set_title(title, loc="left", color=TEXT, fontsize=_FONT_POINTS + 1, fontweight="bold")
    axes.set_xlabel(x_label, color=TEXT, fontsize=_FONT_POINTS)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.tick_params(colors=TEXT, labelsize=_FONT_POINTS - 1, length=0)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)


def _png(figure: Figure) -> bytes:
    target = io.BytesIO()
    # Without the name and version of the program, the bytes depend on the picture alone.
    metadata: dict[str, Any] = {"Software": None}
    figure.savefig(target, format="png", transparent=True, metadata=metadata)
    return target.getvalue()
