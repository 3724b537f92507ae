"""PowerPoint presentations (.pptx): each slide as a section, with its notes."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from raptor_formats.base import Parsed
from raptor_formats.office.archive import damage_as_unreadable, local_tag, open_archive
from raptor_formats.office.ooxml import (
    OfficePackage,
    read_alternative_texts,
    read_attribute,
    read_paragraph_text,
    read_relation_id,
)
from raptor_formats.rows import COVERED, fill_from_above, without_covered_cells
from raptor_formats.text import one_line
from raptor_formats.writer import BlockWriter

_TITLES = frozenset({"title", "ctrTitle"})
_RUNNING = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
"""Placeholders for numbers, dates, headers, footers, and the slide image on notes pages."""


def parse_pptx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse slides under their number and title, without pictures and text of master slides."""
    blocks, formats = BlockWriter(), (".ppt", ".pptx")
    kind = "PowerPoint presentation"
    with damage_as_unreadable(kind), open_archive(data, max_file_mb, formats) as archive:
        package = OfficePackage(archive, "presentation")
        listed = package.read_root(package.main).iterfind("{*}sldIdLst/{*}sldId")
        parts = [package.find_target(package.main, read_relation_id(item)) for item in listed]
        for number, part in enumerate(parts, start=1):
            _write_slide(blocks, number, package, part)
        title, author = package.read_title_and_author()
    about = {"slides": len(parts) if blocks.n_headings else "", "author": author}
    return replace(blocks.to_parsed(metadata=about), title=title)  # not the first slide's


def _write_slide(blocks: BlockWriter, number: int, package: OfficePackage, part: str) -> None:
    slide = package.read_root(part)
    shapes = list(_find_shapes(slide))
    title = next((shape for shape in shapes if _placeholder_kind(shape) in _TITLES), None)
    named = "" if title is None else one_line(" ".join(_read_paragraphs(title)))
    write_slide_heading(blocks, number, named)
    for shape in shapes:
        if shape is not title and _placeholder_kind(shape) not in _RUNNING:
            _write_shape(blocks, package, part, shape)
    if slide is not None and not "".join(slide.itertext()).strip():
        for text in read_alternative_texts(slide):
            blocks.write_paragraph(text)
    notes = package.read_root(package.find_related_part(part, "notesSlide"))
    kept = (s for s in _find_shapes(notes) if _placeholder_kind(s) not in _RUNNING)
    write_notes(blocks, (text for shape in kept for text in _read_paragraphs(shape)))


def write_slide_heading(blocks: BlockWriter, number: int, title: str) -> None:
    """Begin the section of a slide."""
    blocks.begin_heading(1)
    blocks.write_paragraph(f"Slide {number}: {title}" if title else f"Slide {number}")


def write_notes(blocks: BlockWriter, paragraphs: Iterable[str]) -> None:
    """Write the notes of a slide as a section of their own, unless they are blank."""
    texts = [text for text in paragraphs if text.strip()]
    if texts:
        blocks.begin_heading(2)
        blocks.write_paragraph("Notes")
    for text in texts:
        blocks.write_paragraph(text)


def _find_shapes(parent: Any) -> Iterator[Any]:
    """Yield shapes in order, including those inside groups; the XML parser limits the depth."""
    for child in () if parent is None else parent.iterchildren():
        tag = local_tag(child)
        if tag in {"sp", "graphicFrame", "cxnSp", "pic"}:
            yield child
        elif tag != "Fallback":
            yield from _find_shapes(child)


def _placeholder_kind(shape: Any) -> str | None:
    """Return the kind of a placeholder, such as "body"; None for other shapes."""
    mark = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return None if mark is None else mark.get("type", "obj")


def _read_paragraphs(shape: Any) -> list[str]:
    return [read_paragraph_text(paragraph) for paragraph in shape.iterfind("{*}txBody/{*}p")]


def _write_shape(blocks: BlockWriter, package: OfficePackage, part: str, shape: Any) -> None:
    labels: list[str] = []
    blocks.begin_table()
    for row in shape.iterfind(".//{*}tbl/{*}tr"):
        labels = fill_from_above(map(_cell_text, row.iterfind("{*}tc")), labels)
        blocks.write_row(without_covered_cells(labels))
    if labels:
        return
    texts = list(package.read_drawing_texts(part, shape))
    is_list = len(texts) > 1 and (_placeholder_kind(shape) is not None)
    for text in texts:
        if is_list:
            blocks.begin_item("- ")
        blocks.write_paragraph(text)


def _cell_text(cell: Any) -> str | None:
    """Return the text of a cell; None if it continues the cell above."""
    if read_attribute(cell, "hMerge") in {"1", "true"}:
        return COVERED
    if read_attribute(cell, "vMerge") in {"1", "true"}:
        return None
    return " ".join(" ".join(_read_paragraphs(cell)).split())
