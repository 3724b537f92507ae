"""What chunking yields, and the seam for other chunkers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from raptor_core.documents.base import Document


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document: ``text == document.text[start:end]``, end exclusive.

    ``section`` is the path of headings over the span, outermost first.
    """

    text: str
    start: int
    end: int
    n_tokens: int
    section: tuple[str, ...] = ()


class Chunker(Protocol):
    """Cuts documents into chunks that are ordered, disjoint, and leave out only white space."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that changes the chunks."""

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of one document in order; empty when it holds only white space."""
