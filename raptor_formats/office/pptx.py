"""PowerPoint presentations (.pptx): each slide as a section, with its notes."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from raptor_formats.base import Parsed
from raptor_formats.office.archive import open_archive, refuse_damage, tag_of
from raptor_formats.office.ooxml import (
    Package,
    alternative_texts,
    attribute,
    paragraph_text,
    relation_id,
)
from raptor_formats.rows import COVERED, carry_down, visible
from raptor_formats.text import one_line
from raptor_formats.writer import Blocks

_TITLES = frozenset({"title", "ctrTitle"})
_RUNNING = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
"""Placeholders for numbers, dates, headers, footers, and the slide image on notes pages."""


def parse_pptx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse slides under their number and title, without pictures and text of master slides."""
    blocks, formats = Blocks(), (".ppt", ".pptx")
    kind = "PowerPoint presentation"
    with refuse_damage(kind), open_archive(data, max_file_mb, formats) as archive:
        package = Package(archive, "presentation")
        listed = package.root(package.main).iterfind("{*}sldIdLst/{*}sldId")
        parts = [package.target(package.main, relation_id(item)) for item in listed]
        for number, part in enumerate(parts, start=1):
            _write_slide(blocks, number, package, part)
        title, author = package.about()
    about = {"slides": len(parts) if blocks.n_headings else "", "author": author}
    return replace(blocks.parsed(metadata=about), title=title)  # not the first slide's


def _write_slide(blocks: Blocks, number: int, package: Package, part: str) -> None:
    slide = package.root(part)
    shapes = list(_shapes(slide))
    title = next((shape for shape in shapes if _placeholder(shape) in _TITLES), None)
    named = "" if title is None else one_line(" ".join(_paragraphs(title)))
    write_slide_heading(blocks, number, named)
    for shape in shapes:
        if shape is not title and _placeholder(shape) not in _RUNNING:
            _write_shape(blocks, package, part, shape)
    if slide is not None and not "".join(slide.itertext()).strip():
        for text in alternative_texts(slide):
            blocks.paragraph(text)
    notes = package.root(package.related(part, "notesSlide"))
    kept = (s for s in _shapes(notes) if _placeholder(s) not in _RUNNING)
    write_notes(blocks, (text for shape in kept for text in _paragraphs(shape)))


def write_slide_heading(blocks: Blocks, number: int, title: str) -> None:
    """Begin the section of a slide."""
    blocks.begin_heading(1)
    blocks.paragraph(f"Slide {number}: {title}" if title else f"Slide {number}")


def write_notes(blocks: Blocks, paragraphs: Iterable[str]) -> None:
    """Write the notes of a slide as a section of their own, unless they are blank."""
    texts = [text for text in paragraphs if text.strip()]
    if texts:
        blocks.begin_heading(2)
        blocks.paragraph("Notes")
    for text in texts:
        blocks.paragraph(text)


def _shapes(parent: Any) -> Iterator[Any]:
    """Yield shapes in order, including those inside groups; the XML parser limits the depth."""
    for child in () if parent is None else parent.iterchildren():
        tag = tag_of(child)
        if tag in {"sp", "graphicFrame", "cxnSp", "pic"}:
            yield child
        elif tag != "Fallback":
            yield from _shapes(child)


def _placeholder(shape: Any) -> str | None:
    """Return the kind of a placeholder, such as "body"; None for other shapes."""
    mark = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return None if mark is None else mark.get("type", "obj")


def _paragraphs(shape: Any) -> list[str]:
    return [paragraph_text(paragraph) for paragraph in shape.iterfind("{*}txBody/{*}p")]


def _write_shape(blocks: Blocks, package: Package, part: str, shape: Any) -> None:
    labels: list[str] = []
    blocks.begin_table()
    for row in shape.iterfind(".//{*}tbl/{*}tr"):
        labels = carry_down(map(_cell_text, row.iterfind("{*}tc")), labels)
        blocks.row(visible(labels))
    if labels:
        return
    texts = list(package.drawing_texts(part, shape))
    is_list = len(texts) > 1 and (_placeholder(shape) is not None)
    for text in texts:
        if is_list:
            blocks.begin_item("- ")
        blocks.paragraph(text)


def _cell_text(cell: Any) -> str | None:
    """Return the text of a cell; None if it continues the cell above."""
    if attribute(cell, "hMerge") in {"1", "true"}:
        return COVERED
    if attribute(cell, "vMerge") in {"1", "true"}:
        return None
    return " ".join(" ".join(_paragraphs(cell)).split())
