"""Chunking: documents are cut into chunks of whole sentences.

``chunker`` contains the chunkers, ``packing`` decides which sentences share a chunk, ``outline``
finds the structure around each block, and ``sentences`` finds the units. Nodes are made from chunks
in ``raptor_core.tree.leaves``; chunkers for comparisons are in ``raptor_lab.chunking``. Read
``base`` next.
"""

from raptor_core.chunking.base import Chunk, Chunker
from raptor_core.chunking.chunker import GreedyChunker, SentenceChunker
from raptor_core.entry_points import load_registered
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

__all__ = ["Chunk", "Chunker", "SentenceChunker", "make_chunker"]

_CHUNKERS = {chunker.method: chunker for chunker in (SentenceChunker, GreedyChunker)}
CHUNKERS = "raptor_core.chunking"
"""Group of entry points; each is a function of settings and counter that returns a chunker."""


def make_chunker(settings: ChunkingSettings, counter: TokenCounter) -> Chunker:
    """Return the chunker that the settings name; MissingExtraError if its extra is missing."""
    name = settings.method
    make = _CHUNKERS.get(name) or load_registered(CHUNKERS, name, f'chunking.method = "{name}"')
    chunker: Chunker = make(settings, counter)
    return chunker
