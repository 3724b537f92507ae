"""Answering questions from a context, with citations.

Retrieving the context is in ``raptor_core.retrieval``. Read ``reader`` next.
"""

from raptor_core.models.reading.reader import Answer, Passage, Reader

__all__ = ["Answer", "Passage", "Reader"]
