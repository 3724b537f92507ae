"""Walks down the trees, layer by layer from the top (paper, section 3 and Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from raptor_core.errors import SettingsError
from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets, fit_budgets
from raptor_core.store.base import Hit, Where
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
        starts = _start_filters(query, store)
        rows = (questions.one(row).vectors for row in range(len(questions.texts)))
        found = [self._walk(vector, query, starts, store) for vector in rows]
        return fit_budgets(questions, query, found)

    def _walk(
        self, vector: Vectors, query: Query, starts: list[Where], store: Searcher
    ) -> list[Hit]:
        layers = [_layer(vector, query, starts, store)]
        while query.n_layers is None or len(layers) < query.n_layers:
            below = _children_of(layers[-1], query)
            if not below.ids:
                break
            layers.append(_layer(vector, query, [below], store))
        return [hit for layer in layers for hit in layer]


class Beam:
    """The best ``beam_width`` summaries of the start layer, of their children, and so on.

    What is returned are the best leaves under the last beam. A leaf that the walk meets
    above, because its tree is but one layer high, stays among the candidates.
    """

    def retrieve(self, questions: Questions, query: Query, store: Searcher) -> list[Retrieval]:
        """See ``Strategy.retrieve``."""
        starts = _start_filters(query, store)
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
        front = _best((h for at in starts for h in store.search(vector, wanted, at)[0]), wanted)
        leaves = [hit for hit in front if hit.node.is_leaf]
        while summaries := [hit for hit in front if not hit.node.is_leaf]:
            below = _children_of(summaries[: query.beam_width], query)
            front = store.search(vector, wanted, below)[0]
            leaves += [hit for hit in front if hit.node.is_leaf]
        return _best(leaves, most)


def _layer(vector: Vectors, query: Query, filters: list[Where], store: Searcher) -> list[Hit]:
    """What the walk keeps of a layer: the best, or all of at least the threshold."""
    most, least = query.limit, -2.0
    if query.threshold is not None:
        most, least = MOST_OVER, query.threshold
    found = (hit for where in filters for hit in store.search(vector, most, where)[0])
    return _best((hit for hit in found if hit.score >= least), most)


def _children_of(hits: Iterable[Hit], query: Query) -> Where:
    """The filter that the children of hits pass."""
    children = {child for hit in hits for child in hit.node.children}
    return replace(query.where, ids=tuple(sorted(children)), layers=None)


def _start_filters(query: Query, store: Searcher) -> list[Where]:
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


def _best(hits: Iterable[Hit], most: int) -> list[Hit]:
    """The ``most`` hits of highest score, ties by node id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.node.id))[:most]
