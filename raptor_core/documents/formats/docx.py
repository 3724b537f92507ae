"""Word documents (.docx): text with its block structure, sections from heading styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from raptor_core.documents.formats.archive import open_archive, refuse_damage, tag_of
from raptor_core.documents.formats.parsed import Blocks, Parsed, one_line
from raptor_core.errors import MissingExtraError

_HEADING = re.compile(r"heading (\d+)\Z", re.IGNORECASE)
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BREAKS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_CONTAINERS = frozenset({"sdt", "sdtContent", "customXml", "smartTag", "ins"})
_LEFT_OUT = frozenset({"del", "moveFrom", "txbxContent", "Fallback"})


def parse_docx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse a Word document without deleted text, text boxes, notes, headers and footers."""
    try:
        import docx
    except ImportError as error:
        raise MissingExtraError("docx", "reading Word documents") from error
    formats = (".doc", ".docx")
    with refuse_damage("Word document"), open_archive(data, max_file_mb, formats):
        document = docx.Document(BytesIO(data))
        styles = {style.style_id: style.name or "" for style in document.styles}
        properties = document.core_properties
        title, author = properties.title or "", properties.author or ""
        body = _Body(styles)
        body.read(document.element.body)
    return body.blocks.parsed(one_line(title) or body.title, {"author": author})


class _Body:
    """Reader of the body; ``title`` is the first paragraph of style Title."""

    def __init__(self, styles: dict[str, str]) -> None:
        self._styles = styles
        self.blocks = Blocks()
        self.title = ""

    def read(self, parent: Any) -> None:
        for child in parent.iterchildren():
            tag = tag_of(child)
            if tag == "p":
                self._paragraph(child)
            elif tag == "tbl":
                self._table(child)
            elif tag in _CONTAINERS:
                self.read(child)

    def _paragraph(self, paragraph: Any) -> None:
        named = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        style = "" if named is None else self._styles.get(named.get(f"{_WORD}val"), "")
        is_numbered = paragraph.find(f"{_WORD}pPr/{_WORD}numPr") is not None
        heading = _HEADING.match(style)
        text = "".join(_text(paragraph))
        if heading:
            self.blocks.begin_heading(int(heading.group(1)))
        elif style == "Title":
            self.title = self.title or one_line(text)
        elif style.startswith("List") or is_numbered:
            self.blocks.begin_item("- ")
        self.blocks.paragraph(text)

    def _table(self, table: Any) -> None:
        for row in _within(table, "tr"):
            self.blocks.row(map(_cell_text, _within(row, "tc")))


def _within(parent: Any, tag: str) -> Iterator[Any]:
    """Yield children of this kind, also those inside content controls and insertions."""
    for child in parent.iterchildren():
        name = tag_of(child)
        if name == tag:
            yield child
        elif name in _CONTAINERS:
            yield from _within(child, tag)


def _text(element: Any) -> Iterator[str]:
    """Yield the text of a paragraph in pieces; the XML parser limits the depth."""
    for child in element.iterchildren():
        tag = tag_of(child)
        if tag == "t":
            yield child.text or ""
        elif tag in _BREAKS:
            yield _BREAKS[tag]
        elif tag not in _LEFT_OUT:
            yield from _text(child)


def _cell_text(cell: Any) -> str:
    paragraphs = ("".join(_text(p)) for p in cell.iter(f"{_WORD}p"))
    return " ".join(text for text in paragraphs if text)
