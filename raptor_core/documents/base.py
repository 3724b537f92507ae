"""What a source yields: documents, and by name what it could not read.

Where a document stands (``id``, ``source``, the ``folder`` in its metadata) is kept apart from
what it says: a renamed or moved document has the same ``content_hash`` and another ``version``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.identity import digest

MetadataValue = str | int | float | bool

MEGABYTE = 1_000_000

FOLDER = "folder"
"""Metadata that says where a document stands: the folder of its file, relative to the source."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the part of the text that it governs.

    ``start`` and ``end`` are character offsets into ``Document.text``, end exclusive; the part
    includes the heading itself and all deeper sections. ``level`` is 1 for the outermost.
    """

    title: str
    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document as it was read.

    ``id`` is unique in the corpus: the path relative to the source, in POSIX form, or the row's
    own id for records of a table. ``text`` is what spans refer to; it never changes after
    loading. ``title`` is what the document itself says, empty where it says none. ``source`` is
    the file it came from: the path relative to the source, or the URL without its password; so
    a source folder may move. ``sections`` are ordered by ``start``. ``pages`` are the starts of its
    pages in the text, where it was printed on any.
    """

    id: str
    text: str
    title: str = ""
    source: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    pages: tuple[int, ...] = ()

    def page(self, at: int) -> int:
        """Number of the page that holds character ``at``, from 1; 0 where there are none."""
        return bisect_right(self.pages, at)

    def section_path(self, at: int) -> tuple[str, ...]:
        """Titles of the sections that hold character ``at``, outermost first."""
        return tuple(s.title for s in self.sections if s.start <= at < s.end)

    @property
    def content_hash(self) -> str:
        """Hash of what the document says, wherever it stands, 32 hexadecimal characters."""
        sections = "\n".join(f"{s.level}:{s.start}:{s.end}:{s.title}" for s in self.sections)
        kept = sorted(self.metadata.keys() - {FOLDER})
        metadata = "\n".join(f"{key}={self.metadata[key]!r}" for key in kept)
        pages = (",".join(map(str, self.pages)),) if self.pages else ()
        return digest("content", self.text, self.title, sections, metadata, *pages)

    @property
    def version(self) -> str:
        """Hash of everything that a build reads from this document, 32 hexadecimal characters."""
        return self.version_of(self.content_hash)

    def version_of(self, content_hash: str) -> str:
        """The version, where the content hash is known already."""
        return digest(
            "version", self.id, self.source, repr(self.metadata.get(FOLDER)), content_hash
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A document by its hashes, without its text; see ``Document``."""

    id: str
    content_hash: str
    version: str

    @classmethod
    def of(cls, document: Document) -> Entry:
        """The entry of a document."""
        content_hash = document.content_hash
        return cls(document.id, content_hash, document.version_of(content_hash))


@dataclass(frozen=True, slots=True)
class Skipped:
    """File, folder or record that was not read, and why, in words for a person.

    Attributes:
        name: for people; a row's name ends in its number ("papers.jsonl:7").
        reason: why it was not read.
        is_empty: it is known to hold no text of its own: documents that it held are gone. Without
            it they are unknown.
        place: id of the document, or path of the file or folder, whose documents are unknown;
            "" for ``name``.
    """

    name: str
    reason: str
    is_empty: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything one reading of the sources gave, ordered by document id."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()

    def __repr__(self) -> str:
        return f"<Corpus of {len(self.documents)} documents, {len(self.skipped)} skipped>"
