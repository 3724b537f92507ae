"""Excel workbooks (.xlsx): a section for each sheet, a line for each row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import datetime, time
from io import BytesIO
from typing import Any

from raptor_core.documents.base import MetadataValue
from raptor_core.documents.formats.archive import DAMAGE, check_archive, damaged
from raptor_core.documents.formats.blocks import Blocks
from raptor_core.documents.formats.grid import write_rows
from raptor_core.documents.formats.parsed import Parsed, UnreadableError, nest, one_line
from raptor_core.errors import MissingExtraError

MAX_CELLS = 5_000_000
"""Cells of a workbook, the empty ones before the last of each row included."""

_KIND = "Excel workbook"


def parse_xlsx(data: bytes, max_file_mb: float) -> Parsed:
    """Sheets one after the other, with the values that formulas had when it was saved.

    Charts, comments and empty sheets are left out.

    Raises:
        UnreadableError: encrypted, damaged, or too large uncompressed.
        MissingExtraError: openpyxl is not installed.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("xlsx", "reading Excel workbooks") from error
    check_archive(data, max_file_mb, _KIND, (".xls", ".xlsx"))
    blocks = Blocks()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of features that hold no text
            book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
            for sheet in book.worksheets:
                _write_sheet(blocks, sheet)
        title, author = book.properties.title or "", book.properties.creator or ""
    except DAMAGE as error:
        raise damaged(_KIND, error) from error
    text, headings = blocks.finish()
    metadata: dict[str, MetadataValue] = {"sheets": len(headings)}
    if author not in {"", "openpyxl"}:
        metadata["author"] = one_line(author)
    return Parsed(text, one_line(title), nest(headings, len(text)), metadata)


def _write_sheet(blocks: Blocks, sheet: Any) -> None:
    sheet.reset_dimensions()  # what a file says of its size need not be true
    rows = [row for row in _rows(sheet) if any(row)]
    if rows:
        blocks.begin_heading(1)
        blocks.text(sheet.title)
        blocks.leave()
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
