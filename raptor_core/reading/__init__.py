"""The reader: answers from retrieved context, with citations."""

from raptor_core.reading.reader import Reader
from raptor_core.reading.values import Answer, Passage

__all__ = ["Answer", "Passage", "Reader"]
