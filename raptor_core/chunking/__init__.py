"""Chunking: documents are cut into chunks of whole sentences.

``chunker`` has the chunkers, ``packing`` decides which sentences share a chunk, ``outline`` says
what a block opens or introduces, and ``sentences`` finds the units. The nodes made of chunks are in
``raptor_core.tree.leaves``, windows of words in ``raptor_lab.chunking``. Read ``base`` next.
"""

from raptor_core.chunking.base import Chunk, Chunker
from raptor_core.chunking.chunker import GreedyChunker, SentenceChunker
from raptor_core.entry_points import load_registered
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

__all__ = ["Chunk", "Chunker", "SentenceChunker", "make_chunker"]

_CHUNKERS = {chunker.method: chunker for chunker in (SentenceChunker, GreedyChunker)}
CHUNKERS = "raptor_core.chunking"
"""Group of entry points; each is a function of settings and counter that makes a chunker."""


def make_chunker(settings: ChunkingSettings, counter: TokenCounter) -> Chunker:
    """Return the chunker that the settings name, or raise MissingExtraError without its extra."""
    name = settings.method
    make = _CHUNKERS.get(name) or load_registered(CHUNKERS, name, f'chunking.method = "{name}"')
    chunker: Chunker = make(settings, counter)
    return chunker
