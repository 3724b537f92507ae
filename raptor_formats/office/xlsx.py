"""Excel workbooks (.xlsx): a line for each row, with cells as shown and their column names."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any

from raptor_formats.base import DOUBT, MEGABYTE, MetadataValue, Parsed, UnreadableError
from raptor_formats.office.archive import (
    MAX_TEXT_MB,
    damage_as_unreadable,
    open_archive,
    read_elements,
)
from raptor_formats.office.number_format import BUILT_IN, format_number
from raptor_formats.office.ooxml import OfficePackage, read_relation_id
from raptor_formats.rows import COVERED, write_rows
from raptor_formats.writer import BlockWriter

MAX_CELLS = 5_000_000
"""Limit of the cells of a sheet, including empty ones before the last cell of a row."""

_MAX_COLUMNS, _MAX_WIDTH = 16_384, 100
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Z]+)(\d+):([A-Z]+)(\d+)["']""")
_EPOCHS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_REMEDY = "open the workbook in a spreadsheet program and save it"


def parse_xlsx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse sheets with the saved values of formulas, comments and text boxes."""
    formats = (".xls", ".xlsx")
    with (
        damage_as_unreadable("Excel workbook"),
        open_archive(data, max_file_mb, formats) as archive,
    ):
        book = _Workbook(OfficePackage(archive, "workbook"))
        book.write_sheets()
        title, author = book.package.read_title_and_author()
    n_sheets, n_lost = book.blocks.n_headings, book.n_without_value
    if n_lost and not n_sheets:
        raise UnreadableError(f"contains only formulas without a saved value; {_REMEDY}")
    doubt = f"{n_lost:,} formulas without a saved value; {_REMEDY}" if n_lost else ""
    about: dict[str, MetadataValue] = {
        "sheets": n_sheets,
        "author": "" if author == "openpyxl" else author,
        DOUBT: doubt,
    }
    return replace(book.blocks.to_parsed(metadata=about), title=title)  # not a sheet's


class _Workbook:
    """Parses a workbook; ``n_without_value`` counts formulas that were never calculated."""

    def __init__(self, package: OfficePackage) -> None:
        self.package = package
        self.blocks = BlockWriter()
        self.n_without_value = 0
        self._n_chars = 0
        self._root = package.read_root(package.main)
        self._from_1904 = any(
            properties.get("date1904") in {"1", "true"}
            for properties in self._root.iterfind("{*}workbookPr")
        )
        strings = package.read_part(package.find_related_part(package.main, "sharedStrings"))
        self._strings = [_read_rich_text(item) for item in read_elements(strings, "si")]
        self._codes = _read_format_codes(
            package.read_root(package.find_related_part(package.main, "styles"))
        )
        self._show = cache(self._format_value)

    def write_sheets(self) -> None:
        """Write the sheets that are not empty."""
        for sheet in self._root.iterfind("{*}sheets/{*}sheet"):
            part = self.package.find_target(self.package.main, read_relation_id(sheet))
            rows = self._read_rows(self.package.read_part(part))
            first = next(rows, None)
            further = [*self._read_drawing_texts(part), *self._read_comments(part)]
            if first is None and not further:
                continue
            self.blocks.begin_heading(1)
            self.blocks.write_paragraph(sheet.get("name", ""))
            write_rows(self.blocks, chain([first or []], rows))
            for text in further:
                self.blocks.write_paragraph(text)

    def _read_rows(self, data: bytes) -> Iterator[list[str]]:
        """Yield the rows of a sheet, with the label of merged cells in each of their rows."""
        merged = _MergedCells(data)
        n_cells = number = 0
        for element in read_elements(data, "row"):
            number = int(element.get("r") or number + 1)
            row: list[str] = []
            for cell in element.iterchildren("{*}c"):
                letters = cell.get("r", "").rstrip("0123456789")
                column = _column_index(letters) if letters else len(row)
                row += [""] * (column - len(row))
                row[column:] = [self._read_cell(cell)]
            n_cells += len(row) + 1
            if n_cells > MAX_CELLS:
                raise UnreadableError(f"has more than {MAX_CELLS:,} cells in a sheet; split it")
            self._n_chars += sum(map(len, row))
            if self._n_chars > MAX_TEXT_MB * MEGABYTE:
                raise UnreadableError(f"has more than {MAX_TEXT_MB} MB of text in cells; split it")
            if any(row):
                merged.fill_row(number, row)
                yield row

    def _read_cell(self, cell: Any) -> str:
        """Return the text of a cell, and count it if it is a formula without a value."""
        kind, value = cell.get("t", "n"), ""
        has_formula = False
        for child in cell.iterchildren():
            tag = child.tag.rpartition("}")[2]
            if tag == "v":
                value = child.text or ""
            elif tag == "is":
                return _read_rich_text(child)
            has_formula |= tag == "f"
        if not value:
            self.n_without_value += has_formula and kind != "str"
            return ""
        if kind == "s":
            return self._strings[int(value)]
        return self._show(value, kind, int(cell.get("s") or 0))

    def _format_value(self, value: str, kind: str, style: int) -> str:
        if kind == "b":
            return str(value == "1")
        code = self._codes[style] if style < len(self._codes) else ""
        if kind == "d":
            epoch = _EPOCHS[self._from_1904]
            stamp = value if "-" in value else f"{epoch:%Y-%m-%d}T{value}"
            moment = datetime.fromisoformat(stamp).replace(tzinfo=None)
            serial = (moment - epoch).total_seconds() / 86_400
            return format_number(serial, code or "yyyy-mm-dd h:mm:ss", from_1904=self._from_1904)
        if kind != "n":
            return value
        return format_number(float(value), code, from_1904=self._from_1904)

    def _read_drawing_texts(self, part: str) -> Iterator[str]:
        drawing = self.package.find_related_part(part, "drawing")
        root = self.package.read_root(drawing)
        return iter(()) if root is None else self.package.read_drawing_texts(drawing, root)

    def _read_comments(self, part: str) -> Iterator[str]:
        threads = self.package.read_root(self.package.find_related_part(part, "threadedComment"))
        root = self.package.read_root(self.package.find_related_part(part, "comments"))
        elements = root if threads is None else threads
        tag = "{*}comment" if threads is None else "{*}threadedComment"
        for comment in () if elements is None else elements.iter(tag):
            yield f"{comment.get('ref', '')}: {_read_rich_text(comment)}"


def _read_rich_text(item: Any) -> str:
    """Return the text of a string with its runs, without phonetic hints."""
    texts = item.iter("{*}t", "{*}text")
    text = "".join(t.text or "" for t in texts if not t.getparent().tag.endswith("}rPh"))
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _read_format_codes(styles: Any) -> list[str]:
    """Return the format code of each cell style; "" for none."""
    if styles is None:
        return []
    formats = styles.iterfind("{*}numFmts/{*}numFmt")
    codes = {**BUILT_IN, **{int(f.get("numFmtId")): f.get("formatCode", "") for f in formats}}
    kinds = styles.iterfind("{*}cellXfs/{*}xf")
    return [codes.get(int(kind.get("numFmtId") or 0), "") for kind in kinds]


class _MergedCells:
    """Merged cells of a sheet; rows must be filled in order."""

    def __init__(self, sheet: bytes) -> None:
        groups = (match.groups() for match in _MERGED.finditer(sheet))
        areas = (
            (int(r1), _column_index(c1.decode()), int(r2), _column_index(c2.decode()))
            for c1, r1, c2, r2 in groups
        )
        self._pending = sorted(areas, reverse=True)
        self._open: list[tuple[int, int, int, int]] = []
        self._labels: dict[int, str] = {}

    def fill_row(self, number: int, row: list[str]) -> None:
        """Write labels and COVERED into the cells that merged cells cover."""
        while self._pending and self._pending[-1][0] <= number:
            self._open.append(self._pending.pop())
        self._open = [area for area in self._open if area[2] >= number]
        for top, first, _, right in self._open:
            last = min(right, first + _MAX_WIDTH)
            row += [""] * (last + 1 - len(row))
            if top == number:
                self._labels[first] = row[first]
            row[first] = row[first] or self._labels.get(first, "")
            row[first + 1 : last + 1] = [cell or COVERED for cell in row[first + 1 : last + 1]]


@cache
def _column_index(letters: str) -> int:
    """Convert column letters such as "AB" to an index, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    if not 0 < number <= _MAX_COLUMNS:
        raise UnreadableError(f"is damaged: it has a cell in column {letters!r:.20}")
    return number - 1
