"""What every parser takes and returns, and how it rejects a file.

A parser turns the bytes of a file into a text with its blocks, sections and metadata. It knows
neither documents nor trees. ``table`` lists the formats and their parsers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from raptor_formats.blocks import Block, Section, unpack_blocks
from raptor_formats.markup.plain import find_title_starts, read_plain_blocks

MetadataScalar = str | int | float | bool
MetadataValue = MetadataScalar | tuple[MetadataScalar, ...]
"""Value of a metadata entry. Each item of a tuple is a fact of its own; stores use lists."""

READERS = "readers"
"""Metadata key under which a row or front matter declares the readers of a document."""

MEGABYTE = 1_000_000

UNKNOWN_GLYPHS = "unknown_glyphs"
"""Metadata key: number of glyphs of a PDF file that map to no letter and are omitted."""

ENCODING = "encoding"
"""Metadata key: the encoding of a text that declares none, as it was guessed."""

DOUBT = "doubt"
"""Metadata key: what a text lacks or has wrong, in words for a person."""


class UnreadableError(Exception):
    """A file or record cannot be read, for the reason in the message; its document is skipped.

    ``readers`` are the readers that it declares; see ``Skipped``.
    """

    def __init__(self, message: str, readers: tuple[str, ...] | None = None) -> None:
        super().__init__(message)
        self.readers = readers


class EmptyFileError(UnreadableError):
    """A file was read but contains no text."""


def check_size(n_bytes: int, max_file_mb: float, expansion: int = 1) -> None:
    """Raise UnreadableError if a size exceeds ``expansion`` times ``max_file_mb``."""
    size, bound = f"{n_bytes / MEGABYTE:.1f} MB", "source.max_file_mb"
    if expansion > 1:
        size, bound = f"{n_bytes / MEGABYTE:.0f} MB uncompressed", f"{expansion} x {bound}"
    most_mb = expansion * max_file_mb
    if n_bytes > most_mb * MEGABYTE:
        raise UnreadableError(f"{size} is over the limit of {most_mb:g} MB ({bound})")


class MissingLibraryError(Exception):
    """A format needs the library of an optional extra.

    Attributes:
        extra: the extra of this package that installs it.
        purpose: what the library is needed for.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} need the extra {extra!r}")
        self.extra = extra
        self.purpose = purpose


@dataclass(frozen=True, slots=True)
class Parsed:
    """Text of a document; ``title`` is empty if unknown, ``page_starts`` are offsets of pages.

    ``packed_blocks`` and ``readers`` are as in ``Document``; a text without blocks is plain text.
    """

    text: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    packed_blocks: str = ""
    readers: tuple[str, ...] | None = None

    def list_blocks(self) -> list[Block]:
        """Return the blocks; without any, find those of plain text."""
        if self.packed_blocks:
            return unpack_blocks(self.packed_blocks)
        return list(read_plain_blocks(self.text, find_title_starts(self.text, self.sections)))


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """Options of parsers.

    Attributes:
        max_file_mb: largest file in MB (10**6 bytes); archives may expand to a multiple of it.
        encoding: encoding of texts that declare none; "" guesses it.
    """

    max_file_mb: float = 100.0
    encoding: str = ""


class Parser(Protocol):
    r"""Parser of a format.

    Example:
        >>> from raptor_formats.base import ParserOptions
        >>> from raptor_formats.table import PARSERS
        >>> PARSERS["markdown"](b"# Pumps\n\nOil them.", ParserOptions()).title
        'Pumps'
    """

    def __call__(self, data: bytes, options: ParserOptions, /) -> Parsed:
        """Parse the content of a file.

        Raises:
            UnreadableError: the file is damaged, too large, or not of this format.
            MissingLibraryError: the format needs a library that is not installed.
        """
