"""Chunking: documents are cut into chunks of whole sentences.

``chunker`` has the chunkers, ``packing`` decides which sentences share a chunk, ``outline`` says
what a block opens or introduces, and ``sentences`` finds the units. The nodes made of chunks are in
``raptor_core.tree.leaves``, windows of words in ``raptor_lab.chunking``. Read ``base`` next.
"""

from raptor_core.chunking.base import Chunk, Chunker
from raptor_core.chunking.chunker import GreedyChunker, SentenceChunker
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

__all__ = ["Chunk", "Chunker", "SentenceChunker", "make_chunker"]


def make_chunker(settings: ChunkingSettings, counter: TokenCounter) -> Chunker:
    """Return the chunker that the settings name."""
    make = GreedyChunker if settings.method == "greedy" else SentenceChunker
    return make(settings, counter)
