"""Rows of HTML tables, in which a cell may span several rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from raptor_formats.text import one_line
from raptor_formats.writer import BlockWriter

TABLE_TAGS = frozenset({"table", "tr", "td", "th"})

_MAX_SPAN = 1000
_MAX_LABEL_CHARS = 200
_MAX_REPEATED_CHARS = 1_000_000
"""Characters of repeated labels in a file; later ones are left out."""


class _Cell(NamedTuple):
    """Cell with the number of rows and columns that it spans; its label is repeated in each row."""

    n_rows: int
    n_columns: int
    names_column: bool
    label: str = ""


@dataclass
class _Table:
    """Open table: the column of the next cell, the open cell, and cells from above by column."""

    column: int = 0
    cell: _Cell | None = None
    label: str = ""
    cells_above: dict[int, _Cell] = field(default_factory=dict)

    def take_cells_from_above(self, *, is_end: bool) -> Iterator[_Cell]:
        """Yield the cells from above at the next columns; at the end of a row, all that remain."""
        while self.cells_above:
            later = [column for column in self.cells_above if column >= self.column]
            if not later or not (is_end or self.column in self.cells_above):
                return
            self.column = min(later)
            cell = self.cells_above.pop(self.column)
            if cell.n_rows > 1:
                self.cells_above[self.column] = cell._replace(n_rows=cell.n_rows - 1)
            self.column += cell.n_columns
            yield cell


class HtmlTableWriter:
    """Writes the rows of tables, which may be nested."""

    def __init__(self, blocks: BlockWriter) -> None:
        self._blocks = blocks
        self._open = [_Table()]  # the first is for cells outside a table
        self._n_repeated = 0

    def start_element(self, tag: str, attributes: Mapping[str, str], *, in_head: bool) -> None:
        """Handle the start of an element of ``TABLE_TAGS``."""
        table = self._open[-1]
        if tag == "table":
            self._blocks.begin_table()
            self._open.append(_Table())
        elif tag == "tr":
            self._blocks.begin_row()
            table.column = 0
        else:
            self._write_cells_from_above(table, is_end=False)
            names_column = tag == "th" or in_head
            self._blocks.begin_cell(names_column=names_column)
            n_rows, n_columns = (
                _parse_cell_span(attributes.get(n, "")) for n in ("rowspan", "colspan")
            )
            table.cell, table.label = _Cell(n_rows, n_columns, names_column), ""

    def add_text(self, text: str) -> None:
        """Add text to the open cell."""
        table = self._open[-1]
        if table.cell and len(table.label) <= _MAX_LABEL_CHARS:
            table.label += text

    def end_element(self, tag: str) -> None:
        """Handle the end of an element of ``TABLE_TAGS``."""
        table = self._open[-1]
        if tag == "table" and len(self._open) > 1:
            self._open.pop()
        elif tag == "tr":
            self._write_cells_from_above(table, is_end=True)
        elif tag in {"td", "th"} and table.cell:
            cell, label = table.cell, one_line(table.label)
            if cell.n_rows > 1:  # a long text is not a label
                label = label if len(label) <= _MAX_LABEL_CHARS else ""
                below = cell._replace(n_rows=cell.n_rows - 1, label=label)
                table.cells_above[table.column] = below
            table.cell = None
            table.column += cell.n_columns

    def _write_cells_from_above(self, table: _Table, *, is_end: bool) -> None:
        for cell in table.take_cells_from_above(is_end=is_end):
            self._blocks.begin_cell(names_column=cell.names_column)
            self._n_repeated += len(cell.label)
            self._blocks.add_text(cell.label if self._n_repeated <= _MAX_REPEATED_CHARS else "")


def _parse_cell_span(text: str) -> int:
    """Parse a number of rows or columns; 0 means all that follow."""
    number = int(text.strip()[:9]) if text.strip().isdecimal() else 1
    return min(number, _MAX_SPAN) or _MAX_SPAN
