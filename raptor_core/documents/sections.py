"""Sections from headings, and fast look-up of the headings over a character."""

from __future__ import annotations

from bisect import bisect_right
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


class SectionIndex:
    """The headings over a character, in logarithmic time.

    Equal to ``Document.section_path`` for sections that nest, as those of ``nest`` do; for a
    caller that asks once per chunk of a document with many sections.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._starts = [section.start for section in sections]
        self._parents: list[int] = []
        open_rows: list[int] = []
        for row, section in enumerate(sections):
            while open_rows and sections[open_rows[-1]].end <= section.start:
                open_rows.pop()
            self._parents.append(open_rows[-1] if open_rows else -1)
            open_rows.append(row)

    def path(self, at: int) -> tuple[str, ...]:
        """Titles of the sections that hold character ``at``, outermost first."""
        row = bisect_right(self._starts, at) - 1
        titles: list[str] = []
        while row >= 0:
            if at < self._sections[row].end:
                titles.append(self._sections[row].title)
            row = self._parents[row]
        return tuple(reversed(titles))
