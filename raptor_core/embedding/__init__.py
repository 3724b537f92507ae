"""Embedders: the bundled model, sentence-transformers, OpenAI-compatible endpoints."""

from raptor_core.embedding.base import Embedder, Vectors
from raptor_core.settings import EmbedderSettings

__all__ = ["Embedder", "Vectors", "make_embedder"]


def make_embedder(settings: EmbedderSettings) -> Embedder:
    """The embedder that the settings name; models are loaded at the first use."""
    if settings.kind == "bundled":
        from raptor_core.embedding.bundled import BundledEmbedder

        return BundledEmbedder(settings)
    if settings.kind == "openai":
        from raptor_core.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder(settings)
    from raptor_core.embedding.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(settings)
