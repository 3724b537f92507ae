"""Planning of a rebuild: nodes kept, added and removed, clusters touched, calls, tokens and cost.

If a tree continues from its published state, its clusters depend only on its leaves
(``raptor_core.tree.cluster``). So the number of calls is exact, and only lengths of texts are
estimated. If a tree is built from scratch, its first layer is exact if the vectors of its leaves
are known or only few must be computed; the rest is estimated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from raptor_core.curation import CURATED
from raptor_core.documents.base import Document
from raptor_core.identity import FALLBACK
from raptor_core.models.money.usage import Usage, estimate_embedding_cost
from raptor_core.models.summarizing.prompts import prompt_overhead_tokens
from raptor_core.nodes import Layer, Node, Tree
from raptor_core.rebuild.expected_layers import (
    USUAL_CHILDREN,
    estimate_layer_plans,
    plan_layers,
    predict_layers,
)
from raptor_core.rebuild.values import (
    NOTHING,
    UPPER_ERROR,
    LayerPlan,
    RebuildPlan,
    TreePlan,
    layer_nodes,
)
from raptor_core.settings import Settings
from raptor_core.tree.cache import ChainedKnownContent, KnownContent
from raptor_core.tree.cluster import Clustering, why_from_scratch
from raptor_core.tree.components import Components
from raptor_core.tree.leaves import make_leaves
from raptor_core.vectors import Vectors


def plan_rebuild(
    previous: Mapping[str, Tree],
    documents: Mapping[str, Sequence[Document]],
    settings: Settings | None = None,
    *,
    components: Components | None = None,
    known: KnownContent | None = None,
) -> RebuildPlan:
    """Plan the update of the trees ``previous`` to ``documents``, without writing or paying.

    A local model embeds new leaves of trees that continue, and up to ``MAX_EMBEDDED_LEAVES`` of
    trees that are built from scratch. Endpoints are not called: instead, a leaf gets the mean
    direction of its neighbours, and the plan is an estimate.

    Args:
        previous: published trees by name.
        documents: documents of the new trees, by tree; a tree without documents is dropped.
        settings: None for the defaults, or for those of ``components``.
        components: components to plan with, for example to share a loaded model.
        known: published vectors and texts, for example an open store, in addition to the
            components' cache.

    Raises:
        RaptorError: the chunker, embedder or clusterer failed.
    """
    components = Components.from_either(settings, components)
    planner = _Planner(previous, components, known if known is not None else ChainedKnownContent())
    names = sorted({*previous, *documents})
    trees = tuple(planner.plan_tree_update(name, documents.get(name, ())) for name in names)
    has_changes = any(tree.action != "keep" for tree in trees)
    return RebuildPlan(trees, calls_model=has_changes and components.calls_model)


def plan_tree(
    previous: Tree | None, leaves: Layer, components: Components, known: KnownContent
) -> tuple[TreePlan, Clustering]:
    """Plan a tree with at least one leaf, whose leaves are already embedded.

    Returns:
        The plan, and the clusters over the leaves.
    """
    planner = _Planner({previous.name: previous} if previous else {}, components, known)
    reason = why_from_scratch(previous, leaves.nodes, components)
    return planner.plan_by_clustering(previous, leaves, exact=True, reason=reason)


MAX_EMBEDDED_LEAVES = 1000
"""Maximum leaves of trees from scratch that a plan embeds, which takes a local model seconds."""


class _Planner:
    """Planner of trees with the same components."""

    def __init__(
        self, previous: Mapping[str, Tree], components: Components, known: KnownContent
    ) -> None:
        self._previous = previous
        self._components = components
        self._known = ChainedKnownContent(components.curation, known, components.cache)
        self._n_children = self._n_parents = 0
        for tree in previous.values():
            self._count_children_and_parents([len(layer.nodes) for layer in tree.layers])
        self._planned: set[str] = set()
        self._embeddable = MAX_EMBEDDED_LEAVES

    def _count_children_and_parents(self, sizes: Sequence[int]) -> None:
        """Count children and parents in a tree's layers, for the mean size of clusters."""
        self._n_children += sum(sizes[:-1])
        self._n_parents += sum(sizes[1:])

    @property
    def _mean_cluster_size(self) -> float:
        """Mean size of clusters in the published and the already planned trees."""
        if not self._n_parents:
            return USUAL_CHILDREN
        return max(self._n_children / self._n_parents, 2.0)

    @cached_property
    def _prompt_overhead_tokens(self) -> int:
        """Tokens of a prompt without texts; computed lazily, because it loads a tokenizer."""
        return prompt_overhead_tokens(
            self._components.settings.summarizer, self._components.counter
        )

    def plan_tree_update(self, name: str, documents: Sequence[Document]) -> TreePlan:
        """Plan a tree."""
        previous = self._previous.get(name)
        leaves = make_leaves(name, documents, self._components) if documents else ()
        if not leaves:
            return _plan_dropped_tree(name, previous)
        if previous and self._is_unchanged(previous, leaves):
            sizes, end = [len(layer.nodes) for layer in previous.layers], previous.end.reason
            layers = tuple(LayerPlan(k, n_kept=n) for k, n in enumerate(sizes) if k)
            return TreePlan(name, "keep", n_leaves_kept=len(leaves), layers=layers, end=end)
        reason = why_from_scratch(previous, leaves, self._components)
        if previous is None or reason:
            return self._plan_from_scratch(name, previous, leaves, reason)
        vectors, exact = self._leaf_vectors(leaves, previous)
        return self.plan_by_clustering(previous, Layer(leaves, vectors), exact=exact)[0]

    def _plan_from_scratch(
        self, name: str, previous: Tree | None, leaves: tuple[Node, ...], reason: str
    ) -> TreePlan:
        """Plan a tree from scratch, by clustering if the vectors of its leaves are available."""
        known = self._known_vectors(leaves, previous)
        n_unknown = len({node.embedding_key for node in leaves} - known.keys())
        if n_unknown > (0 if self._is_remote else self._embeddable):
            return self.plan_by_estimates(name, leaves, reason)
        self._embeddable -= n_unknown
        vectors, _ = self._leaf_vectors(leaves, previous)
        plan, _ = self.plan_by_clustering(
            previous, Layer(leaves, vectors), exact=True, reason=reason
        )
        self._count_children_and_parents(
            [len(leaves), *(layer.n_kept + layer.n_added for layer in plan.layers)]
        )
        return plan

    def _is_unchanged(self, tree: Tree, leaves: Sequence[Node]) -> bool:
        """Return whether a build would make the same tree: same settings, leaves, no decisions."""
        same = {node.id for node in leaves} == {node.id for node in tree.layers[0].nodes}
        if tree.settings_fingerprint != self._components.settings_fingerprint or not same:
            return False
        documents = {leaf.documents[0] for leaf in leaves}
        is_decided = self._components.curation.digest(documents)
        marks = {mark for node in tree.nodes() for mark in node.quality}
        return not is_decided and marks.isdisjoint({CURATED, FALLBACK})

    def plan_by_clustering(
        self, previous: Tree | None, leaves: Layer, *, exact: bool, reason: str = ""
    ) -> tuple[TreePlan, Clustering]:
        """Plan a tree by clustering its leaves; return the plan and the clusters.

        If there is a ``reason``, it is built from scratch, else it continues from ``previous``.
        """
        parts = self._components, self._known
        expected, top = predict_layers(previous, leaves, *parts, from_scratch=bool(reason))
        plans = plan_layers(
            previous,
            leaves,
            expected,
            self._components,
            self._prompt_overhead_tokens,
            self._planned,
        )
        layers = (*plans, *(_plan_removed_layers(previous, len(expected)) if previous else ()))
        if reason:
            layers = tuple(replace(k, error=UPPER_ERROR if k.layer > 1 else 0.0) for k in layers)
            exact = len(expected) < 2
        n_leaves = _count_leaf_changes(previous, leaves.nodes)
        is_changed = any(n_leaves[1:]) or any(layer.n_added or layer.n_removed for layer in layers)
        plan = TreePlan(
            leaves.nodes[0].tree,
            "build" if previous is None else "rebuild" if is_changed or reason else "keep",
            reason,
            *n_leaves,
            layers=layers,
            embedding=self._embedding_usage(leaves.nodes, layers),
            exact=exact,
            end=top.end.reason if top.end and exact else "",
        )
        return plan, expected[0].clustering if expected else top

    def plan_by_estimates(self, name: str, leaves: Sequence[Node], reason: str) -> TreePlan:
        """Plan a tree that is built from scratch by estimates, without vectors."""
        previous = self._previous.get(name)
        sizes = (self._mean_cluster_size, self._components.settings, self._prompt_overhead_tokens)
        layers = tuple(estimate_layer_plans(leaves, previous, *sizes))
        return TreePlan(
            name,
            "rebuild" if previous else "build",
            reason,
            *_count_leaf_changes(previous, leaves),
            layers=layers,
            embedding=self._embedding_usage(leaves, layers),
            exact=False,
        )

    @property
    def _is_remote(self) -> bool:
        """Whether the embedder is an endpoint, which a plan does not call."""
        return self._components.settings.embedder.kind == "openai"

    def _known_vectors(self, leaves: Sequence[Node], previous: Tree | None) -> dict[str, Vectors]:
        """Return the published or cached vectors of leaves, by embedding key."""
        vectors: dict[str, Vectors] = {}
        if previous is not None:
            keys = (node.embedding_key for node in previous.layers[0].nodes)
            vectors = dict(zip(keys, previous.layers[0].vectors, strict=True))
        unknown = {n.embedding_key for n in leaves if n.embedding_key not in vectors}
        return vectors | self._known.vectors(unknown)

    def _leaf_vectors(self, leaves: Sequence[Node], previous: Tree | None) -> tuple[Vectors, bool]:
        """Return the vectors of leaves, and whether all of them come from the model."""
        vectors = self._known_vectors(leaves, previous)
        missing = {n.embedding_key: n for n in leaves if n.embedding_key not in vectors}
        exact = not (missing and self._is_remote)
        if missing and exact:
            texts = [node.embedding_text for node in missing.values()]
            vectors.update(zip(missing, self._components.embedder.embed(texts), strict=True))
        keys = [node.embedding_key for node in leaves]
        return np.stack(_fill_missing_vectors([vectors.get(key) for key in keys])), exact

    def _embedding_usage(self, leaves: Sequence[Node], layers: Sequence[LayerPlan]) -> Usage:
        """Return the cost of embedding new leaves and summaries; 0 for a local model."""
        if not self._is_remote:
            return NOTHING
        known = self._known.vectors({node.embedding_key for node in leaves})
        new = {n.embedding_key: n for n in leaves if n.embedding_key not in known}
        tokens = sum(self._components.counter.count([n.embedding_text for n in new.values()]))
        tokens += sum(layer.cost.completion_tokens for layer in layers)
        n_texts = len(new) + sum(layer.cost.calls for layer in layers)
        return estimate_embedding_cost(tokens, self._components.settings, n_texts=n_texts)


