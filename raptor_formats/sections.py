"""Sections from the headings of a text, and joining of texts along with their sections."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from raptor_formats.base import Parsed
from raptor_formats.blocks import Block, Section, pack_blocks

_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading with its start and its rank in the format, 1 for the outermost."""

    title: str
    rank: int
    start: int


def nest_headings(headings: Sequence[Heading], n_chars: int) -> tuple[Section, ...]:
    """Build the sections of a text of ``n_chars`` characters from its headings, in text order.

    A section ends at the next heading of the same or an outer rank. Its level is its depth of
    nesting, from 1, so no level is skipped. Headings without a title are ignored.
    """
    kept = [heading for heading in headings if heading.title]
    ends = [n_chars] * len(kept)
    levels = [1] * len(kept)
    open_rows: list[int] = []
    for row, heading in enumerate(kept):
        while open_rows and kept[open_rows[-1]].rank >= heading.rank:
            ends[open_rows.pop()] = heading.start
        open_rows.append(row)
        levels[row] = len(open_rows)
    return tuple(
        Section(heading.title, level, heading.start, end)
        for heading, level, end in zip(kept, levels, ends, strict=True)
    )


def join_parts(parts: Iterable[Parsed]) -> Parsed:
    """Join parts to one text with their sections and a blank line between them."""
    headings: list[Heading] = []
    blocks: list[Block] = []
    texts: list[str] = []
    start = 0
    for part in parts:
        headings += [Heading(s.title, s.level, start + s.start) for s in part.sections]
        blocks += _shift_blocks(part.list_blocks(), start)
        texts.append(part.text)
        start += len(part.text) + len(_GAP)
    text = _GAP.join(texts)
    return Parsed(
        text, sections=nest_headings(headings, len(text)), packed_blocks=pack_blocks(blocks)
    )


def _shift_blocks(blocks: Iterable[Block], start: int) -> Iterator[Block]:
    for block in blocks:
        yield block._replace(start=block.start + start, end=block.end + start)


def put_under_heading(title: str, part: Parsed) -> Parsed:
    """Put a part under a heading, with its own sections below it."""
    start = len(title) + len(_GAP)
    inner = [Heading(s.title, s.level + 1, start + s.start) for s in part.sections]
    text = f"{title}{_GAP}{part.text}"
    blocks = pack_blocks(
        [Block("heading", 0, len(title), 1), *_shift_blocks(part.list_blocks(), start)]
    )
    return Parsed(
        text,
        sections=nest_headings([Heading(title, 1, 0), *inner], len(text)),
        packed_blocks=blocks,
    )
