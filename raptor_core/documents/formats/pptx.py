"""PowerPoint presentations (.pptx): a section for each slide, with its notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

from raptor_core.documents.formats.archive import open_archive, refuse_damage
from raptor_core.documents.formats.parsed import Blocks, Parsed, one_line
from raptor_core.errors import MissingExtraError


def parse_pptx(data: bytes, max_file_mb: float) -> Parsed:
    """Parse slides, each under its number and title, without pictures, charts and master texts."""
    try:
        import pptx
    except ImportError as error:
        raise MissingExtraError("pptx", "reading PowerPoint presentations") from error
    blocks, formats = Blocks(), (".ppt", ".pptx")
    with refuse_damage("PowerPoint presentation"), open_archive(data, max_file_mb, formats):
        show = pptx.Presentation(BytesIO(data))
        for number, slide in enumerate(show.slides, start=1):
            _write_slide(blocks, number, slide)
        title, author = show.core_properties.title or "", show.core_properties.author or ""
    about = {"slides": number if blocks.n_headings else "", "author": author}
    return replace(blocks.parsed(metadata=about), title=one_line(title))  # not of a slide


def _write_slide(blocks: Blocks, number: int, slide: Any) -> None:
    title = slide.shapes.title
    named = one_line(title.text_frame.text) if title is not None else ""
    blocks.begin_heading(1)
    blocks.paragraph(f"Slide {number}: {named}" if named else f"Slide {number}")
    for shape in _shapes(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _write_shape(blocks, shape)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        blocks.begin_heading(2)
        blocks.paragraph("Notes")
        _write_paragraphs(blocks, notes.paragraphs, "")


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield shapes in order, with those inside groups; the XML parser limits the depth."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _write_shape(blocks: Blocks, shape: Any) -> None:
    if shape.has_text_frame:
        points = shape.is_placeholder and len(shape.text_frame.paragraphs) > 1
        _write_paragraphs(blocks, shape.text_frame.paragraphs, "- " if points else "")
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            blocks.row(" ".join(cell.text.split()) for cell in row.cells)


def _write_paragraphs(blocks: Blocks, paragraphs: Iterable[Any], marker: str) -> None:
    for paragraph in paragraphs:
        if marker:
            blocks.begin_item(marker)
        blocks.paragraph(paragraph.text.replace("\v", "\n"))
