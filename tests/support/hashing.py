"""A small embedder for tests that build hundreds of trees: bags of hashed words, no model."""

import re
import zlib

import numpy as np

from raptor_core.identity import fingerprint
from raptor_core.models.embedding.base import embed_distinct


class HashingEmbedder:
    """Unit vectors of hashed word counts; equal words give near vectors."""

    model = "hashing"
    n_dims = 32
    fingerprint = fingerprint("hashing", {"n_dims": 32})

    def __init__(self, _settings=None):
        self.n_embedded = 0

    def embed(self, texts):
        return embed_distinct(texts, self._encode, self.n_dims, self.model)

    def embed_queries(self, texts):
        return self.embed(texts)

    def _encode(self, texts):
        self.n_embedded += len(texts)
        vectors = np.full((len(texts), self.n_dims), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w", text) + re.findall(r"\w+", text.casefold()):
                code = zlib.crc32(word.encode())
                vectors[row, code % self.n_dims] += 1 if code & 1024 else -1
        return vectors


class WideEmbedder(HashingEmbedder):
    """Another model of the same kind, with vectors of another length."""

    model = "wide"
    n_dims = 48
    fingerprint = fingerprint("hashing", {"n_dims": 48})

    def _encode(self, texts):
        vectors = super()._encode([text[::-1] for text in texts])
        return vectors * np.linspace(3, 0, self.n_dims, dtype=np.float32)  # another centre
