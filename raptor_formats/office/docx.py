"""Word documents (.docx): text with blocks, and sections from styles and outline levels."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from raptor_formats.base import Parsed
from raptor_formats.office.archive import (
    damage_as_unreadable,
    local_tag,
    open_archive,
    read_elements,
)
from raptor_formats.office.ooxml import OfficePackage, read_alternative_texts, read_attribute
from raptor_formats.rows import COVERED, fill_from_above, without_covered_cells
from raptor_formats.text import one_line
from raptor_formats.writer import BlockWriter

_HEADING = re.compile(r"heading (\d+)\Z", re.IGNORECASE)
_BREAKS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_CONTAINERS = frozenset(
    "sdt sdtContent customXml smartTag ins moveTo AlternateContent Choice".split()  # noqa: SIM905
)
_LEFT_OUT = frozenset({"del", "moveFrom", "rt", "pPr", "rPr", "Fallback"})
_DRAWINGS = frozenset({"drawing", "pict", "object"})
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_BODY_TEXT = 10
"""Rank that an outline level gives to paragraphs that are not headings, whatever their style."""


def parse_docx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse a Word document without deleted or hidden text, comments, headers and footers."""
    formats = (".doc", ".docx")
    with (
        damage_as_unreadable("Word document"),
        open_archive(data, max_file_mb, formats) as archive,
    ):
        package = OfficePackage(archive, "document")
        title, author = package.read_title_and_author()
        body = _BodyParser(package)
        main = package.read_part(package.main)
        body.parse(read_elements(main, "p", "tbl", *_CONTAINERS, parent="body"))
        if not body.blocks.to_parsed().text:
            for text in read_alternative_texts(package.read_root(package.main)):
                body.blocks.write_paragraph(text)
    return body.blocks.to_parsed(title or body.title, {"author": author})


@dataclass(frozen=True, slots=True)
class _Style:
    """Style of paragraphs or runs; ``heading_rank`` is that of its headings, 0 for other styles.

    ``hides_text`` says whether its text is hidden; None if the style does not say.
    """

    name: str = ""
    heading_rank: int = 0
    is_list: bool = False
    hides_text: bool | None = None


class _BodyParser:
    """Parses the body; ``title`` is the first paragraph of style Title.

    Text boxes, SmartArt and notes are written after the paragraph or table that refers to them.
    """

    def __init__(self, package: OfficePackage) -> None:
        self._package = package
        self._styles = _read_styles(
            package.read_root(package.find_related_part(package.main, "styles"))
        )
        self._has_hiding_style = any(style.hides_text for style in self._styles.values())
        self._notes = {kind: _read_notes(package, kind) for kind in _NOTES.values()}
        self._pending: list[str] = []
        self.blocks = BlockWriter()
        self.title = ""

    def parse(self, children: Iterable[Any]) -> None:
        for child in children:
            tag = local_tag(child)
            if tag == "p":
                self._write_paragraph(child)
            elif tag == "tbl":
                self._write_table(child)
            elif tag in _CONTAINERS:
                self.parse(child.iterchildren())
            pending, self._pending = self._pending, []
            for text in pending:
                self.blocks.write_paragraph(text)

    def _write_paragraph(self, paragraph: Any) -> None:
        style = self._styles.get(_read_val_attribute(paragraph.find("{*}pPr/{*}pStyle")), _Style())
        rank = _read_outline_rank(paragraph.find("{*}pPr")) or style.heading_rank
        number = paragraph.find("{*}pPr/{*}numPr/{*}numId")
        is_item = style.is_list if number is None else _read_val_attribute(number) != "0"
        text = "".join(self._paragraph_pieces(paragraph))
        if 0 < rank < _BODY_TEXT:
            self.blocks.begin_heading(rank)
        elif style.name == "Title":
            self.title = self.title or one_line(text)
        elif is_item:
            self.blocks.begin_item("- ")
        self.blocks.write_paragraph(text)

    def _write_table(self, table: Any) -> None:
        labels: list[str] = []
        self.blocks.begin_table()
        for row in _find_children(table, "tr"):
            cells: list[str | None] = []
            for cell in _find_children(row, "tc"):
                merged = cell.find("{*}tcPr/{*}vMerge")
                is_continued = merged is not None and _read_val_attribute(merged) != "restart"
                cells.append(None if is_continued else self._cell_text(cell))
                width = _read_val_attribute(cell.find("{*}tcPr/{*}gridSpan"))
                cells += [COVERED] * (int(width or 1) - 1)
            labels = fill_from_above(cells, labels)
            self.blocks.write_row(without_covered_cells(labels))

    def _cell_text(self, cell: Any) -> str:
        texts = []
        for child in cell.iterchildren():
            tag = local_tag(child)
            if tag == "p":
                texts.append("".join(self._paragraph_pieces(child)))
            elif tag not in _LEFT_OUT:
                texts.append(self._cell_text(child))
        return " ".join(filter(None, texts))

    def _paragraph_pieces(self, element: Any) -> Iterator[str]:
        """Yield the text of a paragraph in pieces; the XML parser limits the depth."""
        for child in element.iterchildren():
            tag = local_tag(child)
            if tag == "t":
                yield child.text or ""
            elif tag in _BREAKS:
                yield _BREAKS[tag]
            elif tag in _NOTES:
                notes = self._notes[_NOTES[tag]]
                self._pending += self._note_texts(notes.get(read_attribute(child, "id")))
            elif tag in _DRAWINGS:
                self._pending += self._drawing_texts(child)
            elif tag not in _LEFT_OUT and not (tag == "r" and self._is_hidden(child)):
                yield from self._paragraph_pieces(child)

    def _is_hidden(self, run: Any) -> bool:
        """Return whether a run is hidden, by itself, its style, or the style of its paragraph."""
        properties = run.find("{*}rPr")
        hides = _hides_text(properties)
        if hides is None and self._has_hiding_style:
            of_run = None if properties is None else properties.find("{*}rStyle")
            paragraph = next(run.iterancestors("{*}p"), run)
            used = (
                _read_val_attribute(of_run),
                _read_val_attribute(paragraph.find("{*}pPr/{*}pStyle")),
            )
            known = (self._styles.get(key, _Style()).hides_text for key in used)
            hides = next((each for each in known if each is not None), None)
        return bool(hides)

    def _note_texts(self, note: Any) -> Iterator[str]:
        for paragraph in () if note is None else note.iter("{*}p"):
            yield "".join(self._paragraph_pieces(paragraph))

    def _drawing_texts(self, element: Any) -> Iterator[str]:
        """Yield the paragraphs of text boxes, and of everything else inside a drawing."""
        for child in element.iterchildren():
            tag = local_tag(child)
            if tag == "txbxContent":
                yield from self._text_box_paragraphs(child)
            elif tag == "textpath":
                yield child.get("string", "")
            elif tag in {"p", "relIds", "chart"}:
                yield from self._package.read_drawing_texts(self._package.main, child)
            elif tag != "Fallback":
                yield from self._drawing_texts(child)

    def _text_box_paragraphs(self, box: Any) -> Iterator[str]:
        for child in box.iterchildren():
            tag = local_tag(child)
            if tag == "p":
                yield "".join(self._paragraph_pieces(child))
            elif tag not in _LEFT_OUT:
                yield from self._text_box_paragraphs(child)


