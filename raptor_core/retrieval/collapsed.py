"""Collapsed tree retrieval (paper, section 3 and Algorithm 2): all layers searched at once."""

from __future__ import annotations

from raptor_core.retrieval.base import Query, Questions, Retrieval, fit_budgets
from raptor_core.store.store import VectorStore

SPARE = 2
"""Candidates per node asked for, so that one that does not fit the budget can be replaced."""


class Collapsed:
    """The nodes most similar to the question, whatever their layer."""

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        found = store.search(questions.vectors, query.limit * SPARE, query.where)
        return fit_budgets(questions, query, found, query.limit)


class CollapsedLexical:
    """The nodes that match the question's words best (BM25), whatever their layer."""

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        found = store.search_text(questions.texts, query.limit * SPARE, query.where)
        return fit_budgets(questions, query, found, query.limit)
