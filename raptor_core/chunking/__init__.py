"""Chunking: documents are cut into chunks of whole sentences, or of words.

``chunker`` has the chunkers, ``packing`` decides which sentences share a chunk, and
``sentences`` and ``paragraphs`` find the units. The nodes made of chunks are in
``raptor_core.tree.leaves``. Read ``base`` next.
"""

from raptor_core.chunking.base import Chunk, Chunker
from raptor_core.chunking.chunker import GreedyChunker, SentenceChunker, WindowChunker
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

__all__ = ["Chunk", "Chunker", "SentenceChunker", "make_chunker"]

_CHUNKERS = {chunker.method: chunker for chunker in (SentenceChunker, GreedyChunker, WindowChunker)}


def make_chunker(settings: ChunkingSettings, counter: TokenCounter) -> Chunker:
    """Return the chunker that the settings name."""
    return _CHUNKERS[settings.method](settings, counter)
