"""Rows of tables: column names, merged cells, CSV. Sheets are in ``raptor_formats.office``."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat, zip_longest
from typing import Any

from raptor_formats.base import Parsed
from raptor_formats.encoding.decoding import decode
from raptor_formats.office.archive import damage_as_unreadable
from raptor_formats.text import clean_text, is_number
from raptor_formats.writer import BlockWriter

COVERED = "\0"
"""Text of a cell that is covered by a merged cell to its left."""

_DELIMITERS = ",;\t|"
_DELIMITER_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)
_SNIFFED_CHARS = 20_000


def fill_from_above(cells: Iterable[str | None], above: Sequence[str]) -> list[str]:
    """Replace each None, a cell covered by a merged cell, by the text above it."""
    texts = zip(cells, chain(above, repeat("")), strict=False)
    return [text if cell is None else cell for cell, text in texts]


def without_covered_cells(row: Iterable[str]) -> Iterator[str]:
    """Yield the texts of a row without covered cells."""
    return (cell for cell in row if cell != COVERED)


def parse_csv(data: bytes) -> Parsed:
    """Parse rows of values separated by commas, semicolons, tabs or bars."""
    text = clean_text(decode(data))
    separator = _DELIMITER_LINE.match(text)
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:_SNIFFED_CHARS], _DELIMITERS)
    except csv.Error:
        dialect = csv.excel
    table = io.StringIO(text[separator.end() if separator else 0 :], newline="")
    delimiter = separator[1] if separator else dialect.delimiter
    marks: Any = {"delimiter": delimiter, "quotechar": '"', "doublequote": True}
    blocks = BlockWriter()
    with damage_as_unreadable("CSV file"):
        write_rows(blocks, csv.reader(table, dialect, **marks))
    return blocks.to_parsed()


def write_rows(blocks: BlockWriter, rows: Iterable[Sequence[str]]) -> None:
    """Write rows, with its column name before each cell, so that a line can be understood alone.

    The first row of two or more cells names the columns, unless it contains a number. Names of
    columns without any value are written at the end.
    """
    table = _TableWriter(blocks)
    for row in rows:
        table.write_row(row)
    table.write_empty_column_names()


class _TableWriter:
    """Writes rows; the first one may contain the column names."""

    def __init__(self, blocks: BlockWriter) -> None:
        self._blocks = blocks
        self._names: list[str] | None = None
        self._spans: list[bool] = []  # columns under a shared name, which the next row may split
        self._filled: set[int] = set()

    def write_row(self, row: Sequence[str]) -> None:
        filled = {n for n, cell in enumerate(row) if cell.strip() and cell != COVERED}
        has_number = any(is_number(row[n]) for n in filled)
        if self._names is None and len(filled) > 1:
            self._names = [] if has_number else _spread_merged_names(row)
            self._spans = [COVERED in row[n : n + 2] for n in range(len(row))]
            if self._names:
                return
        elif self._names and self._splits_shared_names(row) and not has_number:
            pairs = zip(self._names, _spread_merged_names(row), strict=False)
            self._names = [" ".join(dict.fromkeys(filter(None, pair))) for pair in pairs]
            self._spans = []
            return
        self._filled |= filled if self._names else set()
        self._spans = self._spans if not filled else []
        self._write_named_cells(row, self._names or ())

    def write_empty_column_names(self) -> None:
        """Write the names of columns without a value."""
        names = self._names or []
        if not self._filled:
            self._write_named_cells(names, ())
            return
        empty = [name for n, name in enumerate(names) if name and n not in self._filled]
        self._blocks.write_row(
            [f"Empty columns: {', '.join(empty)}"] if empty else (), may_name=False
        )

    def _splits_shared_names(self, row: Sequence[str]) -> bool:
        """Return whether a row names only columns that share a name, or have none."""
        columns = zip_longest(row, self._names or (), self._spans, fillvalue="")
        pairs = ((cell, name) for cell, name, is_shared in columns if not is_shared)
        return any(self._spans) and all(
            not cell or not name or cell == name for cell, name in pairs
        )

    def _write_named_cells(self, row: Sequence[str], names: Sequence[str]) -> None:
        cells = zip_longest(row, names[: len(row)], fillvalue="")
        shown = ((name, cell) for cell, name in cells if cell.strip() and cell != COVERED)
        texts = (f"{name}: {cell}" if name else cell for name, cell in shown)
        self._blocks.write_row(texts, may_name=False)


def _spread_merged_names(row: Sequence[str]) -> list[str]:
    """Return the names in a row; a merged cell names all columns that it covers."""
    names: list[str] = []
    for cell in row:
        names.append((names or [""])[-1] if cell == COVERED else cell.strip())
    return names
