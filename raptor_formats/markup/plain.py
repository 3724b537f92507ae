"""Plain text: paragraphs between blank lines, list items, indented code, rows and rules.

The kind and extent of a block depend only on its own lines and the next line, so an edit changes no
other block.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from raptor_formats.blocks import Block, Kind, Section, is_horizontal_rule, strip_block

WRAP_CHARS = 120
"""Length from which a line is a paragraph of its own: such a text is not hard-wrapped."""

_LINE = re.compile(r"[^\n\r\f\x85\u2028\u2029]*(?:\r\n|[\n\r\f\x85\u2028\u2029]|\Z)")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•‣–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[ \t]+(?=\S)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,}|~{3,}|\*{3,})\s*$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_CODE = re.compile(r"[{}<>=;]|\w\(|^\s*(?:[$#@]|//|import |return\b|def |class )")


class Line(NamedTuple):
    """Line of a text, including its line end."""

    start: int
    text: str


def read_plain_blocks(text: str, headings: Collection[int] = ()) -> Iterator[Block]:
    """Yield the blocks of a plain text in order; they cover everything but white space.

    ``headings`` are the offsets at which sections begin; such a line is a heading.
    """
    yield from split_into_blocks(text, 0, len(text), headings)


def split_into_blocks(
    text: str,
    start: int,
    end: int,
    headings: Collection[int] = (),
    *,
    kind: Kind = "paragraph",
    only_wrap: bool = False,
) -> Iterator[Block]:
    """Yield the blocks of the lines from ``start`` to ``end``.

    Args:
        text: the whole text.
        start: start of the first line.
        end: end of the last line.
        headings: offsets at which sections begin.
        kind: kind of a paragraph.
        only_wrap: begin a block only at a section and at a line that is not wrapped, because the
            parser of the format has already found everything else.
    """
    lines = [Line(m.start(), m[0]) for m in _LINE.finditer(text, start, end) if m[0]]
    open_lines: list[Line] = []
    at = 0
    while at < len(lines):
        n_rows = _count_heading_lines(lines, at, headings, only_wrap=only_wrap)
        if n_rows or (at and _begins_block(lines, at, only_wrap=only_wrap)):
            yield from _close_block(text, open_lines, kind, only_wrap=only_wrap)
            open_lines = []
        if n_rows:
            last = lines[at + n_rows - 1]
            heading = Block("heading", lines[at].start, last.start + len(last.text), 1)
            yield from strip_block(text, heading)
        else:
            open_lines.append(lines[at])
        at += max(1, n_rows)
    yield from _close_block(text, open_lines, kind, only_wrap=only_wrap)


def _count_heading_lines(
    lines: list[Line], at: int, headings: Collection[int], *, only_wrap: bool
) -> int:
    """Return the number of lines of the heading that begins with a line; 0 for none."""
    text = lines[at].text
    if not text.strip() or is_horizontal_rule(text):
        return 0
    underlined = not only_wrap and _is_underlined(lines, at)
    indent = len(text) - len(text.lstrip())
    first = lines[at].start
    if headings and any(start in headings for start in range(first, first + indent + 1)):
        return 2 if underlined else 1
    return 2 if underlined else 0


def _is_underlined(lines: list[Line], at: int) -> bool:
    """Return whether the next line underlines this one as a heading; it must begin a block."""
    if at + 1 >= len(lines) or not _UNDERLINE.match(lines[at + 1].text):
        return False
    text = lines[at].text
    return (at == 0 or not lines[at - 1].text.strip()) and len(text) <= WRAP_CHARS


def _begins_block(lines: list[Line], at: int, *, only_wrap: bool) -> bool:
    """Return whether a new block begins with this line."""
    line, previous = lines[at].text, lines[at - 1].text
    if max(len(line), len(previous)) > WRAP_CHARS:
        return True
    if only_wrap:
        return False
    if not line.strip() or not previous.strip() or _ITEM.match(line):
        return True
    return bool(
        _ROW.match(line)
        or _ROW.match(previous)
        or is_horizontal_rule(line)
        or is_horizontal_rule(previous)
    )


def _close_block(text: str, lines: list[Line], kind: Kind, *, only_wrap: bool) -> Iterator[Block]:
    """Yield the open lines as a block; its kind follows from its lines."""
    filled = [line.text for line in lines if line.text.strip()]
    if not filled:
        return
    if not only_wrap:
        kind = _kind_of_lines(filled)
    last = lines[-1]
    yield from strip_block(text, Block(kind, lines[0].start, last.start + len(last.text)))


def _kind_of_lines(lines: list[str]) -> Kind:
    if _ROW.match(lines[0]):
        return "row"
    return "code" if looks_like_code(lines) else "item" if _ITEM.match(lines[0]) else "paragraph"


def looks_like_code(lines: list[str]) -> bool:
    """Return whether the lines are indented and half of them look like code."""
    if not all(map(_INDENTED.match, lines)):
        return False
    return 2 * sum(bool(_CODE.search(line)) for line in lines) >= len(lines)


_FIRST_LINE = re.compile(r"[^\n\r]*")


def find_title_starts(text: str, sections: Sequence[Section]) -> set[int]:
    """Return the starts of the sections whose line shows their title and so is a heading."""
    return {s.start for s in sections if _shows_title(text, s.start, s.title)}


def _shows_title(text: str, start: int, title: str) -> bool:
    while start < len(text) and text[start].isspace():
        start += 1
    first = _FIRST_LINE.match(text, start)
    line = _fold_to_letters(first.group()) if first else ""
    return bool(line) and len(line) <= 2 * len(title) + 8 and _fold_to_letters(title) in line


def _fold_to_letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
