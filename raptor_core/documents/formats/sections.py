"""Sections from headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.documents.base import Section


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as a parser finds it: its rank in the format (1 outermost) and its start."""

    title: str
    rank: int
    start: int


def nest(headings: Sequence[Heading], n_chars: int) -> tuple[Section, ...]:
    """Sections of a text of ``n_chars`` characters from its headings, ordered by start.

    A section ends where the next heading of the same or an outer rank starts. Its level is its
    depth of nesting, from 1, so that a document that begins with a second-rank heading, or
    leaves a rank out, has no gap. Headings without a title are passed over. Linear in the
    number of headings.
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
