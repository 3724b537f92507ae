"""Vectors without a model, to measure everything but the model."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

N_DIMS = 384
N_ROWS = 1 << 14


class RandomEmbedder:
    """Vectors without a model: random ones of the distinct words, and a little of the text's own.

    The latter because no two texts of a tree may have one vector; a check refuses that.
    """

    model = "random"
    n_dims = N_DIMS
    fingerprint = "random-words-1"

    def __init__(self) -> None:
        rows = np.random.default_rng(0).standard_normal((N_ROWS, N_DIMS), dtype=np.float32)
        self._rows = rows
        self.seconds = 0.0

    def embed(self, texts: Sequence[str]) -> Any:
        """See ``Embedder``."""
        from raptor_core.models.embedding.base import embed_distinct

        started = time.thread_time()
        found = embed_distinct(texts, self._encode, N_DIMS, self.model)
        self.seconds += time.thread_time() - started
        return found

    embed_queries = embed

    def _encode(self, texts: Sequence[str]) -> Any:
        vectors = np.empty((len(texts), N_DIMS), dtype=np.float32)
        for row, text in enumerate(texts):
            words = sorted(set(re.findall(r"\w+", text.lower()))) or [""]
            vectors[row] = self._rows[[_row_of(word) for word in words]].sum(axis=0)
            vectors[row] += 0.5 * self._rows[zlib.crc32(text.encode()) % N_ROWS]
        return vectors


@lru_cache(maxsize=1 << 16)
def _row_of(word: str) -> int:
    return zlib.crc32(word.encode()) % N_ROWS
