"""OpenDocument texts (.odt): text with its block structure, sections from headings."""

from __future__ import annotations

from typing import Any

from raptor_core.documents.formats.archive import open_archive, read_xml, refuse_damage, tag_of
from raptor_core.documents.formats.parsed import Blocks, Parsed, UnreadableError, one_line

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_BREAKS = {"s": " ", "tab": " ", "line-break": "\n"}
_LEFT_OUT = frozenset(
    ["annotation", "forms", "frame", "note", "table-of-content", "tracked-changes"]
)
_MAX_RANK = 6


def parse_odt(data: bytes, max_file_mb: float) -> Parsed:
    """Parse a text without notes, comments, frames, tables of contents and deleted text."""
    blocks = Blocks()
    with refuse_damage("OpenDocument text"), open_archive(data, max_file_mb) as archive:
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise UnreadableError("is encrypted with a password; store it without")
        _read(blocks, next(e for e in read_xml(archive, "content.xml") if tag_of(e) == "body"))
        about = read_xml(archive, "meta.xml") if "meta.xml" in archive.namelist() else ()
        texts = {tag_of(e): one_line(e.text or "") for part in about for e in part}
    author = texts.get("initial-creator") or texts.get("creator", "")
    return blocks.parsed(texts.get("title", ""), {"author": author})


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
        elif tag == "table-row":
            cells = (cell for cell in child if tag_of(cell) == "table-cell")
            blocks.row(" ".join(map(_text, cell.iter(f"{_TEXT}p"))) for cell in cells)
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
        elif tag and tag not in _LEFT_OUT:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
