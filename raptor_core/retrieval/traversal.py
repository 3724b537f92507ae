"""Tree traversal retrieval (paper, section 3 and Algorithm 1): layer by layer from the top."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from raptor_core.errors import SettingsError
from raptor_core.retrieval.base import Query, Questions, Retrieval, fit_budgets
from raptor_core.store.base import Where
from raptor_core.store.outlines import Candidates
from raptor_core.store.protocols import Searcher
from raptor_core.vectors import Vectors

MOST_OVER = 10_000
"""Nodes of a layer that may lie over a threshold."""


class Traversal:
    """The ``top_k`` nodes of the start layer, then the best of their children, and so on.

    Over several trees the walk starts in each tree's own top layer, and each step keeps the best
    ``top_k`` of all trees together.
    """

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``; nodes of higher layers come first."""
        starts = start_filters(query, store)
        rows = (questions.one(row).vectors for row in range(len(questions.texts)))
        found = [self._walk(vector, query, starts, store) for vector in rows]
        return fit_budgets(questions, query, store, found)

    def _walk(
        self, vector: Vectors, query: Query, starts: list[Where], store: Searcher
    ) -> Candidates:
        chosen = _layer(vector, query, starts, store)
        found = [chosen]
        while query.n_layers is None or len(found) < query.n_layers:
            children = chosen.children()
            if not children:
                break
            below = replace(query.where, ids=children, layers=None)
            chosen = _layer(vector, query, [below], store)
            found.append(chosen)
        return Candidates.joined(found)


def _layer(vector: Vectors, query: Query, filters: list[Where], store: Searcher) -> Candidates:
    """What the walk keeps of a layer: the best, or all of at least the threshold."""
    if query.threshold is None:
        return best_below(vector, filters, store, query.limit)
    found = best_below(vector, filters, store, MOST_OVER)
    return found.take(found.scores >= query.threshold)


def best_below(vector: Vectors, filters: list[Where], store: Searcher, most: int) -> Candidates:
    """The nearest nodes of all that one of the filters allows."""
    vectors = np.repeat(vector, len(filters), axis=0)
    return Candidates.best((n for n, _ in store.candidates(vectors, None, most, filters)), most)


def start_filters(query: Query, store: Searcher) -> list[Where]:
    """One filter per start layer: trees of equal height are searched together."""
    where = query.where
    if where.layers is not None:
        raise SettingsError(
            f"{query.strategy} takes start_layer; a filter on layers would cut the walk"
        )
    if query.start_layer is not None and query.start_layer < 0:
        raise SettingsError(f"start_layer is {query.start_layer}; layers are counted from 0")
    trees_by_layer: dict[int, list[str]] = {}
    for manifest in store.manifests(where.trees):
        top = len(manifest.layer_sizes) - 1
        start = top if query.start_layer is None else min(query.start_layer, top)
        trees_by_layer.setdefault(start, []).append(manifest.tree)
    everywhere = len(trees_by_layer) == 1 and where.trees is None
    return [
        replace(where, layers=(layer,), trees=None if everywhere else tuple(trees))
        for layer, trees in sorted(trees_by_layer.items())
    ]