def _hides_text(properties: Any) -> bool | None:
    """Return whether properties of runs hide their text; None if they do not say."""
    mark = None if properties is None else properties.find("{*}vanish")
    return None if mark is None else _read_val_attribute(mark) not in {"0", "false", "off"}


def _read_styles(root: Any) -> dict[str, _Style]:
    """Return the styles by id; each inherits from its base what it does not set."""
    elements = (
        {} if root is None else {read_attribute(e, "styleId"): e for e in root.iter("{*}style")}
    )
    styles: dict[str, _Style] = {"": _Style()}

    def resolve(key: str) -> _Style:
        if key not in styles and key in elements:
            styles[key] = _Style()  # stops at a cycle of bases
            styles[key] = _read_style(
                elements[key], resolve(_read_val_attribute(elements[key].find("{*}basedOn")))
            )
        return styles.get(key, styles[""])

    for key in elements:
        resolve(key)
    return styles


def _read_style(element: Any, base: _Style) -> _Style:
    name = _read_val_attribute(element.find("{*}name"))
    heading = _HEADING.match(name)
    rank = _read_outline_rank(element.find("{*}pPr")) or (
        int(heading[1]) if heading else base.heading_rank
    )
    is_list = base.is_list or name.startswith("List") or element.find("{*}pPr/{*}numPr") is not None
    hides = _hides_text(element.find("{*}rPr"))
    hides = base.hides_text if hides is None else hides
    return _Style("Title" if "Title" in (name, base.name) else name, rank, is_list, hides)


def _read_outline_rank(properties: Any) -> int:
    """Return the rank from an outline level; 0 without one."""
    level = "" if properties is None else _read_val_attribute(properties.find("{*}outlineLvl"))
    return int(level) + 1 if level.isdigit() else 0


def _read_notes(package: OfficePackage, kind: str) -> dict[str, Any]:
    """Return the footnotes or endnotes by id, without the separator lines."""
    root = package.read_root(package.find_related_part(package.main, kind))
    notes = () if root is None else root.iterchildren()
    return {
        read_attribute(note, "id"): note
        for note in notes
        if read_attribute(note, "type") in {"", "normal"}
    }


def _read_val_attribute(element: Any) -> str:
    return "" if element is None else read_attribute(element, "val")


def _find_children(parent: Any, tag: str) -> Iterator[Any]:
    """Yield children of this kind, even inside content controls and insertions."""
    for child in parent.iterchildren():
        name = local_tag(child)
        if name == tag:
            yield child
        elif name in _CONTAINERS:
            yield from _find_children(child, tag)
