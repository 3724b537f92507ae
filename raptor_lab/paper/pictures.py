"""Figures of the paper, drawn from a study by matplotlib; each function returns SVG."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from raptor_lab.paper import tables
from raptor_lab.paper.study import Study

Points = Sequence[tuple[float, float]]
_PANEL = (4.6, 2.6)  # inches


def tokens_and_seconds_svg(study: Study) -> str:
    """Draw tokens of calls, and a second panel of seconds if they were measured."""
    prompts = [(p.document_tokens / 1000, p.prompt_tokens / 1000) for p in study.token_points]
    completions = [
        (p.document_tokens / 1000, p.completion_tokens / 1000) for p in study.token_points
    ]
    panels = {"thousand tokens of calls": {"prompts": prompts, "completions": completions}}
    if study.time_points:
        timed = [(p.document_tokens / 1000, p.seconds) for p in study.time_points]
        panels["seconds"] = {"seconds": timed}
    figure, axes = _make_panels(len(panels))
    for panel, (quantity, series) in zip(axes, panels.items(), strict=True):
        x_label = "thousand tokens of the document"
        _draw_points(panel, f"{study.name}: {quantity}", x_label, series, joined=False)
    return _to_svg(figure)


def score_by_length_svg(study: Study) -> str:
    """Draw the measure by the length of the context: collapsed tree and traversal (Figure 3)."""
    series: dict[str, list[tuple[float, float]]] = {}
    for line in study.curve_rows:
        value = line.figures[study.curve_measure].mean.value or 0.0
        series.setdefault(line.system.partition(":")[0], []).append((line.mean_tokens, value))
    figure, (panel,) = _make_panels(1)
    title = f"{study.name}: {study.curve_measure.replace('_', ' ')}"
    _draw_points(panel, title, "tokens of a context", series, joined=True)
    return _to_svg(figure)


def layer_shares_svg(study: Study) -> str:
    """Draw the nodes of a context by layer at the largest budget, by strategy (Figure 7)."""
    budget = max(study.retrievers.budgets)
    at_budget = study.retrievers.rows_at_budget(budget).values()
    lines = [line for line in at_budget if line.system in tables.SPREAD and line.layers]
    figure, axes = _make_panels(len(lines))
    layers = range(study.n_layers)
    for panel, line in zip(axes, lines, strict=True):
        panel.set_title(f"{study.name}: {line.system}, {budget:,} tokens")
        shares = [line.layers.get(layer, 0.0) for layer in layers]
        bars = panel.barh([f"layer {layer}" for layer in layers], shares)
        panel.bar_label(bars, [f"{share:.1%}" for share in shares])
        panel.invert_yaxis()
    return _to_svg(figure)


def _make_panels(n_panels: int) -> tuple[Any, Sequence[Any]]:
    from matplotlib.figure import Figure

    width, height = _PANEL
    figure = Figure((width * n_panels, height), layout="constrained")
    return figure, figure.subplots(1, n_panels, squeeze=False)[0]


def _draw_points(
    panel: Any, title: str, x_label: str, series: Mapping[str, Points], *, joined: bool
) -> None:
    """Draw series of points with both axes from 0, and a legend if there are several."""
    panel.set_title(title)
    panel.set_xlabel(x_label)
    for name, points in series.items():
        panel.plot(*zip(*points, strict=True), "o-" if joined else "o", label=name)
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
    if len(series) > 1:
        panel.legend()


def _to_svg(figure: Any) -> str:
    """Convert a figure to SVG with selectable text, without metadata and XML declaration."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "raptor"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
