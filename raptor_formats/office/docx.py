"""Word documents (.docx): text with blocks, and sections from styles and outline levels."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from raptor_formats.base import Parsed
from raptor_formats.office.archive import open_archive, read_elements, refuse_damage, tag_of
from raptor_formats.office.ooxml import Package, alternative_texts, attribute
from raptor_formats.rows import COVERED, carry_down, visible
from raptor_formats.text import one_line
from raptor_formats.writer import Blocks

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
    with refuse_damage("Word document"), open_archive(data, max_file_mb, formats) as archive:
        package = Package(archive, "document")
        title, author = package.about()
        body = _Body(package)
        main = package.read(package.main)
        body.read(read_elements(main, "p", "tbl", *_CONTAINERS, parent="body"))
        if not body.blocks.parsed().text:
            for text in alternative_texts(package.root(package.main)):
                body.blocks.paragraph(text)
    return body.blocks.parsed(title or body.title, {"author": author})


@dataclass(frozen=True, slots=True)
class _Style:
    """Style of paragraphs or runs; ``rank`` is that of its headings, 0 for other styles.

    ``hides`` says whether its text is hidden; None if the style does not say.
    """

    name: str = ""
    rank: int = 0
    is_list: bool = False
    hides: bool | None = None


class _Body:
    """Parses the body; ``title`` is the first paragraph of style Title.

    Text boxes, SmartArt and notes are written after the paragraph or table that refers to them.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self._styles = _read_styles(package.root(package.related(package.main, "styles")))
        self._has_hiding_style = any(style.hides for style in self._styles.values())
        self._notes = {kind: _read_notes(package, kind) for kind in _NOTES.values()}
        self._pending: list[str] = []
        self.blocks = Blocks()
        self.title = ""

    def read(self, children: Iterable[Any]) -> None:
        for child in children:
            tag = tag_of(child)
            if tag == "p":
                self._paragraph(child)
            elif tag == "tbl":
                self._table(child)
            elif tag in _CONTAINERS:
                self.read(child.iterchildren())
            pending, self._pending = self._pending, []
            for text in pending:
                self.blocks.paragraph(text)

    def _paragraph(self, paragraph: Any) -> None:
        style = self._styles.get(_value(paragraph.find("{*}pPr/{*}pStyle")), _Style())
        rank = _outline_rank(paragraph.find("{*}pPr")) or style.rank
        number = paragraph.find("{*}pPr/{*}numPr/{*}numId")
        is_item = style.is_list if number is None else _value(number) != "0"
        text = "".join(self._text(paragraph))
        if 0 < rank < _BODY_TEXT:
            self.blocks.begin_heading(rank)
        elif style.name == "Title":
            self.title = self.title or one_line(text)
        elif is_item:
            self.blocks.begin_item("- ")
        self.blocks.paragraph(text)

    def _table(self, table: Any) -> None:
        labels: list[str] = []
        self.blocks.begin_table()
        for row in _within(table, "tr"):
            cells: list[str | None] = []
            for cell in _within(row, "tc"):
                merged = cell.find("{*}tcPr/{*}vMerge")
                is_continued = merged is not None and _value(merged) != "restart"
                cells.append(None if is_continued else self._cell_text(cell))
                width = _value(cell.find("{*}tcPr/{*}gridSpan"))
                cells += [COVERED] * (int(width or 1) - 1)
            labels = carry_down(cells, labels)
            self.blocks.row(visible(labels))

    def _cell_text(self, cell: Any) -> str:
        texts = []
        for child in cell.iterchildren():
            tag = tag_of(child)
            if tag == "p":
                texts.append("".join(self._text(child)))
            elif tag not in _LEFT_OUT:
                texts.append(self._cell_text(child))
        return " ".join(filter(None, texts))

    def _text(self, element: Any) -> Iterator[str]:
        """Yield the text of a paragraph in pieces; the XML parser limits the depth."""
        for child in element.iterchildren():
            tag = tag_of(child)
            if tag == "t":
                yield child.text or ""
            elif tag in _BREAKS:
                yield _BREAKS[tag]
            elif tag in _NOTES:
                notes = self._notes[_NOTES[tag]]
                self._pending += self._note_texts(notes.get(attribute(child, "id")))
            elif tag in _DRAWINGS:
                self._pending += self._drawing_texts(child)
            elif tag not in _LEFT_OUT and not (tag == "r" and self._is_hidden(child)):
                yield from self._text(child)

    def _is_hidden(self, run: Any) -> bool:
        """Return whether a run is hidden, by itself, its style, or the style of its paragraph."""
        properties = run.find("{*}rPr")
        hides = _hides(properties)
        if hides is None and self._has_hiding_style:
            of_run = None if properties is None else properties.find("{*}rStyle")
            paragraph = next(run.iterancestors("{*}p"), run)
            used = (_value(of_run), _value(paragraph.find("{*}pPr/{*}pStyle")))
            known = (self._styles.get(key, _Style()).hides for key in used)
            hides = next((each for each in known if each is not None), None)
        return bool(hides)

    def _note_texts(self, note: Any) -> Iterator[str]:
        for paragraph in () if note is None else note.iter("{*}p"):
            yield "".join(self._text(paragraph))

    def _drawing_texts(self, element: Any) -> Iterator[str]:
        """Yield the paragraphs of text boxes, and of everything else inside a drawing."""
        for child in element.iterchildren():
            tag = tag_of(child)
            if tag == "txbxContent":
                yield from self._box_texts(child)
            elif tag == "textpath":
                yield child.get("string", "")
            elif tag in {"p", "relIds", "chart"}:
                yield from self._package.drawing_texts(self._package.main, child)
            elif tag != "Fallback":
                yield from self._drawing_texts(child)

    def _box_texts(self, box: Any) -> Iterator[str]:
        for child in box.iterchildren():
            tag = tag_of(child)
            if tag == "p":
                yield "".join(self._text(child))
            elif tag not in _LEFT_OUT:
                yield from self._box_texts(child)


