"""Collapsed tree retrieval (paper, section 3 and Algorithm 2): all layers searched at once."""

from __future__ import annotations

from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets
from raptor_core.store.protocols import Searcher


class Collapsed:
    """The nodes most similar to the question, whatever their layer."""

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        return fill_budgets(
            questions, query, lambda most: store.search(questions.vectors, most, query.where)
        )


class CollapsedLexical:
    """The nodes that match the question's words best (BM25), whatever their layer."""

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        return fill_budgets(
            questions, query, lambda most: store.search_text(questions.texts, most, query.where)
        )
