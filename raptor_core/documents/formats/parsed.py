"""What a format's parser yields, and what all parsers share: cleaning, sections from headings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.documents.base import MetadataValue, Section

_TO_CLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class UnreadableError(Exception):
    """A file or record cannot be read; the message is the reason, in words for a person.

    Private to this package: the loader turns it into ``Skipped``.
    """


class EmptyFileError(UnreadableError):
    """A file was read and holds no text."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document's text as its format's parser gives it; ``title`` is empty if unknown.

    ``pages`` are the starts of its pages in the text, where it has any.
    """

    text: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    pages: tuple[int, ...] = ()


def clean_text(text: str) -> str:
    r"""Text without control characters and byte order mark, newlines as ``\n``.

    Control characters other than ``\n`` and ``\t`` become a space, and lone surrogates (which
    no encoding can store) U+FFFD, one for one. Nothing else changes, so spans resolve to the
    file.
    """
    if not _TO_CLEAN.search(text):
        return text
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def control_share(text: str) -> float:
    """Share of control characters other than white space, 0 to 1."""
    white = sum(text.count(char) for char in "\r\f\v\x85")
    return (len(_CONTROL.findall(text)) - white) / max(1, len(text))


def one_line(text: str) -> str:
    """A title: cleaned, runs of white space folded to one space, stripped."""
    return " ".join(clean_text(text).split())


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
