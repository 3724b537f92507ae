"""The reader: answers from retrieved context, with citations; and quotes, without a model."""

from raptor_core.models.reading.reader import Answer, Passage, Quote, Reader, best_sentences

__all__ = ["Answer", "Passage", "Quote", "Reader", "best_sentences"]
