"""Printed pages, and the removal of their running headers and footers.

A line is only removed if pages nearby repeat it, because a year may end both a sentence and a page.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

NEAR_PAGES = 2
"""Distance of pages that are compared; left and right pages have different headers."""

EDGE_LINES = 3
"""Maximum number of running lines at the top, and at the bottom."""

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{3}")
_COUNTED = re.compile(r"(?:page|seite)?\W*(\d{1,5})\W*(?:(?:of|/|von)\W*\d+)?\W*\Z", re.IGNORECASE)

DIVIDED = "\ufffe"
"""Character that PDFium writes for a hyphen and line end inside a word."""


class PrintedLine(NamedTuple):
    """Printed line with its font size, the height of its baseline and its left edge, in points.

    The text ends with ``DIVIDED`` if its last word continues on the next line.
    """

    text: str
    font_size: float = 0.0
    baseline: float = 0.0
    left_edge: float = 0.0


def without_running_lines(pages: Sequence[Sequence[PrintedLine]]) -> list[list[PrintedLine]]:
    """Return the pages without their running headers and footers."""
    kept = [list(page) for page in pages]
    for is_foot in (False, True):
        place = -1 if is_foot else 0
        for _ in range(EDGE_LINES):
            edges = [page[place].text if page else "" for page in kept]
            runs = [_is_running_line(edges, at) for at in range(len(edges))]
            if not any(runs):
                break
            for page, is_running in zip(kept, runs, strict=True):
                if is_running:
                    page.pop(place)
    return kept


def _is_running_line(edges: Sequence[str], at: int) -> bool:
    """Return whether pages nearby repeat the line at a page's edge, or continue its numbering."""
    text = edges[at]
    if not text:
        return False
    window = range(max(0, at - NEAR_PAGES), min(len(edges), at + NEAR_PAGES + 1))
    near = [(edges[page], page - at) for page in window if page != at]
    needed = min(2, len(edges) - 1)
    number = _parse_page_number(text)
    if number is not None:
        counted = (_parse_page_number(line) == number + distance for line, distance in near)
        return needed > 0 and sum(counted) >= needed
    n_alike = sum(_differ_only_in_page_number(text, line, distance) for line, distance in near)
    return bool(_WORD.search(text)) and len(edges) > NEAR_PAGES and n_alike >= needed


def _differ_only_in_page_number(line: str, near: str, n_pages: int) -> bool:
    """Return whether two lines differ only in numbers that count pages."""
    if _NUMBER.split(line) != _NUMBER.split(near):
        return False
    pairs = zip(_NUMBER.findall(line), _NUMBER.findall(near), strict=True)
    return all(first == second or int(second) - int(first) == n_pages for first, second in pairs)


def _parse_page_number(text: str) -> int | None:
    """Return the number if the line is nothing else, or None."""
    match = _COUNTED.match(text)
    return int(match[1]) if match else None
