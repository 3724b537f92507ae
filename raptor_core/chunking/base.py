"""Chunks of a document, and the interface of a chunker."""

from dataclasses import dataclass
from typing import Protocol

from raptor_core.documents.base import Document


@dataclass(frozen=True, slots=True)
class Chunk:
    """Span of a document: ``text == document.text[start:end]``, end exclusive.

    ``section`` is the path of headings above the span, outermost first.
    """

    text: str
    start: int
    end: int
    n_tokens: int
    section: tuple[str, ...] = ()


class Chunker(Protocol):
    """Interface of a method that cuts documents into chunks.

    Chunks are ordered and disjoint, and they leave out only white space and runs of data.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that changes the chunks."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document into chunks, in order; return none if it holds only white space."""
