"""The nodes nearest to a question: of all layers at once, or chunks alone, as without a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from raptor_core.errors import SettingsError
from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets
from raptor_core.store.base import Hit, Where
from raptor_core.store.protocols import Searcher


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nodes most similar to the question.

    Over all layers it is collapsed tree retrieval (paper, section 3 and Algorithm 2).

    Attributes:
        by_words: match the question's words (BM25), in place of its vector.
        chunks_alone: what the tree has to beat.
    """

    by_words: bool = False
    chunks_alone: bool = False

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        where = _on_chunks(query) if self.chunks_alone else query.where

        def search(most: int) -> Sequence[Sequence[Hit]]:
            if self.by_words:
                return store.search_text(questions.texts, most, where)
            return store.search(questions.vectors, most, where)

        return fill_budgets(questions, query, search)


def _on_chunks(query: Query) -> Where:
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
