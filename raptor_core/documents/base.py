"""What a source yields: documents, and by name what it could not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.identity import digest

MetadataValue = str | int | float | bool


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
    loading. ``source`` is the path or URL it came from. ``sections`` are ordered by ``start``.
    """

    id: str
    text: str
    title: str = ""
    source: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)

    def section_path(self, at: int) -> tuple[str, ...]:
        """Titles of the sections that hold character ``at``, outermost first."""
        return tuple(s.title for s in self.sections if s.start <= at < s.end)

    @property
    def content_hash(self) -> str:
        """Hash of everything that a build reads from this document, 32 hexadecimal characters."""
        sections = "\n".join(f"{s.level}:{s.start}:{s.end}:{s.title}" for s in self.sections)
        metadata = "\n".join(f"{k}={self.metadata[k]!r}" for k in sorted(self.metadata))
        return digest(self.id, self.text, self.title, self.source, sections, metadata)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or record that was not read, and why, in words for a person.

    ``is_empty`` says that it was read and holds no text: what it held before is gone.
    """

    name: str
    reason: str
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything one reading of the sources gave, ordered by document id."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
