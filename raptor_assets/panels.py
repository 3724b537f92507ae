"""What pictures are made of: panels with a title, scales, marks and bars, in colours for any theme.

Transparent, so that the theme's own background shows, in greys and colours that keep their
contrast on both the light and the dark one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_assets.svg import Drawing, ticks

TEXT = "#8a8f98"
GRID = "#8a8f9840"
ACCENT = "#5b7fe5"
REFERENCE = "#e0862e"
PALETTE = (
    *("#5b7fe5", "#e0862e", "#3fa57a", "#c95d8f", "#9a6fd8"),
    *("#b0912f", "#4aa3c7", "#d0614f", "#7d8f3a", "#8a8f98"),
)
"""Colours that differ from one another and from both backgrounds."""

WIDTH = 460
"""Pixels of a panel with its margins."""

HEIGHT = 250
ROW = 26.0
"""Pixels from one horizontal bar to the next."""

SMALL = 11.0
_CHAR = 6.2
"""Width of a small letter, roughly."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The inner part of one picture, or of one of those that stand side by side."""

    left: float
    right: float
    top: float
    bottom: float

    @classmethod
    def of(cls, number: int, height: float = HEIGHT) -> Panel:
        """The inner part of the panel at a place in a row, 0 on the left."""
        at = number * WIDTH
        return cls(at + 38, at + WIDTH - 14, 32, height - 46)

    @property
    def width(self) -> float:
        """In pixels."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """In pixels."""
        return self.bottom - self.top


def draw_title(drawing: Drawing, panel: Panel, title: str, x_label: str) -> None:
    """Draw a title above and the name of the horizontal axis below."""
    drawing.text(panel.left, 18, title, TEXT, size=13, bold=True)
    middle = (panel.left + panel.right) / 2
    if x_label:
        drawing.text(middle, panel.bottom + 36, x_label, TEXT, anchor="middle")


def draw_baseline(drawing: Drawing, panel: Panel) -> None:
    """Draw the line on which bars stand."""
    drawing.line((panel.left, panel.bottom), (panel.right, panel.bottom), GRID)


def draw_heights(drawing: Drawing, panel: Panel, highest: float, *, whole: bool) -> float:
    """Draw the scale of heights from 0 to ``highest``; pixels of one unit."""
    scale = panel.height / highest
    for value in ticks(0.0, highest, 4, whole=whole):
        y = panel.bottom - value * scale
        drawing.line((panel.left, y), (panel.right, y), GRID)
        drawing.text(panel.left - 6, y + 4, f"{value:g}", TEXT, size=SMALL, anchor="end")
    return scale


def draw_mark(
    drawing: Drawing,
    panel: Panel,
    x: float,
    label: str,
    color: str,
    *,
    dashes: str = "",
    line: int = 0,
    on_left: bool,
) -> None:
    """A vertical line with a label beside it, on the other side where it has no room.

    ``line`` counts the lines of text from the top, so that labels cannot lie over one another.
    """
    drawing.line((x, panel.top), (x, panel.bottom), color, 1.5, dashes)
    room = len(label) * _CHAR + 8
    fits_left, fits_right = x - room > panel.left, x + room < panel.right
    left = fits_left if on_left else not fits_right
    anchor, beside = ("end", -5) if left else ("start", 5)
    drawing.text(x + beside, panel.top + 10 + 15 * line, label, color, size=SMALL, anchor=anchor)


def draw_rows(
    drawing: Drawing,
    panel: Panel,
    rows: Sequence[tuple[str, float, str]],
    colors: Mapping[str, str] | None = None,
) -> None:
    """Horizontal bars, from the top down, each with its name and its value in words."""
    names = max((len(name) for name, _, _ in rows), default=0) * _CHAR
    words = max((len(told) for _, _, told in rows), default=0) * _CHAR
    start = panel.left + names - 14
    longest = max((value for _, value, _ in rows), default=0.0) or 1.0
    scale = (panel.right - start - words - 8) / longest
    for at, (name, value, told) in enumerate(rows):
        y = panel.top + at * ROW
        color = colors[name] if colors else ACCENT
        drawing.text(start - 8, y + 13, name, TEXT, size=SMALL, anchor="end")
        drawing.rect(start, y, value * scale, 18, color)
        drawing.text(start + value * scale + 6, y + 13, told, TEXT, size=SMALL)
