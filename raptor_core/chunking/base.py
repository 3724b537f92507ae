"""Chunks of a document, and the interface of a chunker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from raptor_core.documents.base import Document
from raptor_formats.base import MetadataValue


@dataclass(frozen=True, slots=True)
class Chunk:
    """Span of a document: ``text == document.text[start:end]``, end exclusive.

    ``section`` is the path of headings above the span, outermost first. ``table_header`` has the
    columns of a table if the span begins with its rows but does not include their heading.
    ``metadata`` describes the chunk, in addition to its document's.
    """

    text: str
    start: int
    end: int
    n_tokens: int
    section: tuple[str, ...] = ()
    table_header: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


class Chunker(Protocol):
    """Interface of a method that cuts documents into chunks.

    Chunks are ordered and disjoint. They omit only white space, runs of data, and text outside the
    content: rules, comments and front matter.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that changes the chunks."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document into chunks, in order; return none if it is only white space."""
