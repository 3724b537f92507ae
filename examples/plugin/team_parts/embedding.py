"""An embedder: counts of hashed words, without a model."""

import zlib
from collections.abc import Sequence

import numpy as np

from raptor_core import Settings
from raptor_core.vectors import Vectors


class HashedWords:
    """Embedder by which texts that share words are similar."""

    model = "hashed-words"
    fingerprint = "hashed-words-1"
    n_dims = 64

    def __init__(self, settings: Settings) -> None:
        """Take the settings."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts, shape ``(len(texts), n_dims)``."""
        vectors = np.full((len(texts), self.n_dims), 0.001, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                vectors[row, zlib.crc32(word.encode()) % self.n_dims] += 1
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of questions."""
        return self.embed(texts)
