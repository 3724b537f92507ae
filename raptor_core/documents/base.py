"""Values that a source yields: documents, and the names of everything that it could not read.

The place of a document (``id``, ``source``, the ``folder`` in its metadata) is kept apart from its
content: a moved document has the same ``content_hash`` and another ``version``.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from raptor_core.errors import SourceError
from raptor_core.identity import composed, digest
from raptor_formats.base import MetadataScalar, MetadataValue
from raptor_formats.blocks import Section

EVERYONE = "*"
"""Reader that stands for all readers."""

CHUNK_ID = "chunk_id"
"""Key of the metadata that holds the id of a chunk which the source supplies."""

MAX_METADATA_CHARS = 256
"""Longest metadata value that a leaf keeps; a longer one is text, and no search filters by it."""

FOLDER = "folder"
"""Key of the metadata that names the folder of a document's file, relative to the source."""


def readers_of_both(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return who may read by both of two lists of readers, sorted; everyone includes each name."""
    if EVERYONE in first:
        return tuple(second)
    return tuple(first) if EVERYONE in second else tuple(sorted({*first} & {*second}))


def with_tuples(metadata: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return metadata that was stored as JSON, with tuples for its lists."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in dict(metadata).items()}


def metadata_entries(
    metadata: Mapping[str, MetadataValue],
) -> Iterator[tuple[str, MetadataScalar]]:
    """Yield key and value of each entry; a tuple yields a pair for each item."""
    for key, value in metadata.items():
        for item in value if isinstance(value, tuple) else (value,):
            yield key, item


@dataclass(frozen=True, slots=True)
class Document:
    """Document as its source holds it.

    Attributes:
        id: unique in the corpus; the POSIX path relative to the source, or the id of a row, with
            composed letters (NFC).
        text: text to which spans refer.
        title: title in the document itself; empty without one.
        source: its file, relative to the source folder, or a URL without its password.
        sections: sections ordered by ``start``.
        pages: offsets at which printed pages start.
        blocks: its blocks as ``raptor_formats.blocks.pack`` writes them. Empty for a text
            whose format is not known, which is read as Markdown.
        readers: sorted names of users and groups who may read it, "*" for everyone; empty if no
            one may. None if nothing is declared, and no one may read it until a rule applies.
    """

    id: str
    text: str
    title: str = ""
    source: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    blocks: str = ""
    readers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("id", "text", "title", "source"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise SourceError(
                    f"document {self.id!r:.80}: expected a text as {name}, got {value!r:.80}; "
                    'leave it out, or pass "" for none'
                )
        if not self.id.isascii():
            object.__setattr__(self, "id", composed(self.id))
        if self.readers is None:
            return
        is_text = isinstance(self.readers, str)
        if is_text or not all(isinstance(name, str) and name for name in self.readers):
            raise SourceError(
                f"document {self.id!r:.80}: expected a list of names as readers, got "
                f"{self.readers!r:.80}"
            )
        object.__setattr__(self, "readers", tuple(sorted({*map(composed, self.readers)})))

    def page(self, at: int) -> int:
        """Return the number of the page that holds character ``at``, from 1; 0 without pages."""
        return bisect_right(self.pages, at)

    @property
    def content_hash(self) -> str:
        """Hash of the content, wherever the document stands, 32 hexadecimal characters."""
        sections = "\n".join(f"{s.level}:{s.start}:{s.end}:{s.title}" for s in self.sections)
        kept = sorted(self.metadata.keys() - {FOLDER})
        metadata = "\n".join(f"{key}={self.metadata[key]!r}" for key in kept)
        pages = (",".join(map(str, self.pages)),) if self.pages else ()
        return digest("content", self.text, self.title, self.blocks, sections, metadata, *pages)

    @property
    def version(self) -> str:
        """Hash of all that a build reads from this document, 32 hexadecimal characters.

        The readers are no part of it: they are set on what is built.
        """
        return self.version_of(self.content_hash)

    def version_of(self, content_hash: str) -> str:
        """Return the version of a document whose content hash is known."""
        folder = repr(self.metadata.get(FOLDER))
        return digest("version", self.id, self.source, folder, content_hash)


@dataclass(frozen=True, slots=True)
class Entry:
    """Hashes, readers and source of a document without its text; see ``Document``."""

    id: str
    content_hash: str
    version: str
    readers: tuple[str, ...] | None = None
    source: str = ""

    @classmethod
    def of(cls, document: Document) -> "Entry":
        """Return the entry of a document."""
        content_hash = document.content_hash
        version = document.version_of(content_hash)
        return cls(document.id, content_hash, version, document.readers, document.source)


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """Document of a published tree, without its text; see ``Document``."""

    id: str
    content_hash: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """File, folder or record that was not read, and the reason, in words for a person.

    Attributes:
        name: name for people; that of a row ends in its number ("papers.jsonl:7").
        is_empty: it certainly contains no text, so its documents are gone; else they are unknown.
        place: id or path whose documents are unknown; "" for ``name``.
        kind: extension of a file whose type is not read; "" for any other reason.
        readers: readers that it still declares; empty if no one may read it, for example because
            its metadata cannot be read. None if it is not known what it declares.
    """

    name: str
    reason: str
    is_empty: bool = False
    place: str = ""
    kind: str = ""
    readers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """Result of one reading of the sources, ordered by document id."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()

    def __repr__(self) -> str:
        return f"<Corpus of {len(self.documents)} documents, {len(self.skipped)} skipped>"
