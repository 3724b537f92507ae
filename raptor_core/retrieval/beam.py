"""Traversal that keeps a beam of summaries on the way down and returns leaves alone."""

from __future__ import annotations

from dataclasses import replace

from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets
from raptor_core.retrieval.traversal import best_below, start_filters
from raptor_core.store.base import Where
from raptor_core.store.outlines import Candidates
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
            store,
            lambda most: [self._leaves(vector, query, starts, store, most) for vector in rows],
        )

    def _leaves(
        self, vector: Vectors, query: Query, starts: list[Where], store: Searcher, most: int
    ) -> Candidates:
        wanted = max(query.beam_width, most)
        front = best_below(vector, starts, store, wanted)
        leaves = [front.take(front.is_leaf)]
        while len((summaries := front.take(~front.is_leaf)).scores):
            beam = Candidates.best([summaries], query.beam_width)
            below = replace(query.where, ids=beam.children(), layers=None)
            front = best_below(vector, [below], store, wanted)
            leaves.append(front.take(front.is_leaf))
        return Candidates.best(leaves, most)
