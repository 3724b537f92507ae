"""Embedders: the bundled model, sentence-transformers, and OpenAI-compatible endpoints.

``base`` has the interface and the code that all share; ``local_models`` is shared by those that run
on this machine. ``raptor_core.tree.embed`` decides which texts of a tree are embedded. Read
``base`` next.
"""

from raptor_core.models.embedding.base import Embedder
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import EmbedderSettings

__all__ = ["Embedder", "make_embedder"]


def make_embedder(settings: EmbedderSettings, ledger: Ledger | None = None) -> Embedder:
    """Return the embedder that the settings name; models are loaded when it is first used."""
    if settings.kind == "bundled":
        from raptor_core.models.embedding.bundled import BundledEmbedder

        return BundledEmbedder(settings)
    if settings.kind == "openai":
        from raptor_core.models.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder(settings, ledger=ledger)
    from raptor_core.models.embedding.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(settings)
