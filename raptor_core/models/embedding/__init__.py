"""Embedders: the bundled model, sentence-transformers, OpenAI-compatible endpoints."""

from __future__ import annotations

from raptor_core.models.embedding.base import Embedder
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import EmbedderSettings

__all__ = ["Embedder", "make_embedder"]


def make_embedder(settings: EmbedderSettings, ledger: Ledger | None = None) -> Embedder:
    """The embedder that the settings name; models are loaded at the first use.

    ``ledger`` holds the run's budget and prices; only an endpoint's calls are counted in it.
    """
    if settings.kind == "bundled":
        from raptor_core.models.embedding.bundled import BundledEmbedder

        return BundledEmbedder(settings)
    if settings.kind == "openai":
        from raptor_core.models.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder(settings, ledger=ledger)
    from raptor_core.models.embedding.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(settings)
