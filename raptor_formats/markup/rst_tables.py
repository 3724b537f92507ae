"""Tables of reStructuredText: grid tables, simple tables, and list tables."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from raptor_formats.blocks import Block, join_column_names

_GRID_BORDER = re.compile(r" *\+(?:[-=]+\+)+ *\Z")
_SIMPLE_BORDER = re.compile(r" *=+(?: +=+)+ *\Z")
_COLUMN = re.compile(r"=+")
_LIST_TABLE_ROW = re.compile(r" *[*-] +[*-](?: |\Z)")
_CELL_OF_LIST = re.compile(r"^ *(?:[*-] +)?[*-](?: |$)", re.MULTILINE)
_HEADER_ROWS = re.compile(r":header-rows: *(\d+)")
_CSV_NAMES = re.compile(r":header: *([^\n]*(?:\n[ \t]+(?![ \t]*:)[^\n]*)*)")


class RstTable(NamedTuple):
    """Blocks of a table, and the row after its last line."""

    blocks: list[Block]
    end: int


def read_table(lines: Sequence[str], starts: Sequence[int], row: int, end: int) -> RstTable | None:
    """Parse the table that begins with a line; None if there is none.

    Args:
        lines: lines of the text.
        starts: first character of each line.
        row: the first line of the table.
        end: row after the last line that may belong to it.
    """
    if _GRID_BORDER.match(lines[row]):
        stop = row + 1
        while stop < end and lines[stop].lstrip()[:1] in ("+", "|"):
            stop += 1
        return RstTable(list(_read_grid_table(lines, starts, row, stop)), stop)
    if _SIMPLE_BORDER.match(lines[row]):
        borders = _find_border_rows(lines, row, end)
        if len(borders) > 1:
            return RstTable(list(_read_simple_table(lines, starts, borders)), borders[-1] + 1)
    return None


def _read_grid_table(
    lines: Sequence[str], starts: Sequence[int], row: int, end: int
) -> Iterator[Block]:
    borders = [at for at in range(row, end) if _GRID_BORDER.match(lines[at])]
    has_names = any("=" in lines[at] for at in borders)
    for border, following in pairwise([*borders, end]):
        yield _make_block(lines, starts, border, border + 1)
        if border + 1 >= following:
            continue
        block = _make_block(lines, starts, border + 1, following)
        is_names = has_names and following < end and "=" in lines[following]
        if is_names:
            cells = [line.strip().strip("|").split("|") for line in lines[border + 1 : following]]
            columns = zip(*cells, strict=False)
            block = block._replace(kind="names", label=join_column_names(map(" ".join, columns)))
        yield block


def _find_border_rows(lines: Sequence[str], row: int, end: int) -> list[int]:
    """Return the rows of the borders; a border before a blank line ends the table."""
    borders = [row]
    for at in range(row + 1, end):
        if _SIMPLE_BORDER.match(lines[at]):
            borders.append(at)
            if at + 1 >= end or not lines[at + 1].strip():
                break
    return borders


def _read_simple_table(
    lines: Sequence[str], starts: Sequence[int], borders: list[int]
) -> Iterator[Block]:
    columns = [column.start() for column in _COLUMN.finditer(lines[borders[0]])]
    has_names = len(borders) > 2
    for border, following in pairwise(borders):
        yield _make_block(lines, starts, border, border + 1)
        inner = range(border + 1, following)
        begins = [at for at in inner if lines[at][: columns[1]].strip()]
        if has_names and border == borders[0]:
            begins = begins[:1]
        for first, stop in pairwise([*begins, following]):
            block = _make_block(lines, starts, first, stop)
            if has_names and border == borders[0]:
                cells = zip(
                    *(_split_cells(line, columns) for line in lines[first:stop]), strict=False
                )
                block = block._replace(kind="names", label=join_column_names(map(" ".join, cells)))
            yield block
    yield _make_block(lines, starts, borders[-1], borders[-1] + 1)


def _split_cells(line: str, columns: Sequence[int]) -> list[str]:
    return [line[start:stop] for start, stop in pairwise([*columns, len(line) + 1])]


def _make_block(lines: Sequence[str], starts: Sequence[int], row: int, end: int) -> Block:
    return Block("row", starts[row], starts[end - 1] + len(lines[end - 1]))


def read_list_table(
    lines: Sequence[str], starts: Sequence[int], row: int, end: int, options: str
) -> Iterator[Block]:
    """Yield the rows of a list table."""
    begins = [at for at in range(row, end) if _LIST_TABLE_ROW.match(lines[at])]
    named = _HEADER_ROWS.search(options)
    n_names = int(named[1]) if named else 0
    for number, (first, stop) in enumerate(pairwise([*begins, end])):
        block = _make_block(lines, starts, first, stop)
        if number < n_names:
            cells = _CELL_OF_LIST.split("\n".join(lines[first:stop]))
            block = block._replace(kind="names", label=join_column_names(cells))
        yield block


def read_csv_column_names(options: str) -> str:
    """Return the column names in the options of a CSV table, or ""."""
    named = _CSV_NAMES.search(options)
    rows = list(csv.reader([" ".join(named[1].split())], skipinitialspace=True)) if named else []
    return join_column_names(rows[0]) if rows else ""
