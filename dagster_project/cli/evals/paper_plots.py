"""Figures 5 and 6 of the paper as pictures: what a build takes by length of the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets.panels import (
    ACCENT,
    HEIGHT,
    PALETTE,
    REFERENCE,
    SMALL,
    TEXT,
    WIDTH,
    Panel,
    draw_baseline,
    draw_heights,
    draw_title,
)
from raptor_assets.svg import Drawing, ticks
from raptor_core.evaluation.paper import Study

Points = Sequence[tuple[float, float]]

_DOT = 5.0
_X_LABEL = "thousand tokens of the document"


def scaling_svg(study: Study) -> str:
    """Thousand tokens of calls, and seconds where they were measured, in panels side by side."""
    drawing = Drawing(WIDTH * (2 if study.times else 1), HEIGHT)
    asked = [(p.document_tokens / 1000, p.prompt_tokens / 1000) for p in study.tokens]
    answered = [(p.document_tokens / 1000, p.completion_tokens / 1000) for p in study.tokens]
    title = f"{study.name}: thousand tokens of calls"
    _scatter(drawing, Panel.of(0), title, {"prompts": asked, "completions": answered})
    if study.times:
        timed = [(p.document_tokens / 1000, p.seconds) for p in study.times]
        _scatter(drawing, Panel.of(1), f"{study.name}: seconds", {"seconds": timed})
    return drawing.svg()


def _scatter(drawing: Drawing, panel: Panel, title: str, series: Mapping[str, Points]) -> None:
    """Both axes from 0; the names of several series stand under one another on the left."""
    draw_title(drawing, panel, title, _X_LABEL)
    everything = [point for points in series.values() for point in points]
    furthest = max(x for x, _ in everything)
    highest = max(y for _, y in everything) or 1.0
    across, up = panel.width / furthest, draw_heights(drawing, panel, highest, whole=False)
    draw_baseline(drawing, panel)
    for value in ticks(0.0, furthest, 5):
        place = panel.left + value * across
        drawing.text(place, panel.bottom + 16, f"{value:g}", TEXT, size=SMALL, anchor="middle")
    colors = (ACCENT, REFERENCE, *PALETTE[2:])
    for at, ((name, points), color) in enumerate(zip(series.items(), colors, strict=False)):
        places = [(panel.left + x * across, panel.bottom - y * up) for x, y in points]
        drawing.dots(places, _DOT, color)
        if len(series) > 1:
            drawing.text(panel.left + 8, panel.top + 12 + 15 * at, name, color, size=SMALL)
