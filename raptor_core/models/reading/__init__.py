"""Reading: answers from a context, with citations; and quotes, without a chat model.

Retrieving the context is in ``raptor_core.retrieval``. Read ``reader`` next.
"""

from raptor_core.models.reading.reader import Answer, Passage, Quote, Reader, best_sentences

__all__ = ["Answer", "Passage", "Quote", "Reader", "best_sentences"]