def _hides(properties: Any) -> bool | None:
    """Return whether properties of runs hide their text; None if they do not say."""
    mark = None if properties is None else properties.find("{*}vanish")
    return None if mark is None else _value(mark) not in {"0", "false", "off"}


def _read_styles(root: Any) -> dict[str, _Style]:
    """Return the styles by id; each inherits from its base what it does not set."""
    elements = {} if root is None else {attribute(e, "styleId"): e for e in root.iter("{*}style")}
    styles: dict[str, _Style] = {"": _Style()}

    def resolve(key: str) -> _Style:
        if key not in styles and key in elements:
            styles[key] = _Style()  # stops at a cycle of bases
            styles[key] = _read_style(
                elements[key], resolve(_value(elements[key].find("{*}basedOn")))
            )
        return styles.get(key, styles[""])

    for key in elements:
        resolve(key)
    return styles


def _read_style(element: Any, base: _Style) -> _Style:
    name = _value(element.find("{*}name"))
    heading = _HEADING.match(name)
    rank = _outline_rank(element.find("{*}pPr")) or (int(heading[1]) if heading else base.rank)
    is_list = base.is_list or name.startswith("List") or element.find("{*}pPr/{*}numPr") is not None
    hides = _hides(element.find("{*}rPr"))
    hides = base.hides if hides is None else hides
    return _Style("Title" if "Title" in (name, base.name) else name, rank, is_list, hides)


def _outline_rank(properties: Any) -> int:
    """Return the rank from an outline level; 0 without one."""
    level = "" if properties is None else _value(properties.find("{*}outlineLvl"))
    return int(level) + 1 if level.isdigit() else 0


def _read_notes(package: Package, kind: str) -> dict[str, Any]:
    """Return the footnotes or endnotes by id, without the separator lines."""
    root = package.root(package.related(package.main, kind))
    notes = () if root is None else root.iterchildren()
    return {
        attribute(note, "id"): note for note in notes if attribute(note, "type") in {"", "normal"}
    }


def _value(element: Any) -> str:
    return "" if element is None else attribute(element, "val")


def _within(parent: Any, tag: str) -> Iterator[Any]:
    """Yield children of this kind, even inside content controls and insertions."""
    for child in parent.iterchildren():
        name = tag_of(child)
        if name == tag:
            yield child
        elif name in _CONTAINERS:
            yield from _within(child, tag)
