"""Strategies that take the nearest nodes: of all layers, or chunks only, as without a tree."""

from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.errors import SettingsError
from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets
from raptor_core.store.base import Hit, Where
from raptor_core.store.protocols import Searcher


@dataclass(frozen=True, slots=True)
class Nearest:
    """Strategy that takes the nodes most similar to the question.

    Over all layers it is collapsed tree retrieval (paper, section 3 and Algorithm 2).

    Attributes:
        by_words: match the words of the question (BM25) instead of its vector.
        only_chunks: search layer 0 only: the baseline that a tree has to improve on.
    """

    by_words: bool = False
    only_chunks: bool = False

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """Return a retrieval for each question; see ``Strategy.retrieve``."""
        where = chunks_only(query) if self.only_chunks else query.where

        def search(limit: int) -> Sequence[Sequence[Hit]]:
            if self.by_words:
                return store.search_text(questions.texts, limit, where)
            return store.search(questions.vectors, limit, where)

        return fill_budgets(questions, query, search)


def chunks_only(query: Query) -> Where:
    """Restrict the query's filter to chunks.

    Raises:
        SettingsError: the filter names other layers.
    """
    if set(query.where.layers or ()) - {0}:
        raise SettingsError(
            f"{query.strategy} retrieves chunks only, which are layer 0; omit the filter on "
            "layers, or use the strategy collapsed"
        )
    return query.where.narrowed(layers=(0,))
