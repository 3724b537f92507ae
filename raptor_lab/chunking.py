"""A chunker for comparisons, which many simplifications of RAPTOR use: windows of words."""

import re
from collections.abc import Iterator

from raptor_core.chunking.chunker import GreedyChunker
from raptor_core.chunking.packing import SentenceSpan
from raptor_core.documents.base import Document
from raptor_core.settings import Settings
from raptor_core.tree.custom_components import make_token_counter

_WORD = re.compile(r"\S+")


class FixedWordsChunker(GreedyChunker):
    """Chunker that makes windows of ``max_tokens`` words, whatever the sentences are."""

    method = "windows"

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        return (SentenceSpan(*match.span()) for match in _WORD.finditer(document.text))


def windows(settings: Settings) -> FixedWordsChunker:
    """Make the chunker; ``components.chunker`` may name this function."""
    return FixedWordsChunker(settings.chunking, make_token_counter(settings))
