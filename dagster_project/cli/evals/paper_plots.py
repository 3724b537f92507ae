"""The paper's figures as pictures: 3, 5, 6 and 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

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
    ticks,
)
from raptor_core.evaluation.paper.study import Study
from raptor_core.evaluation.paper.tables import SPREAD

Points = Sequence[tuple[float, float]]

_DOT = 5.0
_TITLE = 76.0
"""Pixels of a panel of rows that are none."""


def scaling_svg(study: Study) -> str:
    """Thousand tokens of calls, and seconds where they were measured, in panels side by side."""
    drawing = Drawing(WIDTH * (2 if study.times else 1), HEIGHT)
    asked = [(p.document_tokens / 1000, p.prompt_tokens / 1000) for p in study.tokens]
    answered = [(p.document_tokens / 1000, p.completion_tokens / 1000) for p in study.tokens]
    title = f"{study.name}: thousand tokens of calls"
    x_label = "thousand tokens of the document"
    _scatter(Panel.of(drawing, 0), title, x_label, {"prompts": asked, "completions": answered})
    if study.times:
        timed = [(p.document_tokens / 1000, p.seconds) for p in study.times]
        _scatter(Panel.of(drawing, 1), f"{study.name}: seconds", x_label, {"seconds": timed})
    return drawing.svg()


def curve_svg(study: Study) -> str:
    """The measure by the length of the context: the collapsed tree and traversal (Figure 3)."""
    drawing = Drawing(WIDTH, HEIGHT)
    series: dict[str, list[tuple[float, float]]] = {}
    for line in study.curve:
        value = line.figures[study.measure].mean.value or 0.0
        series.setdefault(line.system.partition(":")[0], []).append((line.mean_tokens, value))
    title = f"{study.name}: {study.measure.replace('_', ' ')}"
    _scatter(Panel.of(drawing, 0), title, "tokens of a context", series, joined=True)
    return drawing.svg()


def shares_svg(study: Study) -> str:
    """Nodes of a context by layer at the largest budget, a panel for each strategy (Figure 7)."""
    budget = max(line.budget_tokens for line in study.retrievers.lines)
    lines = [
        line
        for line in study.retrievers.lines
        if line.system in SPREAD and line.layers and line.budget_tokens == budget
    ]
    height = _TITLE + ROW * study.n_layers
    drawing = Drawing(WIDTH * len(lines), height)
    for at, line in enumerate(lines):
        panel = Panel.of(drawing, at, height)
        panel.title(f"{study.name}: {line.system}, {budget:,} tokens")
        shares = [line.layers.get(layer, 0.0) for layer in range(study.n_layers)]
        panel.rows(
            [(f"layer {layer}", share, f"{share:.1%}") for layer, share in enumerate(shares)]
        )
    return drawing.svg()


def _scatter(
    panel: Panel, title: str, x_label: str, series: Mapping[str, Points], *, joined: bool = False
) -> None:
    """Both axes from 0; the names of several series stand under one another on the left."""
    drawing = panel.drawing
    panel.title(title, x_label)
    everything = [point for points in series.values() for point in points]
    furthest = max(x for x, _ in everything)
    highest = max(y for _, y in everything) or 1.0
    across, up = panel.width / furthest, panel.heights(highest, whole=False)
    panel.baseline()
    for value in ticks(0.0, furthest, 5):
        place = panel.left + value * across
        drawing.text(place, panel.bottom + 16, f"{value:g}", TEXT, size=SMALL, anchor="middle")
    colors = (ACCENT, REFERENCE, *PALETTE[2:])
    for at, ((name, points), color) in enumerate(zip(series.items(), colors, strict=False)):
        places = [(panel.left + x * across, panel.bottom - y * up) for x, y in points]
        for start, end in pairwise(places) if joined else ():
            drawing.line(start, end, color, 1.5)
        drawing.dots(places, _DOT, color)
        if len(series) > 1:
            drawing.text(panel.left + 8, panel.top + 12 + 15 * at, name, color, size=SMALL)
