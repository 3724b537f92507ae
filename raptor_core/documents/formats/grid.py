"""Rows of cells as text: each row a line, each cell with the name of its column; and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from raptor_core.documents.formats.blocks import Blocks
from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import Parsed, UnreadableError, clean_text

_DELIMITERS = ",;\t|"
_SNIFFED_CHARS = 20_000


def parse_csv(data: bytes) -> Parsed:
    """Rows of a file of values parted by commas, semicolons, tabs or bars.

    Raises:
        UnreadableError: binary data, an unknown encoding, or no such file.
    """
    text = clean_text(decode(data))
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:_SNIFFED_CHARS], _DELIMITERS)
    except csv.Error:
        dialect = csv.excel
    blocks = Blocks()
    try:
        write_rows(blocks, csv.reader(text.splitlines(keepends=True), dialect))
    except csv.Error as error:
        raise UnreadableError(f"is damaged, or no CSV file: {error}") from error
    return Parsed(blocks.finish()[0])


def write_rows(blocks: Blocks, rows: Iterable[Sequence[str]]) -> None:
    """Write rows; the first one with two cells or more names the columns, if it has no number.

    Each line can then be understood alone, however the text is cut. Rows before it are titles.
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
    blocks.begin_row()
    for column, cell in enumerate(row):
        if cell.strip():
            name = names[column].strip() if column < len(names) else ""
            blocks.cell()
            blocks.text(f"{name}: {cell}" if name else cell)
    blocks.leave()
