"""The default strategy: chunks found by every signal of the tree, framed by summaries."""

from raptor_core.retrieval.hybrid.strategy import Hybrid

__all__ = ["Hybrid"]
