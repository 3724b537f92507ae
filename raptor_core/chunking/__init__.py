"""Chunking: sentences or words, and chunks that end with them."""

from raptor_core.chunking.base import Chunk, Chunker
from raptor_core.chunking.chunker import GreedyChunker, SentenceChunker, WindowChunker
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens.base import TokenCounter

__all__ = ["Chunk", "Chunker", "SentenceChunker", "make_chunker"]

_CHUNKERS = {chunker.method: chunker for chunker in (SentenceChunker, GreedyChunker, WindowChunker)}


def make_chunker(settings: ChunkingSettings, counter: TokenCounter) -> Chunker:
    """The chunker that the settings name."""
    return _CHUNKERS[settings.method](settings, counter)
