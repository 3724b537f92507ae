"""OpenDocument texts, sheets and slides (.odt, .ods, .odp), with sections from headings."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from raptor_formats.base import Parsed, UnreadableError
from raptor_formats.office.archive import (
    damage_as_unreadable,
    local_tag,
    open_archive,
    read_xml,
)
from raptor_formats.office.ooxml import read_attribute
from raptor_formats.office.pptx import write_notes, write_slide_heading
from raptor_formats.rows import COVERED, fill_from_above, without_covered_cells, write_rows
from raptor_formats.text import one_line
from raptor_formats.writer import BlockWriter

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_BREAKS = {"s": " ", "tab": " ", "line-break": "\n"}
_LEFT_OUT = frozenset(
    ["annotation", "forms", "notes", "note-citation", "table-of-content", "tracked-changes"]
)
_APART = frozenset({"frame", "note", "custom-shape"})
"""Elements inside a paragraph whose own paragraphs are written after it."""
_FAMILIES = {"p": "paragraph", "h": "paragraph", "span": "text"}
"""Style family of each element."""
_MAX_PARENTS = 50
"""Number of parents of a style that are followed, because they may form a cycle."""
_MAX_RANK = 6
_MAX_REPEATED = 100
"""Number of equal consecutive cells or rows to keep; such a run at the end of a sheet is empty."""


def parse_odt(data: bytes, max_file_mb: float) -> Parsed:
    """Parse a text, sheets or slides without comments, indexes, deleted and hidden text."""
    blocks = BlockWriter()
    with (
        damage_as_unreadable("OpenDocument text"),
        open_archive(data, max_file_mb) as archive,
    ):
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise UnreadableError("is encrypted with a password; save it without one")
        content = read_xml(archive, "content.xml")
        names = archive.namelist()
        styles = [read_xml(archive, "styles.xml")] if "styles.xml" in names else []
        body = next(e for e in content if local_tag(e) == "body")
        _remove_hidden(body, _find_hiding_styles([*styles, content]))
        _read_element(blocks, body)
        if not blocks.to_parsed().text:
            _write_alternative_texts(blocks, body)
        about = read_xml(archive, "meta.xml") if "meta.xml" in names else ()
        texts = {local_tag(e): one_line(e.text or "") for part in about for e in part}
    author = texts.get("initial-creator") or texts.get("creator", "")
    return blocks.to_parsed(texts.get("title", ""), {"author": author})


Style = tuple[str, str]
"""Family and name of a style."""


def _find_hiding_styles(roots: Sequence[Any]) -> set[Style]:
    """Return the styles that hide their text; each inherits what it does not set."""
    elements = {
        (read_attribute(e, "family"), read_attribute(e, "name")): e
        for root in roots
        for e in root.iter("{*}style")
    }

    def hides(style: Style, depth: int = 0) -> bool:
        if style not in elements or depth > _MAX_PARENTS:
            return False
        parts = elements[style].iterchildren("{*}text-properties")
        shown = next(filter(None, (read_attribute(part, "display") for part in parts)), "")
        parent = read_attribute(elements[style], "parent-style-name")
        return shown == "none" if shown else hides((style[0], parent), depth + 1)

    return {style for style in elements if hides(style)}


def _remove_hidden(body: Any, hiding: Collection[Style]) -> None:
    """Remove the text of hidden sections, and of paragraphs and spans whose style hides it."""
    for element in [*body.iter("{*}section", "{*}p", "{*}h", "{*}span")]:
        style = _FAMILIES.get(local_tag(element), ""), read_attribute(element, "style-name")
        is_section = local_tag(element) == "section"
        if style in hiding or (is_section and read_attribute(element, "display") == "none"):
            element.clear(keep_tail=True)


def _read_element(blocks: BlockWriter, parent: Any) -> None:
    """Write the content of an element; the XML parser limits the depth."""
    for child in parent:
        tag = local_tag(child)
        if tag == "h":
            level = child.get(f"{_TEXT}outline-level", "1")
            blocks.begin_heading(min(int(level), _MAX_RANK))
            blocks.write_paragraph(_read_text(child))
        elif tag == "p":
            blocks.write_paragraph(_read_text(child))
            for part in _find_boxes_and_notes(child):
                _read_element(blocks, part)
        elif tag in _READERS:
            _READERS[tag](blocks, child)
        elif tag in {"list-item", "list-header"}:
            blocks.begin_item("- ")
            _read_element(blocks, child)
            blocks.end_block_and_kind()
        elif tag not in _LEFT_OUT:
            _read_element(blocks, child)


def _read_text(element: Any) -> str:
    pieces = [element.text or ""]
    for child in element:
        tag = local_tag(child)
        if tag in _BREAKS:
            pieces.append(_BREAKS[tag])
        elif tag and tag not in _LEFT_OUT and tag not in _APART:
            pieces.append(_read_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _find_boxes_and_notes(paragraph: Any) -> Iterator[Any]:
    """Yield the text boxes and notes inside a paragraph."""
    for child in paragraph:
        if local_tag(child) in _APART:
            yield child
        elif local_tag(child) not in _LEFT_OUT:
            yield from _find_boxes_and_notes(child)


def _read_sheets(blocks: BlockWriter, body: Any) -> None:
    for sheet in body.iterchildren("{*}table"):
        rows = [row for row in _read_rows(sheet) if any(row)]
        if rows:
            blocks.begin_heading(1)
            blocks.write_paragraph(read_attribute(sheet, "name"))
            write_rows(blocks, rows)
        for shapes in sheet.iterchildren("{*}shapes"):
            _read_element(blocks, shapes)


def _read_slides(blocks: BlockWriter, body: Any) -> None:
    for number, slide in enumerate(body.iterchildren("{*}page"), start=1):
        title = next((e for e in slide if read_attribute(e, "class") == "title"), None)
        paragraphs = () if title is None else title.iter(f"{_TEXT}p")
        write_slide_heading(blocks, number, one_line(" ".join(map(_read_text, paragraphs))))
        for shape in slide:
            if shape is not title and local_tag(shape) not in _LEFT_OUT:
                _read_element(blocks, [shape])
        if not _has_text(slide):
            _write_alternative_texts(blocks, slide)
        notes = (p for part in slide.iterchildren("{*}notes") for p in part.iter(f"{_TEXT}p"))
        write_notes(blocks, map(_read_text, notes))


def _has_text(element: Any) -> bool:
    return any("".join(p.itertext()).strip() for p in element.iter(f"{_TEXT}p"))


def _write_alternative_texts(blocks: BlockWriter, element: Any) -> None:
    """Write the alternative texts of the pictures inside an element."""
    for frame in element.iter("{*}frame"):
        texts = {
            local_tag(e): "".join(e.itertext()) for e in frame.iterchildren("{*}desc", "{*}title")
        }
        blocks.write_paragraph(one_line(texts.get("desc") or texts.get("title", "")))


def _read_rows(table: Any) -> Iterator[list[str]]:
    """Yield the rows of a table as shown, with the text of merged cells in each row."""
    labels: list[str] = []
    for element in table.iter("{*}table-row"):
        row: list[str | None] = []
        n_covered = 0
        for cell in element.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            count = min(int(read_attribute(cell, "number-columns-repeated") or 1), _MAX_REPEATED)
            if local_tag(cell) == "covered-table-cell":
                row += [COVERED if n < n_covered else None for n in range(count)]
                n_covered = max(0, n_covered - count)
                continue
            row += [" ".join(filter(None, map(_read_text, cell.iterchildren(f"{_TEXT}p"))))] * count
            n_covered = int(read_attribute(cell, "number-columns-spanned") or 1) - 1
        labels = fill_from_above(row, labels)
        repeated = int(read_attribute(element, "number-rows-repeated") or 1)
        yield from [labels] * min(repeated, _MAX_REPEATED)


def _read_table(blocks: BlockWriter, table: Any) -> None:
    blocks.begin_table()
    for row in _read_rows(table):
        blocks.write_row(without_covered_cells(row))


_READERS = {"spreadsheet": _read_sheets, "presentation": _read_slides, "table": _read_table}
