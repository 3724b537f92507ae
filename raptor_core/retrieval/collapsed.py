"""Collapsed tree retrieval (paper, section 3 and Algorithm 2): all layers searched at once."""

from __future__ import annotations

from raptor_core.retrieval.base import Query
from raptor_core.store.base import Hit, VectorStore
from raptor_core.vectors import Vectors

SPARE = 2
"""Candidates per node asked for, so that one that does not fit the budget can be replaced."""


class Collapsed:
    """The nodes most similar to the question, whatever their layer."""

    def candidates(self, vectors: Vectors, query: Query, store: VectorStore) -> list[list[Hit]]:
        """See ``Strategy.candidates``."""
        return store.search(vectors, query.top_k * SPARE, query.where)
