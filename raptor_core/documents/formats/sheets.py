"""Sheets, CSV and Excel (.xlsx): each row a line, each cell with the name of its column."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time
from io import BytesIO
from itertools import zip_longest
from typing import Any

from raptor_core.documents.formats.archive import open_archive, refuse_damage
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import (
    Blocks,
    Parsed,
    UnreadableError,
    clean_text,
    one_line,
)
from raptor_core.errors import MissingExtraError

_DELIMITERS = ",;\t|"
_SNIFFED_CHARS = 20_000


def parse_csv(data: bytes) -> Parsed:
    """Parse rows of values with commas, semicolons, tabs or bars between them."""
    text = clean_text(decode(data))
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:_SNIFFED_CHARS], _DELIMITERS)
    except csv.Error:
        dialect = csv.excel
    blocks = Blocks()
    with refuse_damage("CSV file"):
        write_rows(blocks, csv.reader(text.splitlines(keepends=True), dialect))
    return blocks.parsed()


def write_rows(blocks: Blocks, rows: Iterable[Sequence[str]]) -> None:
    """Write rows, each cell with its column's name, so that each line can be understood alone.

    The first row of two cells or more names the columns, unless it has a number.
    """
    names: Sequence[str] | None = None
    n_named = 0
    for row in rows:
        filled = [cell for cell in row if cell.strip()]
        if names is None and len(filled) > 1:
            names = () if any(map(_is_number, filled)) else row
            if names:
                continue
        n_named += bool(names and filled)
        _write_row(blocks, row, names or ())
    if names and not n_named:
        _write_row(blocks, names, ())


def _is_number(cell: str) -> bool:
    return cell.strip("+-%$€£¥ ").replace(",", "").replace(".", "").isdigit()


def _write_row(blocks: Blocks, row: Sequence[str], names: Sequence[str]) -> None:
    named = zip_longest(row, (name.strip() for name in names[: len(row)]), fillvalue="")
    blocks.row(f"{name}: {cell}" if name else cell for cell, name in named if cell.strip())


MAX_CELLS = 5_000_000
"""Cells of a workbook, the empty ones before the last of each row included."""


def parse_xlsx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse sheets with the saved values of formulas, without charts, comments, empty sheets."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("xlsx", "reading Excel workbooks") from error
    blocks, formats = Blocks(), (".xls", ".xlsx")
    with refuse_damage("Excel workbook"), open_archive(data, max_file_mb, formats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of features that hold no text
            book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
            for sheet in book.worksheets:
                _write_sheet(blocks, sheet)
        title, author = book.properties.title or "", book.properties.creator or ""
    about = {"sheets": blocks.n_headings, "author": "" if author == "openpyxl" else author}
    return replace(blocks.parsed(metadata=about), title=one_line(title))  # not of a sheet


def _write_sheet(blocks: Blocks, sheet: Any) -> None:
    sheet.reset_dimensions()  # the size in the file may be wrong
    rows = [row for row in _rows(sheet) if any(row)]
    if rows:
        blocks.begin_heading(1)
        blocks.paragraph(sheet.title)
        write_rows(blocks, rows)


def _rows(sheet: Any) -> Iterator[list[str]]:
    n_cells = 0
    for row in sheet.iter_rows(values_only=True):
        n_cells += len(row) + 1
        if n_cells > MAX_CELLS:
            raise UnreadableError(f"has more than {MAX_CELLS:,} cells in a sheet; split it")
        yield [_shown(value) for value in row]


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return str(value)
