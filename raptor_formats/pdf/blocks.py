"""Blocks of printed pages: titles at the top of a page, and rows of numbers below their names.

A PDF file has no tables, only lines. Consecutive short lines, most of which have a number, are
rows; the lines above them name their columns.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from raptor_formats.blocks import Block, Section, strip_block
from raptor_formats.markup.plain import find_title_starts, split_into_blocks

MIN_ROWS = 3
"""Lowest number of rows with a number in a table."""

MIN_NUMBERED_SHARE = 0.6
"""Lowest share of lines with a number among those below the column names."""

MAX_NAMES_LINES = 3
"""Highest number of lines that name the columns."""

MAX_TITLE_CHARS = 100
PAGE_TITLE_DEPTH = 7
"""Depth of a page title, below all headings; it begins no section."""

_PARAGRAPH = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_LINE = re.compile(r"[^\n]+")
_SIGNS = "()[]$€£¥%*+-−–†‡"
_YEAR = re.compile(r"(?:19|20)\d\d\Z")
_NO_TITLE_END = (".", "!", "?", ",", ";", ":", "-")


class _Line(NamedTuple):
    start: int
    end: int
    text: str


def read_printed_blocks(
    text: str, sections: Sequence[Section], pages: Sequence[int]
) -> Iterator[Block]:
    """Yield the blocks of the text of printed pages.

    Args:
        text: the text of all pages, with a blank line between paragraphs.
        sections: the sections of the text.
        pages: starts of the pages.
    """
    headings, tops = find_title_starts(text, sections), set(pages)
    for paragraph in _PARAGRAPH.finditer(text):
        matches = _LINE.finditer(text, *paragraph.span())
        lines = [_Line(line.start(), line.end(), line[0]) for line in matches]
        n_names = _count_column_name_lines(lines)
        is_top = lines[0].start in tops and _is_title(lines[0].text)
        is_heading = lines[0].start in headings
        n_title = 1 if is_heading or (is_top and (n_names or len(lines) == 1)) else 0
        if n_title and not (is_heading and n_names is None):
            depth = 1 if is_heading else PAGE_TITLE_DEPTH
            yield Block("heading", lines[0].start, lines[0].end, depth)
            lines, n_names = lines[1:], None if n_names is None else max(0, n_names - 1)
        if n_names is not None:
            yield from _read_table_rows(text, lines, n_names)
        elif lines:
            yield from split_into_blocks(text, lines[0].start, lines[-1].end, headings)


def _count_column_name_lines(lines: Sequence[_Line]) -> int | None:
    """Count the lines above the rows of a table; None if the lines are not a table."""
    numbered = [_has_number_except_year(line.text) for line in lines]
    n_names = numbered.index(True) if True in numbered else len(lines)
    n_rows = sum(numbered)
    is_table = n_rows >= MIN_ROWS and n_rows >= MIN_NUMBERED_SHARE * (len(lines) - n_names)
    return n_names if is_table and n_names <= MAX_NAMES_LINES else None


def _has_number_except_year(line: str) -> bool:
    """Return whether a line has a number other than a year, which may name a column."""
    words = (word.strip(_SIGNS).replace(",", "").replace(".", "") for word in line.split())
    return any(word.isdigit() and not _YEAR.match(word) for word in words)


def _is_title(line: str) -> bool:
    first = next((char for char in line if char.isalpha()), "a")
    is_short = len(line) <= MAX_TITLE_CHARS and not line.rstrip().endswith(_NO_TITLE_END)
    return is_short and not first.islower() and not _has_number_except_year(line)


def _read_table_rows(text: str, lines: Sequence[_Line], n_names: int) -> Iterator[Block]:
    if n_names:
        label = " ".join(" ".join(line.text for line in lines[:n_names]).split())
        yield Block("names", lines[0].start, lines[n_names - 1].end, label=label)
    for line in lines[n_names:]:
        yield from strip_block(text, Block("row", line.start, line.end))
