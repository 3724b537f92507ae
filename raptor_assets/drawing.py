"""Pictures as SVG text, in milliseconds and without a plotting library.

A drawing is transparent and measured in pixels from its top left corner. It is deterministic and
short, since an event of Dagster's log holds it. Colours suit light and dark backgrounds.
"""

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

FONT = "system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif"


class Drawing:
    """Picture of ``width`` by ``height`` pixels, empty at first."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """Draw a filled rectangle."""
        place = f'x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" height="{_short(height)}"'
        self._parts.append(f'<rect {place} fill="{color}"/>')

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        color: str,
        width: float = 1.0,
        dashes: str = "",
    ) -> None:
        """Draw a straight line; ``dashes`` as in SVG, such as "5 3"."""
        (x1, y1), (x2, y2) = start, end
        place = f'd="M{_short(x1)} {_short(y1)}L{_short(x2)} {_short(y2)}"'
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<path {place} stroke="{color}" stroke-width="{_short(width)}"{dashed}/>'
        )

    def dots(self, points: Iterable[tuple[float, float]], size: float, color: str) -> None:
        """Draw discs of ``size`` pixels across, as lines of no length with round ends."""
        place = "".join(f"M{_short(x)} {_short(y)}h0" for x, y in points)
        self._parts.append(
            f'<path d="{place}" stroke="{color}" stroke-width="{_short(size)}" '
            'stroke-linecap="round" stroke-opacity=".85"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        color: str,
        *,
        size: float = 12.0,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Draw a line of text on the baseline ``y``; ``anchor`` is "start", "middle" or "end"."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{_short(x)}" y="{_short(y)}" fill="{color}" font-size="{_short(size)}" '
            f'text-anchor="{anchor}"{weight}>{escape(text)}</text>'
        )

    def svg(self) -> str:
        """Return the picture as SVG."""
        width, height = _short(self.width), _short(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="{FONT}" fill="none">'
        )
        return "".join([head, *self._parts, "</svg>"])


def svg_markdown(svg: str, alt: str) -> str:
    """Return Markdown that shows ``svg`` inline, with ``alt`` as its text."""
    label = " ".join(alt.replace("[", "(").replace("]", ")").split())
    data = base64.b64encode(svg.encode()).decode("ascii")
    return f"![{label}](data:image/svg+xml;base64,{data})"


def ticks(low: float, high: float, at_most: int, *, integer: bool = False) -> list[float]:
    """Return round values from ``low`` to ``high`` in steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / max(at_most, 1)
    base = 10.0 ** math.floor(math.log10(rough))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough * (1 - 1e-9))
    step = max(1.0, round(step)) if integer else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


TEXT = "#8a8f98"
GRID = "#8a8f9840"
ACCENT = "#5b7fe5"
REFERENCE = "#e0862e"
PALETTE = (
    *("#5b7fe5", "#e0862e", "#3fa57a", "#c95d8f", "#9a6fd8"),
    *("#b0912f", "#4aa3c7", "#d0614f", "#7d8f3a", "#8a8f98"),
)
"""Colours of series, distinct on both backgrounds."""

WIDTH = 460  # pixels of a panel with its margins
HEIGHT = 250
ROW = 26.0  # pixels from one horizontal bar to the next
SMALL = 11.0
_CHAR = 6.2  # width of a small letter, roughly


class Panel:
    """Inner part of one of several pictures side by side, ``number`` 0 on the left.

    ``height`` includes the margins, in pixels.
    """

    def __init__(self, drawing: Drawing, number: int = 0, height: float = HEIGHT) -> None:
        self.drawing = drawing
        self.x_min, self.x_max = number * WIDTH + 38, (number + 1) * WIDTH - 14
        self.top, self.bottom = 32, height - 46
        self.width, self.height = self.x_max - self.x_min, self.bottom - self.top

    def title(self, title: str, x_label: str = "") -> None:
        """Draw a title above and the name of the horizontal axis below."""
        self.drawing.text(self.x_min, 18, title, TEXT, size=13, bold=True)
        middle = (self.x_min + self.x_max) / 2
        if x_label:
            self.drawing.text(middle, self.bottom + 36, x_label, TEXT, anchor="middle")

    def baseline(self) -> None:
        """Draw the line on which bars stand."""
        self.drawing.line((self.x_min, self.bottom), (self.x_max, self.bottom), GRID)

    def heights(self, highest: float, *, integer: bool) -> float:
        """Draw the scale of heights from 0 to ``highest`` and return the pixels of one unit."""
        scale = self.height / highest
        for value in ticks(0.0, highest, 4, integer=integer):
            y = self.bottom - value * scale
            self.drawing.line((self.x_min, y), (self.x_max, y), GRID)
            self.drawing.text(self.x_min - 6, y + 4, f"{value:g}", TEXT, size=SMALL, anchor="end")
        return scale

    def mark(
        self, x: float, label: str, color: str, *, on_left: bool, dashes: str = "", line: int = 0
    ) -> None:
        """Draw a vertical line with a label on its preferred side, or on the side with room.

        ``line`` counts the lines of text from the top, so that labels do not overlap.
        """
        self.drawing.line((x, self.top), (x, self.bottom), color, 1.5, dashes)
        room = len(label) * _CHAR + 8
        is_left = x - room > self.x_min if on_left else x + room >= self.x_max
        anchor, shift = ("end", -5) if is_left else ("start", 5)
        y = self.top + 10 + 15 * line
        self.drawing.text(x + shift, y, label, color, size=SMALL, anchor=anchor)

    def rows(
        self, rows: Sequence[tuple[str, float, str]], colors: Mapping[str, str] | None = None
    ) -> None:
        """Draw horizontal bars from the top down, each as name, value and label."""
        names = max((len(name) for name, _, _ in rows), default=0) * _CHAR
        labels = max((len(label) for _, _, label in rows), default=0) * _CHAR
        start = self.x_min + names - 14
        longest = max((value for _, value, _ in rows), default=0.0) or 1.0
        scale = (self.x_max - start - labels - 8) / longest
        for at, (name, value, label) in enumerate(rows):
            y = self.top + at * ROW
            color = colors[name] if colors else ACCENT
            self.drawing.text(start - 8, y + 13, name, TEXT, size=SMALL, anchor="end")
            self.drawing.rect(start, y, value * scale, 18, color)
            self.drawing.text(start + value * scale + 6, y + 13, label, TEXT, size=SMALL)
