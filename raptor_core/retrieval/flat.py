"""Retrieval without the tree: what the tree has to beat."""

from __future__ import annotations

from dataclasses import replace

from raptor_core.errors import SettingsError
from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets
from raptor_core.store.base import Where
from raptor_core.store.protocols import Searcher


class Flat:
    """The chunks most similar to the question by vector."""

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        where = chunks_of(query)
        return fill_budgets(
            questions, query, lambda most: store.search(questions.vectors, most, where)
        )


class Lexical:
    """The chunks that match the question's words best (BM25)."""

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        where = chunks_of(query)
        return fill_budgets(
            questions, query, lambda most: store.search_text(questions.texts, most, where)
        )


def chunks_of(query: Query) -> Where:
    """The query's filter, on chunks alone.

    Raises:
        SettingsError: it asks for other layers.
    """
    if query.where.layers is not None and set(query.where.layers) != {0}:
        raise SettingsError(
            f"{query.strategy} retrieves chunks only, which are layer 0; leave the filter on "
            "layers out, or take the strategy collapsed"
        )
    return replace(query.where, layers=(0,))
