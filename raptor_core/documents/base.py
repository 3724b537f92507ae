"""The values that sources return: documents, and the names of everything that was not read.

The location of a document (``id``, ``source``, the ``folder`` in its metadata) is separate from its
content: a moved document has the same ``content_hash`` and another ``version``.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from raptor_core.errors import SourceError
from raptor_core.identity import digest, to_nfc
from raptor_formats.base import MetadataScalar, MetadataValue
from raptor_formats.blocks import Section

EVERYONE = "*"
"""The reader that means everyone."""

CHUNK_ID = "chunk_id"
"""Metadata key with the id of a chunk that the source supplies."""

MAX_METADATA_CHARS = 256
"""Longest metadata value that a leaf keeps; a longer one is text that nobody filters by."""

FOLDER = "folder"
"""Metadata key with the folder of a document's file, relative to the source."""


def readers_of_both(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the readers that are in both lists, sorted; ``EVERYONE`` includes every name."""
    if EVERYONE in first:
        return tuple(second)
    return tuple(first) if EVERYONE in second else tuple(sorted({*first} & {*second}))


def lists_to_tuples(metadata: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return metadata that was read from JSON with its lists as tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in dict(metadata).items()}


def flat_metadata_entries(
    metadata: Mapping[str, MetadataValue],
) -> Iterator[tuple[str, MetadataScalar]]:
    """Yield key and value of each entry; a tuple yields a pair for each of its items."""
    for key, value in metadata.items():
        for item in value if isinstance(value, tuple) else (value,):
            yield key, item


@dataclass(frozen=True, slots=True)
class Document:
    """A document as its source supplies it.

    Attributes:
        id: unique in the corpus; the POSIX path relative to the source, or the id of a row, in the
            Unicode form NFC.
        text: text to which spans refer.
        title: title that the document itself contains; "" if there is none.
        source: its file, relative to the source folder, or a URL without its password.
        sections: sections ordered by ``start``.
        metadata: metadata by key, of the file and of the document itself.
        pages: offsets at which printed pages start.
        blocks: its blocks as ``raptor_formats.blocks.pack_blocks`` writes them; "" for an unknown
            format, which is parsed as Markdown.
        readers: sorted names of users and groups who may read it, "*" for everyone; empty if nobody
            may. None if it declares no readers; then nobody may read it until a rule applies.
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
            object.__setattr__(self, "id", to_nfc(self.id))
        if self.readers is None:
            return
        is_text = isinstance(self.readers, str)
        if is_text or not all(isinstance(name, str) and name for name in self.readers):
            raise SourceError(
                f"document {self.id!r:.80}: expected a list of names as readers, got "
                f"{self.readers!r:.80}"
            )
        object.__setattr__(self, "readers", tuple(sorted({*map(to_nfc, self.readers)})))

    def page_at(self, at: int) -> int:
        """Return the number of the page that contains character ``at``, from 1; 0 without pages."""
        return bisect_right(self.pages, at)

    @property
    def content_hash(self) -> str:
        """Hash of the content without its location, 32 hexadecimal characters."""
        sections = "\n".join(f"{s.level}:{s.start}:{s.end}:{s.title}" for s in self.sections)
        kept = sorted(self.metadata.keys() - {FOLDER})
        metadata = "\n".join(f"{key}={self.metadata[key]!r}" for key in kept)
        pages = (",".join(map(str, self.pages)),) if self.pages else ()
        return digest("content", self.text, self.title, self.blocks, sections, metadata, *pages)

    @property
    def version(self) -> str:
        """Hash of everything that a build uses of this document, 32 hexadecimal characters.

        Readers are not included, because they can be changed without a build.
        """
        return self.version_for_hash(self.content_hash)

    def version_for_hash(self, content_hash: str) -> str:
        """Return the version, given the content hash, which is slow to compute."""
        folder = repr(self.metadata.get(FOLDER))
        return digest("version", self.id, self.source, folder, content_hash)


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document without its text: its hashes, readers and source; see ``Document``."""

    id: str
    content_hash: str
    version: str
    readers: tuple[str, ...] | None = None
    source: str = ""

    @classmethod
    def from_document(cls, document: Document) -> "DocumentEntry":
        """Return the entry of a document."""
        content_hash = document.content_hash
        version = document.version_for_hash(content_hash)
        return cls(document.id, content_hash, version, document.readers, document.source)


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A document of a published tree, without its text; see ``Document``."""

    id: str
    content_hash: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, folder or row that was not read, and the reason in words.

    Attributes:
        name: name to show; that of a row ends in its number ("papers.jsonl:7").
        reason: a predicate, such as "is empty".
        is_empty: it certainly contains no text, so its documents are gone; else they are unknown.
        place: id or path whose documents are unknown; "" means ``name``.
        kind: extension of a file of an unsupported type; "" for any other reason.
        readers: readers that it declares although it was not read; empty if nobody may read it, for
            example because its metadata is damaged. None if its declaration is not known.
    """

    name: str
    reason: str
    is_empty: bool = False
    place: str = ""
    kind: str = ""
    readers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """All documents of the sources, ordered by id, and what was not read."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()

    def __repr__(self) -> str:
        return f"<Corpus of {len(self.documents)} documents, {len(self.skipped)} skipped>"
