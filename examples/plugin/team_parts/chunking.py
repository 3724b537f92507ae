"""A chunker: one chunk for each paragraph."""

import re

from raptor_core import Chunk, Document, Settings


class Paragraphs:
    """Chunker that makes each paragraph a chunk."""

    fingerprint = "paragraphs-1"

    def __init__(self, settings: Settings) -> None:
        """Take the settings, as each component does; this one needs none of them."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the paragraphs of a document, which blank lines separate."""
        found = re.finditer(r"\S(?:.|\n(?!\s*\n))*", document.text)
        return [Chunk(m[0], *m.span(), n_tokens=len(m[0].split())) for m in found]
