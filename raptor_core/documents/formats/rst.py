"""reStructuredText: the source text unchanged, with sections from underlined titles."""

import re
from collections.abc import Iterator
from itertools import accumulate

from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import Heading, Parsed, clean_text, nest, one_line

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*\Z")
_ROLE = re.compile(r":[\w:+.-]+:(?=`)")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{0,2}")
_MARKED = re.compile(r"(\*\*|``|\*|`)(\S|\S.*?\S)\1_{0,2}")


def parse_rst(data: bytes) -> Parsed:
    """Parse reStructuredText; the text is unchanged, so that spans resolve to the file.

    As in docutils, a heading's rank is the order in which its adornment first appears.
    """
    text = clean_text(decode(data))
    headings = list(_headings(text))
    title = headings[0].title if headings else ""
    return Parsed(text, title, nest(headings, len(text)))


def _headings(text: str) -> Iterator[Heading]:
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    marks = [line[:1] if _ADORNMENT.match(line) else "" for line in lines]
    ranks: dict[tuple[str, bool], int] = {}
    row = 0
    while row < len(lines) - 1:
        overlined = _is_overlined(lines, marks, row)
        if not overlined and not _is_underlined(lines, marks, row):
            row += 1
            continue
        title_row = row + 1 if overlined else row
        rank = ranks.setdefault((marks[title_row + 1], overlined), len(ranks) + 1)
        yield Heading(_plain(lines[title_row]), rank, starts[row])
        row = title_row + 2


def _is_overlined(lines: list[str], marks: list[str], row: int) -> bool:
    """Return whether a heading with overline begins; ``marks`` has each line's adornment."""
    if not marks[row] or row + 2 >= len(lines) or marks[row + 1] or not lines[row + 1].strip():
        return False
    over, title, under = (line.rstrip() for line in lines[row : row + 3])
    return over == under and _long_enough(title, over)


def _is_underlined(lines: list[str], marks: list[str], row: int) -> bool:
    """Return whether a heading with an underline only begins: a paragraph of one line."""
    if not marks[row + 1] or marks[row] or not lines[row].strip() or lines[row][0] in " \t":
        return False
    if row > 0 and lines[row - 1].strip() and not marks[row - 1]:
        return False
    return _long_enough(lines[row].rstrip(), lines[row + 1].rstrip())


def _long_enough(title: str, adornment: str) -> bool:
    """Return whether docutils accepts the adornment, which it does from 4 characters on."""
    return len(adornment) >= min(4, len(title))


def _plain(raw: str) -> str:
    """Return the text of a title without its inline markup."""
    return one_line(_MARKED.sub(r"\2", _LINK.sub(r"\1", _ROLE.sub("", raw))))
