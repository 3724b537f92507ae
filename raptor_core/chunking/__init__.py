"""Chunking: documents are cut into chunks of whole sentences.

``chunker`` contains the chunkers, ``packing`` decides which sentences share a chunk, ``outline``
finds the structure around each block, and ``sentences`` finds the units. Nodes are made from chunks
in ``raptor_core.tree.leaves``; chunkers for comparisons are in ``raptor_lab.chunking``. Read
``base`` next.
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