def _count_leaf_changes(previous: Tree | None, leaves: Sequence[Node]) -> tuple[int, int, int]:
    """Return the numbers of kept, new and removed leaves."""
    published = {node.id for node in layer_nodes(previous, 0)}
    n_kept = sum(node.id in published for node in leaves)
    return n_kept, len(leaves) - n_kept, len(published) - n_kept


def _fill_missing_vectors(vectors: Sequence[Vectors | None]) -> list[Vectors]:
    """Replace missing vectors by the mean direction of their neighbours."""
    known = [row for row, vector in enumerate(vectors) if vector is not None]
    return [
        _mean_of_neighbours(vectors, known, row) if vector is None else vector
        for row, vector in enumerate(vectors)
    ]


def _mean_of_neighbours(
    vectors: Sequence[Vectors | None], known: Sequence[int], row: int
) -> Vectors:
    at = int(np.searchsorted(known, row))
    neighbours = [vectors[known[k]] for k in (at - 1, at) if 0 <= k < len(known)]
    total = np.sum([vector for vector in neighbours if vector is not None], axis=0)
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32)


def _plan_removed_layers(previous: Tree, n_layers: int) -> list[LayerPlan]:
    """Return plans for the published layers above the new tree's top layer."""
    sizes = [len(layer.nodes) for layer in previous.layers]
    return [
        LayerPlan(number, n_removed=sizes[number], n_merged=sizes[number])
        for number in range(n_layers + 1, len(sizes))
    ]


def _plan_dropped_tree(name: str, previous: Tree | None) -> TreePlan:
    if previous is None:
        return TreePlan(name, "keep", reason="its documents contain no text")
    return TreePlan(
        name,
        "drop",
        n_leaves_removed=len(previous.layers[0].nodes),
        layers=tuple(_plan_removed_layers(previous, 0)),
    )
