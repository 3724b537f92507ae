"""The strategies of the paper (section 3, Algorithms 1 and 2), and searches without the tree.

The default strategy is in ``hybrid``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from raptor_core.errors import SettingsError
from raptor_core.retrieval.base import Query, Questions, Retrieval, fill_budgets, fit_budgets
from raptor_core.retrieval.general import decide_question_kind
from raptor_core.store.base import Hit, Where
from raptor_core.store.store import VectorStore
from raptor_core.vectors import Vectors

MAX_OVER_THRESHOLD = 10_000
"""Maximum number of nodes of a layer over ``Query.threshold``."""


@dataclass(frozen=True, slots=True)
class NearestNodes:
    """Strategy that takes the nodes most similar to the question.

    Over all layers this is collapsed tree retrieval (paper, section 3 and Algorithm 2).

    Attributes:
        by_words: compare words (BM25) instead of vectors.
        only_chunks: search only layer 0, the baseline without a tree.
    """

    by_words: bool = False
    only_chunks: bool = False

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """Return a retrieval for each question; see ``Strategy.retrieve``."""
        where = filter_for_chunks(query) if self.only_chunks else query.where

        def nearest(questions: Questions, query: Query) -> list[Retrieval]:
            def search(limit: int) -> Sequence[Sequence[Hit]]:
                if self.by_words:
                    return store.search_text(questions.texts, limit, where)
                return store.search(questions.vectors, limit, where)

            return fill_budgets(questions, query, search)

        if self.only_chunks:
            return nearest(questions, query)
        return _retrieve_by_kind(questions, query, store, nearest)


def _retrieve_by_kind(
    questions: Questions,
    query: Query,
    store: VectorStore,
    retrieve: Callable[[Questions, Query], list[Retrieval]],
) -> list[Retrieval]:
    """Retrieve for each question, and limit the summaries of those that are about details.

    Nothing is limited if the query asks for the paper's form, or excludes chunks.
    """
    paper = replace(query, summary_share=1.0)
    layers, reaches_chunks = query.where.layers, query.n_layers is None
    if query.summary_share >= 1 or not reaches_chunks or (layers and 0 not in layers):
        return retrieve(questions, paper)
    results = []
    for row, text in enumerate(questions.texts):
        decision = decide_question_kind(text, query, store)
        (found,) = retrieve(questions.select(row), paper if decision.is_general else query)
        kind = "general" if decision.is_general else "detail"
        results.append(replace(found, query=query, kind=kind, reason=decision.reason))
    return results


def filter_for_chunks(query: Query) -> Where:
    """Restrict the query's filter to chunks.

    Raises:
        SettingsError: the filter names other layers.
    """
    if set(query.where.layers or ()) - {0}:
        raise SettingsError(
            f"{query.strategy} retrieves only chunks, which are layer 0; omit the filter on "
            "layers, or use the strategy collapsed"
        )
    return query.where.narrow(layers=(0,))


class Traversal:
    """Strategy that keeps the ``top_k`` best nodes of a layer and continues with their children.

    It starts in the top layer of each tree, and keeps the best ``top_k`` nodes of all trees
    together in each step.
    """

    def retrieve(self, questions: Questions, query: Query, store: VectorStore) -> list[Retrieval]:
        """Return a retrieval for each question; nodes of higher layers come first."""
        starts = _start_filters(query, store)

        def traverse(questions: Questions, query: Query) -> list[Retrieval]:
            rows = (questions.select(row).vectors for row in range(len(questions.texts)))
            candidates = [self._traverse(vector, query, starts, store) for vector in rows]
            return fit_budgets(questions, query, candidates)

        return _retrieve_by_kind(questions, query, store, traverse)

    def _traverse(
        self, vector: Vectors, query: Query, starts: list[Where], store: VectorStore
    ) -> list[Hit]:
        layers = [_search_layer(vector, query, starts, store)]
        while query.n_layers is None or len(layers) < query.n_layers:
            below = _children_filter(layers[-1], query)
            if not below.ids:
                break
            layers.append(_search_layer(vector, query, [below], store))
        return [hit for layer in layers for hit in layer]


def _search_layer(
    vector: Vectors, query: Query, filters: list[Where], store: VectorStore
) -> list[Hit]:
    """Return the nodes that a traversal keeps of a layer: the best, or all over the threshold."""
    limit, least = query.nodes_per_layer, -2.0
    if query.threshold is not None:
        limit, least = MAX_OVER_THRESHOLD, query.threshold
    hits = (hit for where in filters for hit in store.search(vector, limit, where)[0])
    return _best_hits((hit for hit in hits if hit.score >= least), limit)


def _children_filter(hits: Iterable[Hit], query: Query) -> Where:
    """Return the filter that selects the children of hits."""
    children = {child for hit in hits for child in hit.node.children}
    return query.where.narrow(ids=sorted(children))


def _start_filters(query: Query, store: VectorStore) -> list[Where]:
    """Return a filter for each start layer; trees of equal height are searched together.

    With a filter, a traversal starts at all matching nodes that have no matching ancestor.
    """
    where = query.where
    if where.layers:
        raise SettingsError(
            f"{query.strategy} goes through all layers, which a filter on layers prevents; omit "
            "the filter, or set start_layer"
        )
    if query.start_layer is not None and query.start_layer < 0:
        raise SettingsError(f"start_layer is {query.start_layer}; layers are counted from 0")
    manifests = store.manifests(where.trees)
    if where.is_selective:
        n_layers = max((len(manifest.layer_sizes) for manifest in manifests), default=0)
        top = n_layers - 1 if query.start_layer is None else query.start_layer
        return [_highest_matches_filter(where, top, store)]
    trees_by_layer: dict[int, list[str]] = {}
    for manifest in manifests:
        top = len(manifest.layer_sizes) - 1
        start = top if query.start_layer is None else min(query.start_layer, top)
        trees_by_layer.setdefault(start, []).append(manifest.tree)
    everywhere = len(trees_by_layer) == 1 and where.trees is None
    return [
        replace(where, layers=(layer,), trees=None if everywhere else tuple(trees))
        for layer, trees in sorted(trees_by_layer.items())
    ]


def _highest_matches_filter(where: Where, top: int, store: VectorStore) -> Where:
    """Return the filter for matching nodes, up to the layer ``top``, without matching ancestors."""
    summaries = store.nodes(where.narrow(layers=range(1, top + 1)))
    children = {child for node in summaries for child in node.children}
    exclude = where.exclude or Where()
    exclude = replace(exclude, ids=(*(exclude.ids or ()), *sorted(children)))
    return replace(where.narrow(layers=range(top + 1)), exclude=exclude)


def _best_hits(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the ``limit`` hits with the highest scores; ties are broken by node id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.node.id))[:limit]
