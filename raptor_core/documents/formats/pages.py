"""Printed pages: removal of their running heads and feet, and OCR of pictures by tesseract.

A line is only removed if near pages prove it, since a year may end both a sentence and a page.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

from raptor_core.documents.formats.parsed import UnreadableError, one_line

NEAR_PAGES = 2
"""Distance of pages that are compared, since left and right pages have different heads."""

EDGE_LINES = 3
"""Maximum running lines at the top, and at the foot."""

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{3}")
_COUNTED = re.compile(
    r"(?:page|seite)?\W*(\d{1,5}|[ivxlc]{1,7})\W*(?:(?:of|/|von)\W*\d+)?\W*\Z", re.IGNORECASE
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

DIVIDED = "\ufffe"
"""Character that PDFium writes for a hyphen and the line end inside a word."""


class PrintedLine(NamedTuple):
    """Line of print with its font size, the height of its base line and its left edge, in points.

    The text ends with ``DIVIDED`` if its last word goes on in the next line.
    """

    text: str
    size: float = 0.0
    base: float = 0.0
    edge: float = 0.0


def without_running_lines(pages: Sequence[Sequence[PrintedLine]]) -> list[list[PrintedLine]]:
    """Return the pages without their running heads and feet."""
    kept = [list(page) for page in pages]
    for is_foot in (False, True):
        place = -1 if is_foot else 0
        for _ in range(EDGE_LINES):
            edges = [page[place].text if page else "" for page in kept]
            runs = [_runs(edges, at) for at in range(len(edges))]
            if not any(runs):
                break
            for page, is_running in zip(kept, runs, strict=True):
                if is_running:
                    page.pop(place)
    return kept


def _runs(edges: Sequence[str], at: int) -> bool:
    """Return whether near pages repeat the line at the edge of a page, or count on from it."""
    text = edges[at]
    if not text:
        return False
    window = range(max(0, at - NEAR_PAGES), min(len(edges), at + NEAR_PAGES + 1))
    near = [(edges[page], page - at) for page in window if page != at]
    needed = min(2, len(edges) - 1)
    number = _page_number(text)
    if number is not None:
        counted = (_page_number(line) == number + distance for line, distance in near)
        return needed > 0 and sum(counted) >= needed
    n_alike = sum(_is_alike(text, line, distance) for line, distance in near)
    return bool(_WORD.search(text)) and len(edges) > NEAR_PAGES and n_alike >= needed


def _is_alike(line: str, near: str, n_pages: int) -> bool:
    """Return whether two lines differ only in numbers that count pages."""
    if _NUMBER.split(line) != _NUMBER.split(near):
        return False
    pairs = zip(_NUMBER.findall(line), _NUMBER.findall(near), strict=True)
    return all(first == second or int(second) - int(first) == n_pages for first, second in pairs)


def _page_number(text: str) -> int | None:
    """Return the number that forms the line, in digits or Roman, or None."""
    match = _COUNTED.match(text)
    if match is None:
        return None
    word = match[1].casefold()
    if word.isdigit():
        return int(word)
    values = [_ROMAN[letter] for letter in word]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)


PROGRAM = "tesseract"
PAGE_SECONDS = 60
DOTS_PER_INCH = 300
MAX_PIXELS = 4000
"""Maximum length of the longer side of a page's picture."""

_POINTS_PER_INCH = 72
_HALF = re.compile(rf"[^{DIVIDED}]+{DIVIDED}?")
_BROKEN_WORD = re.compile(r"(?<=\w)-\n(?=[^\W\d_A-Z])")


def find_tesseract() -> str:
    """Return the path of the program, or "" if it is not installed."""
    return shutil.which(PROGRAM) or ""


def recognize(page: Any, languages: str) -> list[PrintedLine]:
    """Return the lines of a page of PDFium in reading order, with a gap above each paragraph."""
    program = find_tesseract()
    if not program:
        raise UnreadableError(
            "holds no text, only images, and source.ocr needs the program tesseract, which is not "
            "installed (Debian: apt install tesseract-ocr)"
        )
    try:
        done = subprocess.run(  # noqa: S603
            [program, "stdin", "stdout", "-l", languages],
            input=_picture(page),
            capture_output=True,
            timeout=PAGE_SECONDS,
            check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(f"a page took more than {PAGE_SECONDS} s of OCR") from error
    if done.returncode:
        reason = one_line(done.stderr.decode(errors="replace"))
        raise UnreadableError(f"holds only images, and OCR by source.ocr = {languages!r}: {reason}")
    text = _BROKEN_WORD.sub(DIVIDED, done.stdout.decode(errors="replace"))
    rows = map(one_line, text.split("\n"))
    halves = ((at, half) for at, row in enumerate(rows) for half in _HALF.findall(row))
    return [PrintedLine(half, base=-float(at)) for at, half in halves]


def _picture(page: Any) -> bytes:
    """Return the page in shades of grey, as PGM."""
    scale = min(DOTS_PER_INCH / _POINTS_PER_INCH, MAX_PIXELS / max(page.get_size()))
    pixels = page.render(scale=scale, grayscale=True).to_numpy()
    return b"P5 %d %d 255\n%s" % (pixels.shape[1], pixels.shape[0], pixels.tobytes())
