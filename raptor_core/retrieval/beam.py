"""Traversal that keeps a beam of summaries on the way down and returns leaves alone."""

from __future__ import annotations

from dataclasses import replace

from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets
from raptor_core.retrieval.traversal import best, start_filters
from raptor_core.store.base import Hit, Where
from raptor_core.store.protocols import Searcher
from raptor_core.vectors import Vectors


class Beam:
    """The best ``beam_width`` summaries of the start layer, of their children, and so on.

    What is returned are the best leaves under the last beam. A leaf that the walk meets
    above, because its tree is but one layer high, stays among the candidates.
    """

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        starts = start_filters(query, store)
        rows = [questions.one(row).vectors for row in range(len(questions.texts))]
        return fill_budgets(
            questions,
            query,
            lambda most: [self._leaves(vector, query, starts, store, most) for vector in rows],
        )

    def _leaves(
        self, vector: Vectors, query: Query, starts: list[Where], store: Searcher, most: int
    ) -> list[Hit]:
        wanted = max(query.beam_width, most)
        front = best((h for at in starts for h in store.search(vector, wanted, at)[0]), wanted)
        leaves = [hit for hit in front if hit.node.is_leaf]
        while summaries := [hit for hit in front if not hit.node.is_leaf]:
            beam = summaries[: query.beam_width]
            children = tuple(sorted({child for hit in beam for child in hit.node.children}))
            below = replace(query.where, ids=children, layers=None)
            front = store.search(vector, wanted, below)[0]
            leaves += [hit for hit in front if hit.node.is_leaf]
        return best(leaves, most)
