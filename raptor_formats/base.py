"""What every parser takes and returns, and how it refuses a file.

A parser turns the bytes of a file into a text with its blocks, sections and metadata. It knows
neither documents nor trees. ``table`` lists the formats and their parsers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from raptor_formats.blocks import Block, Section, unpack
from raptor_formats.markup.plain import read_plain, title_starts

MetadataScalar = str | int | float | bool
MetadataValue = MetadataScalar | tuple[MetadataScalar, ...]
"""Value of a metadata entry; a tuple has a fact for each item. Tables and stores hold lists."""

READERS = "readers"
"""Key of the metadata by which a row or front matter declares the readers of a document."""

MEGABYTE = 1_000_000

UNKNOWN_GLYPHS = "unknown_glyphs"
"""Metadata key: number of glyphs of a PDF file that stand for no letter and are left out."""

ENCODING = "encoding"
"""Key of the metadata that names an encoding which nothing declared."""

DOUBT = "doubt"
"""Key of the metadata that says what a text lacks or has wrong, in words for a person."""


class UnreadableError(Exception):
    """A file or record cannot be read, for the reason in the message; it becomes ``Skipped``.

    ``readers`` are those that it declares; see ``Skipped``.
    """

    def __init__(self, message: str, readers: tuple[str, ...] | None = None) -> None:
        super().__init__(message)
        self.readers = readers


class EmptyFileError(UnreadableError):
    """A file was read and holds no text."""


def check_size(n_bytes: int, max_file_mb: float, expansion: int = 1) -> None:
    """Raise UnreadableError for more than ``expansion`` times ``max_file_mb``."""
    size, bound = f"{n_bytes / MEGABYTE:.1f} MB", "source.max_file_mb"
    if expansion > 1:
        size, bound = f"{n_bytes / MEGABYTE:.0f} MB uncompressed", f"{expansion} x {bound}"
    most_mb = expansion * max_file_mb
    if n_bytes > most_mb * MEGABYTE:
        raise UnreadableError(f"{size} is over the limit of {most_mb:g} MB ({bound})")


class MissingLibraryError(Exception):
    """A format needs the library of an optional extra.

    Attributes:
        extra: extra of the package that installs it.
        purpose: what it is needed for.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} need the extra {extra!r}")
        self.extra = extra
        self.purpose = purpose


@dataclass(frozen=True, slots=True)
class Parsed:
    """Text of a document; ``title`` is empty if unknown, ``pages`` are the starts of pages.

    ``blocks`` and ``readers`` are as in ``Document``; without blocks it is a plain text.
    """

    text: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    blocks: str = ""
    readers: tuple[str, ...] | None = None

    def list_blocks(self) -> list[Block]:
        """Return the blocks; those of plain text if its reader gave none."""
        if self.blocks:
            return unpack(self.blocks)
        return list(read_plain(self.text, title_starts(self.text, self.sections)))


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """Options of parsers.

    Attributes:
        max_file_mb: size of a file in MB, 10**6 bytes; archives may expand to a multiple of it.
        encoding: encoding of texts that declare none; "" recognizes it.
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
        """Return the content of a file.

        Raises:
            UnreadableError: the file is damaged, too large, or not of this format.
            MissingLibraryError: the format needs a library that is not installed.
        """
