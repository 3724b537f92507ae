"""Pictures as SVG text, drawn by hand: milliseconds where a plotting library takes a second.

A drawing is transparent and measured in pixels from its top left corner. The same strokes give
the same bytes, and numbers are kept short, since a picture lies in an event of Dagster's log.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from xml.sax.saxutils import escape

FONT = "system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif"


class Drawing:
    """A picture of ``width`` by ``height`` pixels, empty at first."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """A filled rectangle."""
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
        """A straight line; ``dashes`` as in SVG, such as "5 3"."""
        (x1, y1), (x2, y2) = start, end
        place = f'd="M{_short(x1)} {_short(y1)}L{_short(x2)} {_short(y2)}"'
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<path {place} stroke="{color}" stroke-width="{_short(width)}"{dashed}/>'
        )

    def dots(self, points: Iterable[tuple[float, float]], size: float, color: str) -> None:
        """Discs of one colour and of ``size`` pixels across: lines of no length with round ends."""
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
        """One line of text on the baseline ``y``; ``anchor`` is "start", "middle" or "end"."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{_short(x)}" y="{_short(y)}" fill="{color}" font-size="{_short(size)}" '
            f'text-anchor="{anchor}"{weight}>{escape(text)}</text>'
        )

    def svg(self) -> str:
        """The whole picture."""
        width, height = _short(self.width), _short(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="{FONT}" fill="none">'
        )
        return "".join([head, *self._parts, "</svg>"])


def svg_markdown(svg: str, alt: str) -> str:
    """Markdown that shows ``svg`` inline, with ``alt`` for those who do not see it."""
    told = " ".join(alt.replace("[", "(").replace("]", ")").split())
    data = base64.b64encode(svg.encode()).decode("ascii")
    return f"![{told}](data:image/svg+xml;base64,{data})"


def ticks(low: float, high: float, at_most: int, *, whole: bool = False) -> list[float]:
    """Round values from ``low`` to ``high``, some ``at_most``; steps of 1, 2 or 5 by tens."""
    if not high > low:
        return [low]
    rough = (high - low) / max(at_most, 1)
    base = 10.0 ** math.floor(math.log10(rough))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough * (1 - 1e-9))
    step = max(1.0, round(step)) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _short(number: float) -> str:
    """With one decimal at most."""
    return f"{number:.1f}".removesuffix(".0")
