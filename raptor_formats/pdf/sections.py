"""Sections of a PDF file, from its outline or from lines that are larger than its text."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import byref, c_float, c_int
from typing import Any, NamedTuple

from raptor_formats.pdf.pages import PrintedLine
from raptor_formats.sections import Heading
from raptor_formats.text import IDEOGRAPHIC, one_line

HEADING_SIZE = 1.1
"""Multiple of the usual font size from which lines are headings, in files without an outline."""

HEADING_CHARS = 120
HEADING_LINES = 3
HEADING_RANKS = 4
HEADINGS_SHARE = 0.15
"""Maximum share of larger lines in the text; above it they are not headings."""

HEADING_REPEATS = 2
"""Maximum number of equal headings; above it they are running headers or labels."""

NEAR_POINTS = 40
"""Maximum vertical distance of a title from the position of its outline entry, in points."""

_ACROSS = 0.25
"""Weight of horizontal against vertical distance."""

_NUMBER = re.compile(r"\A[\W\d_]+(?=.)")
_SIGN = re.compile(r"[\W_]+")
_NAME = re.compile(rf"[^\W\d_]{{3}}|[{IDEOGRAPHIC}\uac00-\ud7af]{{2}}")
_ADDRESS = re.compile(
    r"@|://|www\.|\.{4}|\b\d{5}\b|\b[A-Z]{1,2}\d[\dA-Z]? \d[A-Z]{2}\b|\+?\d[\d ()/-]{6,}\d|"
    r"\b(?:street|st\.|road|rd\.|avenue|ave\.|p\.?\s?o\.? box|stra(?:ß|ss)e|str\.|rue|calle|via)\b",
    re.IGNORECASE,
)
_NO_END = re.compile(r"[,;=+<>]\Z|[.!]\Z(?<=\w{3}.)(?<=.{40})")


class OutlineEntry(NamedTuple):
    """Outline entry: its rank from 1, its page from 0, and its position in points, if known."""

    title: str
    rank: int
    page: int
    left_edge: float | None = None
    top: float | None = None


def read_outline(document: Any) -> Iterator[OutlineEntry]:
    """Yield the entries of the outline, depth first."""
    for entry in document.get_toc():
        target = entry.get_dest()
        page = None if target is None else target.get_index()
        title = one_line(entry.get_title())
        if title and page is not None and page < len(document):
            yield OutlineEntry(title, entry.level + 1, page, *_read_destination(target))


def _read_destination(target: Any) -> tuple[float | None, float | None]:
    """Return the left edge and the height of a destination."""
    import pypdfium2.raw as pdfium

    has, place = [c_int() for _ in range(3)], [c_float() for _ in range(3)]
    results: list[Any] = [*has, *place]
    if pdfium.FPDFDest_GetLocationInPage(target, *map(byref, results)):
        edge, top, _ = (p.value if h.value else None for h, p in zip(has, place, strict=True))
        return edge, top
    mode, values = target.get_view()
    if mode in {pdfium.PDFDEST_VIEW_FITH, pdfium.PDFDEST_VIEW_FITBH} and values:
        return None, values[0]
    if mode == pdfium.PDFDEST_VIEW_FITR and len(values) == 4:
        return values[0], values[3]
    return None, None


def place_outline(
    outline: Sequence[OutlineEntry],
    pages: Sequence[Sequence[PrintedLine]],
    line_starts: Sequence[Sequence[int]],
    page_starts: Sequence[int],
) -> list[Heading]:
    """Return the headings of the outline, in the order of the text."""
    headings = []
    least = (0, 0)
    plain: dict[int, list[str]] = {}
    for entry in outline:
        lines = pages[entry.page]
        if entry.page not in plain:
            plain[entry.page] = [_fold_title(line.text) for line in lines]
        at = _find_line_of_entry(
            entry, lines, plain[entry.page], least[1] if least[0] == entry.page else 0
        )
        start = page_starts[entry.page] if at is None else line_starts[entry.page][at]
        headings.append(Heading(entry.title, entry.rank, start))
        least = (entry.page, at or 0)
    return sorted(headings, key=lambda heading: heading.start)


def _find_line_of_entry(
    entry: OutlineEntry, lines: Sequence[PrintedLine], plain: Sequence[str], least: int
) -> int | None:
    """Return the line of an entry: by its words near its position, else by its position."""
    rows = _find_lines_of_title(_fold_title(entry.title), plain)
    highest = max((line.baseline for line in lines), default=0.0)
    top = entry.top
    if top is None or top > highest + NEAR_POINTS:
        later = [row for row in rows if row >= least]
        return next(iter(later or rows), None)

    def distance(row: int) -> float:
        edge = lines[row].left_edge - (entry.left_edge or lines[row].left_edge)
        return abs(top - lines[row].baseline - lines[row].font_size) + _ACROSS * abs(edge)

    near = min(rows, key=distance, default=None)
    below = [row for row, line in enumerate(lines) if line.baseline < top]
    by_height = min(below, key=distance, default=None)
    if near is not None and (by_height is None or distance(near) < NEAR_POINTS):
        return near
    return by_height


def _fold_title(text: str) -> str:
    """Return the letters and digits of a title without its number."""
    return _SIGN.sub("", _NUMBER.sub("", text)).casefold()


def _find_lines_of_title(title: str, plain: Sequence[str]) -> list[int]:
    """Return the rows of lines that begin with the words of a title, which may be wrapped."""
    if not title:
        return []
    joined = ("".join(plain[at : at + HEADING_LINES]) for at in range(len(plain)))
    return [at for at, text in enumerate(joined) if plain[at] and text.startswith(title)]


def find_headings_by_size(
    pages: Sequence[Sequence[PrintedLine]], line_starts: Sequence[Sequence[int]]
) -> list[Heading]:
    """Find headings by font size; the largest are the outermost."""
    n_chars: Counter[float] = Counter()
    for line in (line for lines in pages for line in lines):
        n_chars[line.font_size] += len(line.text)
    body = max(n_chars, key=lambda size: n_chars[size], default=0.0)
    if body <= 0:
        return []
    candidates = [
        (size, title, start)
        for lines, starts in zip(pages, line_starts, strict=True)
        for size, title, start in _find_page_headings_by_size(lines, starts, HEADING_SIZE * body)
    ]
    n_equal = Counter(title.casefold() for _, title, _ in candidates)
    kept = [row for row in candidates if n_equal[row[1].casefold()] <= HEADING_REPEATS]
    if sum(len(title) for _, title, _ in kept) > HEADINGS_SHARE * n_chars.total():
        return []
    sizes = sorted({size for size, *_ in kept}, reverse=True)
    ranks = {size: min(rank, HEADING_RANKS) for rank, size in enumerate(sizes, start=1)}
    return [Heading(title, ranks[size], start) for size, title, start in kept]


def _find_page_headings_by_size(
    lines: Sequence[PrintedLine], starts: Sequence[int], least_size: float
) -> Iterator[tuple[float, str, int]]:
    """Yield size, title and start of the headings of a page; join wrapped ones."""
    at = 0
    while at < len(lines):
        size, end = lines[at].font_size, at + 1
        if size < least_size:
            at = end
            continue
        while end < len(lines) and _title_continues(lines[end - 1], lines[end]):
            end += 1
        title = " ".join(line.text for line in lines[at:end])
        if end - at <= HEADING_LINES and _is_title(title):
            yield size, title, starts[at]
        at = end


def _title_continues(line: PrintedLine, following: PrintedLine) -> bool:
    return (
        line.font_size == following.font_size
        and 0 <= line.baseline - following.baseline < 2 * line.font_size
    )


def _is_title(text: str) -> bool:
    """Return whether a larger line looks like a title, not like a formula or an address."""
    n_letters = sum(map(str.isalpha, text))
    n_signs = sum(not char.isalnum() and not char.isspace() for char in text)
    return (
        len(text) <= HEADING_CHARS
        and bool(_NAME.search(text))
        and n_signs * 2 < n_letters
        and not _ADDRESS.search(text)
        and not _NO_END.search(text)
    )
