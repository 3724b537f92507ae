"""reStructuredText: the source text unchanged, with blocks and sections as docutils reads them.

Titles and explicit markup are handled here, tables in ``rst_tables``.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

from raptor_formats.base import Parsed
from raptor_formats.blocks import Block, Kind, pack_blocks, strip_block
from raptor_formats.encoding.decoding import decode
from raptor_formats.markup.plain import split_into_blocks
from raptor_formats.markup.rst_tables import read_csv_column_names, read_list_table, read_table
from raptor_formats.sections import Heading, nest_headings
from raptor_formats.text import clean_text, one_line

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*\Z")
_ROLE = re.compile(r":[\w:+.-]+:(?=`)")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{0,2}")
_MARKED = re.compile(r"(\*\*|``|\*|`)(\S|\S.*?\S)\1_{0,2}")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?([\w:.+-]*[\w])[ \t]?::(?:[ \t]+(.*))?\Z")
_REFERENCE = re.compile(r"\.\.[ \t]+(?:\[[^\]]+\]|_[^_].*:[ \t]+\S)")
_ITEM = re.compile(
    r"(?:[-*+•‣⁃]|\(?(?:\d{1,4}|[a-zA-Z]|[ivxlcIVXLC]{1,6}|#)[.)]"
    r"|:[^:\s](?:[^:`]|:(?![\s`]))*:)(?:[ \t]+|\Z)"
)
_OPTION = re.compile(r"[ \t]*:[\w][\w -]*:(?:[ \t]|\Z)")
_CODE_DIRECTIVES = frozenset(
    [
        *("code", "code-block", "sourcecode", "parsed-literal", "math", "raw", "prompt"),
        *("productionlist", "testcode", "testoutput", "testsetup", "doctest", "graphviz"),
    ]
)


def parse_rst(data: bytes) -> Parsed:
    """Parse reStructuredText; its text is unchanged, so spans also apply to the file.

    As in docutils, the order in which adornments first appear gives headings their ranks. Comments
    are not text.
    """
    text = clean_text(decode(data))
    reader = _RstReader(text)
    blocks = pack_blocks(reader.read_blocks())
    headings = reader.headings
    title = headings[0].title if headings else ""
    return Parsed(text, title, nest_headings(headings, len(text)), packed_blocks=blocks)


class _RstReader:
    """Reads the lines of a text; collects headings along with the blocks."""

    def __init__(self, text: str) -> None:
        self.headings: list[Heading] = []
        self._text = text
        self._lines = text.expandtabs(1).split("\n")
        self._starts = [*accumulate((len(line) + 1 for line in self._lines), initial=0)]
        self._marks = [line[:1] if _ADORNMENT.match(line) else "" for line in self._lines]
        self._ranks: dict[tuple[str, bool], int] = {}

    def read_blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        return self._read_body(0, len(self._lines), 0)

    def _read_body(self, row: int, end: int, indent: int) -> Iterator[Block]:
        """Yield the blocks of lines indented by at least ``indent`` characters."""
        while row < end:
            line = self._lines[row]
            depth = _count_indent(line)
            stop = row + 1
            if not line.strip():
                row += 1
                continue
            if depth > indent:
                stop = self._find_end_of_indented(row, end, depth)
                yield from self._read_body(row, stop, depth)
            elif indent == 0 and (n_rows := self._count_heading_lines(row)):
                stop = row + n_rows
                yield self._read_heading(row, stop)
            elif line.startswith("..", depth) and line[depth + 2 : depth + 3] in {"", " "}:
                stop = self._find_end_of_indented(row + 1, end, depth + 1)
                if line.strip() == ".." and not "".join(self._lines[row + 1 : row + 2]).strip():
                    stop = row + 1  # an empty comment ends the preceding block
                yield from self._read_explicit_markup(row, stop, depth)
            elif table := read_table(self._lines, self._starts, row, end):
                stop = table.end
                yield from (b for block in table.blocks for b in strip_block(self._text, block))
            elif item := _ITEM.match(line, depth):
                stop = self._find_end_of_indented(row + 1, end, max(item.end(), depth + 1))
                yield from self._read_item(row, stop, depth, item.end())
            else:
                stop = self._find_end_of_paragraph(row, end, indent)
                yield from self._read_paragraph("paragraph", row, stop)
                if self._lines[stop - 1].rstrip().endswith("::"):
                    base = _count_indent(self._lines[stop - 1])
                    row, stop = stop, self._find_end_of_indented(stop, end, base + 1)
                    yield from self._make_block("code", row, stop)
            row = stop

    def _find_end_of_indented(self, row: int, end: int, indent: int) -> int:
        """Return the end of the lines from ``row`` on that are blank or indented enough."""
        last = row
        while row < end and (
            not self._lines[row].strip() or _count_indent(self._lines[row]) >= indent
        ):
            row += 1
            last = row if self._lines[row - 1].strip() else last
        return last

    def _find_end_of_paragraph(self, row: int, end: int, indent: int) -> int:
        """Return the end of the lines up to a blank or less indented line."""
        row += 1
        while row < end and self._lines[row].strip() and _count_indent(self._lines[row]) >= indent:
            row += 1
        return row

    def _make_block(self, kind: Kind, row: int, end: int, label: str = "") -> Iterator[Block]:
        if row < end:
            span = self._starts[row], self._starts[end] - 1
            yield from strip_block(self._text, Block(kind, *span, label=label))

    def _read_paragraph(self, kind: Kind, row: int, end: int) -> Iterator[Block]:
        is_code = self._lines[row].lstrip().startswith(">>>")
        if is_code:
            yield from self._make_block("code", row, end)
            return
        span = self._starts[row], self._starts[end] - 1
        for block in split_into_blocks(self._text, *span, kind=kind, only_wrap=True):
            yield from strip_block(self._text, block)

    def _read_item(self, row: int, end: int, depth: int, inner: int) -> Iterator[Block]:
        """Yield an item: its first paragraph with the bullet, then its other content."""
        stop = self._find_end_of_paragraph(row, end, depth + 1)
        first = self._lines[row][inner:]
        if _DIRECTIVE.match(first):
            yield from self._read_explicit_markup(row, end, depth, inner)
            return
        if _ITEM.match(first):  # a list that begins on the line of the bullet
            stop = row + 1
        yield from self._read_paragraph("item", row, stop)
        if self._lines[stop - 1].rstrip().endswith("::"):
            code = self._find_end_of_indented(stop, end, _count_indent(self._lines[stop - 1]) + 1)
            if stop == row + 1:
                code = self._find_end_of_indented(stop, end, inner + 1)
            yield from self._make_block("code", stop, code)
            stop = max(stop, code)
        yield from self._read_body(stop, end, min(inner, self._least_indent(stop, end, inner)))

    def _least_indent(self, row: int, end: int, default: int) -> int:
        return min((_count_indent(s) for s in self._lines[row:end] if s.strip()), default=default)

    def _read_explicit_markup(
        self, row: int, end: int, depth: int, inner: int = -1
    ) -> Iterator[Block]:
        """Yield the blocks of a directive, a target or a note; a comment has none."""
        line = self._lines[row][max(depth, inner) :].rstrip()
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if _REFERENCE.match(line):
                yield from self._make_block("paragraph", row, end)
            elif line.startswith(".. _"):
                yield from self._make_block("rule", row, end)
            return
        name, title = directive[1].rpartition(":")[2], directive[2] or ""
        stop = self._find_end_of_options(row, end, is_text=bool(title))
        options = "\n".join(self._lines[row:stop])
        yield from self._read_directive(
            row, stop, end, _strip_inline_markup(title), read_csv_column_names(options)
        )
        if name in _CODE_DIRECTIVES:
            yield from self._make_block("code", stop, end)
        elif name == "list-table":
            blocks = read_list_table(self._lines, self._starts, stop, end, options)
            yield from (b for block in blocks for b in strip_block(self._text, block))
        elif name == "csv-table":
            for at in range(stop, end):
                yield from self._make_block("row", at, at + 1)
        else:
            yield from self._read_body(stop, end, self._least_indent(stop, end, depth + 1))

    def _read_directive(
        self, row: int, stop: int, end: int, title: str, names: str
    ) -> Iterator[Block]:
        """Yield the first lines of a directive; without a body it is a paragraph."""
        if names:
            yield from self._make_block("names", row, stop, f"{title}: {names}" if title else names)
        elif any(map(str.strip, self._lines[stop:end])):
            yield from self._make_block("directive", row, stop, title)
        else:
            yield from self._read_paragraph("paragraph", row, stop)

    def _find_end_of_options(self, row: int, end: int, *, is_text: bool) -> int:
        """Return the end of a directive's argument and options."""
        stop = row + 1
        while stop < end and self._lines[stop].strip():
            if not (is_text or _OPTION.match(self._lines[stop])):
                break
            stop += 1
        return stop

    def _read_heading(self, row: int, end: int) -> Block:
        is_overlined = end - row == 3
        title = self._lines[end - 2]
        rank = self._ranks.setdefault((self._marks[end - 1], is_overlined), len(self._ranks) + 1)
        start = self._starts[row] + _count_indent(self._lines[row])
        self.headings.append(Heading(_strip_inline_markup(title), rank, self._starts[row]))
        last = self._starts[end - 1] + len(self._lines[end - 1].rstrip())
        return Block("heading", start, last, min(rank, 7))

    def _count_heading_lines(self, row: int) -> int:
        """Return the number of lines of the heading that begins with a line; 0 for none."""
        lines, marks = self._lines, self._marks
        if row + 1 >= len(lines):
            return 0
        if _is_overlined(lines, marks, row):
            return 3
        return 2 if _is_underlined(lines, marks, row) else 0


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_overlined(lines: list[str], marks: list[str], row: int) -> bool:
    """Return whether a heading with an overline begins; ``marks`` are the adornments by line."""
    if not marks[row] or row + 2 >= len(lines) or marks[row + 1] or not lines[row + 1].strip():
        return False
    over, title, under = (line.rstrip() for line in lines[row : row + 3])
    return over == under and _is_adornment_long_enough(title, over)


def _is_underlined(lines: list[str], marks: list[str], row: int) -> bool:
    """Return whether a heading with only an underline begins: a paragraph of one line."""
    if not marks[row + 1] or marks[row] or not lines[row].strip() or lines[row][0] in " \t":
        return False
    if row > 0 and lines[row - 1].strip() and not marks[row - 1]:
        return False
    return _is_adornment_long_enough(lines[row].rstrip(), lines[row + 1].rstrip())


def _is_adornment_long_enough(title: str, adornment: str) -> bool:
    """Return whether docutils accepts the adornment: as long as the title, or 4 characters."""
    return len(adornment) >= min(4, len(title))


def _strip_inline_markup(raw: str) -> str:
    """Strip inline markup from a title."""
    return one_line(_MARKED.sub(r"\2", _LINK.sub(r"\1", _ROLE.sub("", raw))))
