"""Printed pages: their running heads and feet, and pictures of pages read by tesseract.

A line is never left out for how it looks on its page alone: a year may end a sentence and a page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

from raptor_core.documents.formats.parsed import UnreadableError, clean_text

NEAR_PAGES = 2
"""Pages before and after one that are compared with it: heads alternate between left and right."""

EDGE_LINES = 3
"""Lines at the top and at the foot that may run."""

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{3}")
_COUNTED = re.compile(
    r"(?:page|seite)?\W*(\d{1,5}|[ivxlc]{1,7})\W*(?:(?:of|/|von)\W*\d+)?\W*\Z", re.IGNORECASE
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


DIVIDED = "\ufffe"
"""What PDFium writes for the hyphen and the end of the line between the halves of a word."""


class Line(NamedTuple):
    """A line of print; ``size`` is the height of its first letter, ``top`` its place, in points."""

    text: str
    size: float = 0.0
    top: float = 0.0


def without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without the lines at their edges that run through them."""
    kept = [list(page) for page in pages]
    for is_foot in (False, True):
        place = -1 if is_foot else 0
        for _ in range(EDGE_LINES):
            edges = [page[place].text if page else "" for page in kept]
            runs = [_runs(edges, at) for at in range(len(edges))]
            if not any(runs):
                break
            for page, does_run in zip(kept, runs, strict=True):
                if does_run:
                    page.pop(place)
    return kept


def _runs(edges: Sequence[str], at: int) -> bool:
    """Whether the line at the edge of a page stands at that of pages near it, or counts with it."""
    text = edges[at]
    if not text:
        return False
    near = [
        other
        for other in range(max(0, at - NEAR_PAGES), min(len(edges), at + NEAR_PAGES + 1))
        if other != at
    ]
    needed = min(2, len(edges) - 1)
    number = _page_number(text)
    if number is not None:
        counted = (_page_number(edges[other]) == number + other - at for other in near)
        return needed > 0 and sum(counted) >= needed
    alike = sum(_is_alike(text, edges[other], other - at) for other in near)
    return bool(_WORD.search(text)) and len(edges) > NEAR_PAGES and alike >= needed


def _is_alike(text: str, other: str, n_pages: int) -> bool:
    """Whether two lines are the same but for numbers that count pages."""
    if _NUMBER.split(text) != _NUMBER.split(other):
        return False
    pairs = zip(_NUMBER.findall(text), _NUMBER.findall(other), strict=True)
    return all(mine == its or int(its) - int(mine) == n_pages for mine, its in pairs)


def _page_number(text: str) -> int | None:
    """The number that a line is, in digits or Roman; None where it is anything else."""
    match = _COUNTED.match(text)
    if match is None:
        return None
    word = match[1].casefold()
    if word.isdigit():
        return int(word)
    values = [_ROMAN[letter] for letter in word]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)


PROGRAM = "tesseract"
PAGE_SECONDS = 60
DOTS_PER_INCH = 300
MAX_PIXELS = 4000
"""Of the longer side of a page, whatever its size."""

_POINTS_PER_INCH = 72
_BROKEN_WORD = re.compile(r"(?<=\w)-\n(?=[^\W\d_A-Z])")


def find_tesseract() -> str:
    """Path of the program; empty where it is not installed."""
    return shutil.which(PROGRAM) or ""


def recognize(page: Any, languages: str) -> list[Line]:
    """The lines of a page of PDFium, in reading order; a gap above each paragraph.

    Raises:
        UnreadableError: tesseract is not installed, lacks a language, or takes too long.
    """
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
        told = " ".join(done.stderr.decode(errors="replace").split())
        raise UnreadableError(f"holds only images, and OCR by source.ocr = {languages!r}: {told}")
    text = _BROKEN_WORD.sub(DIVIDED, done.stdout.decode(errors="replace"))
    rows = (" ".join(clean_text(row).split()) for row in text.split("\n"))
    return [Line(row, top=-float(at)) for at, row in enumerate(rows) if row]


def _picture(page: Any) -> bytes:
    """The page in shades of grey, as PGM."""
    scale = min(DOTS_PER_INCH / _POINTS_PER_INCH, MAX_PIXELS / max(page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True)
    try:
        rows = memoryview(bitmap.buffer).cast("B")
        starts = range(0, bitmap.stride * bitmap.height, bitmap.stride)
        pixels = b"".join(rows[start : start + bitmap.width] for start in starts)
        return b"P5 %d %d 255\n%s" % (bitmap.width, bitmap.height, pixels)
    finally:
        bitmap.close()
