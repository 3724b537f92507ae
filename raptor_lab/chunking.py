"""Windows of words: the chunks of a short recipe, to compare with."""

import re
from collections.abc import Iterator

from raptor_core.chunking.chunker import GreedyChunker
from raptor_core.chunking.packing import SentenceSpan
from raptor_core.documents.base import Document
from raptor_core.settings import Settings
from raptor_core.tree.custom_components import counter_of

_WORD = re.compile(r"\S+")


class WindowChunker(GreedyChunker):
    """Windows of ``max_tokens`` words that ignore sentences: a common simplification of RAPTOR."""

    method = "windows"

    def _units(self, document: Document) -> Iterator[SentenceSpan]:
        return (SentenceSpan(*match.span()) for match in _WORD.finditer(document.text))


def windows(settings: Settings) -> WindowChunker:
    """Make the chunker, as ``components.chunker`` names it."""
    return WindowChunker(settings.chunking, counter_of(settings))
