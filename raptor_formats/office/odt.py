"""OpenDocument texts, sheets and slides (.odt, .ods, .odp), with sections from headings."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from raptor_formats.base import Parsed, UnreadableError
from raptor_formats.office.archive import open_archive, read_xml, refuse_damage, tag_of
from raptor_formats.office.ooxml import attribute
from raptor_formats.office.pptx import write_notes, write_slide_heading
from raptor_formats.rows import COVERED, carry_down, visible, write_rows
from raptor_formats.text import one_line
from raptor_formats.writer import Blocks

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
    blocks = Blocks()
    with refuse_damage("OpenDocument text"), open_archive(data, max_file_mb) as archive:
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise UnreadableError("is encrypted with a password; save it without one")
        content = read_xml(archive, "content.xml")
        names = archive.namelist()
        styles = [read_xml(archive, "styles.xml")] if "styles.xml" in names else []
        body = next(e for e in content if tag_of(e) == "body")
        _remove_hidden(body, _hiding_styles([*styles, content]))
        _read(blocks, body)
        if not blocks.parsed().text:
            _write_alternative_texts(blocks, body)
        about = read_xml(archive, "meta.xml") if "meta.xml" in names else ()
        texts = {tag_of(e): one_line(e.text or "") for part in about for e in part}
    author = texts.get("initial-creator") or texts.get("creator", "")
    return blocks.parsed(texts.get("title", ""), {"author": author})


Style = tuple[str, str]
"""Family and name of a style."""


def _hiding_styles(roots: Sequence[Any]) -> set[Style]:
    """Return the styles that hide their text; each inherits what it does not set."""
    elements = {
        (attribute(e, "family"), attribute(e, "name")): e
        for root in roots
        for e in root.iter("{*}style")
    }

    def hides(style: Style, depth: int = 0) -> bool:
        if style not in elements or depth > _MAX_PARENTS:
            return False
        parts = elements[style].iterchildren("{*}text-properties")
        shown = next(filter(None, (attribute(part, "display") for part in parts)), "")
        parent = attribute(elements[style], "parent-style-name")
        return shown == "none" if shown else hides((style[0], parent), depth + 1)

    return {style for style in elements if hides(style)}


def _remove_hidden(body: Any, hiding: Collection[Style]) -> None:
    """Remove the text of hidden sections, and of paragraphs and spans whose style hides it."""
    for element in [*body.iter("{*}section", "{*}p", "{*}h", "{*}span")]:
        style = _FAMILIES.get(tag_of(element), ""), attribute(element, "style-name")
        is_section = tag_of(element) == "section"
        if style in hiding or (is_section and attribute(element, "display") == "none"):
            element.clear(keep_tail=True)


def _read(blocks: Blocks, parent: Any) -> None:
    """Write the content of an element; the XML parser limits the depth."""
    for child in parent:
        tag = tag_of(child)
        if tag == "h":
            level = child.get(f"{_TEXT}outline-level", "1")
            blocks.begin_heading(min(int(level), _MAX_RANK))
            blocks.paragraph(_text(child))
        elif tag == "p":
            blocks.paragraph(_text(child))
            for part in _parts_apart(child):
                _read(blocks, part)
        elif tag in _READERS:
            _READERS[tag](blocks, child)
        elif tag in {"list-item", "list-header"}:
            blocks.begin_item("- ")
            _read(blocks, child)
            blocks.leave()
        elif tag not in _LEFT_OUT:
            _read(blocks, child)


def _text(element: Any) -> str:
    pieces = [element.text or ""]
    for child in element:
        tag = tag_of(child)
        if tag in _BREAKS:
            pieces.append(_BREAKS[tag])
        elif tag and tag not in _LEFT_OUT and tag not in _APART:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _parts_apart(paragraph: Any) -> Iterator[Any]:
    """Yield the text boxes and notes inside a paragraph."""
    for child in paragraph:
        if tag_of(child) in _APART:
            yield child
        elif tag_of(child) not in _LEFT_OUT:
            yield from _parts_apart(child)


def _read_sheets(blocks: Blocks, body: Any) -> None:
    for sheet in body.iterchildren("{*}table"):
        rows = [row for row in _rows(sheet) if any(row)]
        if rows:
            blocks.begin_heading(1)
            blocks.paragraph(attribute(sheet, "name"))
            write_rows(blocks, rows)
        for shapes in sheet.iterchildren("{*}shapes"):
            _read(blocks, shapes)


def _read_slides(blocks: Blocks, body: Any) -> None:
    for number, slide in enumerate(body.iterchildren("{*}page"), start=1):
        title = next((e for e in slide if attribute(e, "class") == "title"), None)
        paragraphs = () if title is None else title.iter(f"{_TEXT}p")
        write_slide_heading(blocks, number, one_line(" ".join(map(_text, paragraphs))))
        for shape in slide:
            if shape is not title and tag_of(shape) not in _LEFT_OUT:
                _read(blocks, [shape])
        if not _has_text(slide):
            _write_alternative_texts(blocks, slide)
        notes = (p for part in slide.iterchildren("{*}notes") for p in part.iter(f"{_TEXT}p"))
        write_notes(blocks, map(_text, notes))


def _has_text(element: Any) -> bool:
    return any("".join(p.itertext()).strip() for p in element.iter(f"{_TEXT}p"))


def _write_alternative_texts(blocks: Blocks, element: Any) -> None:
    """Write the alternative texts of the pictures inside an element."""
    for frame in element.iter("{*}frame"):
        texts = {
            tag_of(e): "".join(e.itertext()) for e in frame.iterchildren("{*}desc", "{*}title")
        }
        blocks.paragraph(one_line(texts.get("desc") or texts.get("title", "")))


def _rows(table: Any) -> Iterator[list[str]]:
    """Yield the rows of a table as shown, with the text of merged cells in each row."""
    labels: list[str] = []
    for element in table.iter("{*}table-row"):
        row: list[str | None] = []
        n_covered = 0
        for cell in element.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            count = min(int(attribute(cell, "number-columns-repeated") or 1), _MAX_REPEATED)
            if tag_of(cell) == "covered-table-cell":
                row += [COVERED if n < n_covered else None for n in range(count)]
                n_covered = max(0, n_covered - count)
                continue
            row += [" ".join(filter(None, map(_text, cell.iterchildren(f"{_TEXT}p"))))] * count
            n_covered = int(attribute(cell, "number-columns-spanned") or 1) - 1
        labels = carry_down(row, labels)
        repeated = int(attribute(element, "number-rows-repeated") or 1)
        yield from [labels] * min(repeated, _MAX_REPEATED)


def _read_table(blocks: Blocks, table: Any) -> None:
    blocks.begin_table()
    for row in _rows(table):
        blocks.row(visible(row))


_READERS = {"spreadsheet": _read_sheets, "presentation": _read_slides, "table": _read_table}
