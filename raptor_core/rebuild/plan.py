"""What a rebuild will do: nodes kept, added and removed, clusters touched, calls, tokens, money.

The arrangement of a tree that goes on from its published state follows from its leaves alone
(``raptor_core.tree.cluster``), so its calls are foretold exactly; the texts' lengths, and so the
tokens, are expected ones. A tree that is built from scratch is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from raptor_core.documents.base import Document
from raptor_core.models.money.usage import Cost, embedding_cost
from raptor_core.models.summarizing.prompts import prompt_overhead
from raptor_core.nodes import Layer, Node, Tree
from raptor_core.rebuild.foresee import (
    children_per_parent,
    estimated_layers,
    foresee,
    layer_plans,
)
from raptor_core.rebuild.values import NOTHING, LayerPlan, RebuildPlan, TreePlan, nodes_of
from raptor_core.settings import Settings
from raptor_core.tree.cache import ChainedKnown, Known, MemoryCache
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
    known: Known | None = None,
) -> RebuildPlan:
    """What it takes to bring ``previous`` in step with ``documents``. Writes nothing, pays nothing.

    A local model embeds the new leaves of trees that go on. An endpoint is not asked: such a leaf
    is placed like those beside it, and the plan is an estimate.

    Args:
        previous: the published trees by name.
        documents: what the trees are to hold, by tree; a tree without documents is dropped.
        settings: None for the defaults, or for those of ``components``.
        components: parts to plan with, for example to share a loaded model.
        known: what is published, for example an open store; the components' cache is known besides.

    Raises:
        RaptorError: as chunker, embedder and clusterer do.
    """
    components = Components.either(settings, components)
    planner = _Planner(previous, components, known if known is not None else MemoryCache())
    return RebuildPlan(
        tuple(
            planner.tree(name, documents.get(name, ())) for name in sorted({*previous, *documents})
        )
    )


def plan_tree(
    previous: Tree | None, leaves: Layer, components: Components, known: Known
) -> tuple[TreePlan, Clustering | None]:
    """The plan of one tree whose leaves are embedded; ``leaves`` are at least one.

    Also the clusters over the leaves, which a tree that goes on has from its plan.
    """
    planner = _Planner({previous.name: previous} if previous else {}, components, known)
    reason = why_from_scratch(previous, leaves.nodes, components)
    if previous is None or reason:
        return planner.estimated(leaves.nodes[0].tree, leaves.nodes, reason), None
    return planner.foretold(previous, leaves, exact=True)


class _Planner:
    """Plans trees with the same components."""

    def __init__(self, previous: Mapping[str, Tree], components: Components, known: Known) -> None:
        self._previous = previous
        self._components = components
        self._known = ChainedKnown(components.curation, known, components.cache)
        self._children = children_per_parent(previous.values(), components.settings)

    @cached_property
    def _overhead(self) -> int:
        """Counting it loads a tokenizer, which nothing needs where no tree changes."""
        return prompt_overhead(self._components.settings.summarizer, self._components.counter)

    def tree(self, name: str, documents: Sequence[Document]) -> TreePlan:
        """The plan of one tree."""
        previous = self._previous.get(name)
        leaves = make_leaves(name, documents, self._components) if documents else ()
        if not leaves:
            return _dropped(name, previous)
        reason = why_from_scratch(previous, leaves, self._components)
        if previous is None or reason:
            return self.estimated(name, leaves, reason)
        vectors, exact = self._vectors(leaves, previous)
        return self.foretold(previous, Layer(leaves, vectors), exact=exact)[0]

    def foretold(
        self, previous: Tree, leaves: Layer, *, exact: bool
    ) -> tuple[TreePlan, Clustering]:
        """The plan of a tree that goes on, and the clusters over its leaves."""
        found, top = foresee(previous, leaves, self._components, self._known)
        plans = layer_plans(previous, leaves, found, self._components, self._overhead)
        layers = (*plans, *_vanished(previous, len(found)))
        n_kept, n_added, n_removed = _leaf_counts(previous, leaves.nodes)
        touched = any(layer.n_added or layer.n_removed for layer in layers)
        plan = TreePlan(
            tree=previous.name,
            action="rebuild" if touched or n_added or n_removed else "keep",
            n_leaves_kept=n_kept,
            n_leaves_added=n_added,
            n_leaves_removed=n_removed,
            layers=layers,
            embedding=self._embedding(leaves.nodes, layers),
            exact=exact,
            end=top.end.reason if top.end else "",
        )
        return plan, found[0].clustering if found else top

    def estimated(self, name: str, leaves: Sequence[Node], reason: str) -> TreePlan:
        """The plan of a tree that is built from scratch for a reason."""
        previous = self._previous.get(name)
        layers = tuple(
            estimated_layers(
                leaves, previous, self._children, self._components.settings, self._overhead
            )
        )
        n_kept, n_added, n_removed = _leaf_counts(previous, leaves)
        return TreePlan(
            tree=name,
            action="rebuild" if previous else "build",
            reason=reason,
            n_leaves_kept=n_kept,
            n_leaves_added=n_added,
            n_leaves_removed=n_removed,
            layers=layers,
            embedding=self._embedding(leaves, layers),
            exact=False,
        )

    def _vectors(self, leaves: Sequence[Node], previous: Tree) -> tuple[Vectors, bool]:
        """Vectors of leaves, and whether all of them are what the model says."""
        below = previous.layers[0]
        found = {n.embedding_key: v for n, v in zip(below.nodes, below.vectors, strict=True)}
        unknown = {n.embedding_key for n in leaves if n.embedding_key not in found}
        found.update(self._known.vectors(unknown))
        missing = {n.embedding_key: n for n in leaves if n.embedding_key not in found}
        exact = not missing or self._components.settings.embedder.kind != "openai"
        if missing and exact:
            texts = [node.embedding_text for node in missing.values()]
            found.update(zip(missing, self._components.embedder.embed(texts), strict=True))
        keys = [node.embedding_key for node in leaves]
        return np.stack(_filled([found.get(key) for key in keys])), exact

    def _embedding(self, leaves: Sequence[Node], layers: Sequence[LayerPlan]) -> Cost:
        """New leaves, and the summaries that are made; nothing where no endpoint is called."""
        if self._components.settings.embedder.kind != "openai":
            return NOTHING
        known = self._known.vectors({node.embedding_key for node in leaves})
        fresh = {n.embedding_key: n for n in leaves if n.embedding_key not in known}
        tokens = sum(self._components.counter.count([n.embedding_text for n in fresh.values()]))
        tokens += sum(layer.cost.completion_tokens for layer in layers)
        n_texts = len(fresh) + sum(layer.cost.calls for layer in layers)
        return embedding_cost(tokens, self._components.settings, n_texts=n_texts)


def _leaf_counts(previous: Tree | None, leaves: Sequence[Node]) -> tuple[int, int, int]:
    """Leaves that stay, that come, and that go."""
    before = {node.id for node in nodes_of(previous, 0)}
    n_kept = sum(node.id in before for node in leaves)
    return n_kept, len(leaves) - n_kept, len(before) - n_kept


def _filled(vectors: Sequence[Vectors | None]) -> list[Vectors]:
    """The vectors, a missing one replaced by the mean direction of those next to it."""
    known = [row for row, vector in enumerate(vectors) if vector is not None]
    return [
        _beside(vectors, known, row) if vector is None else vector
        for row, vector in enumerate(vectors)
    ]


def _beside(vectors: Sequence[Vectors | None], known: Sequence[int], row: int) -> Vectors:
    at = int(np.searchsorted(known, row))
    neighbours = [vectors[known[k]] for k in (at - 1, at) if 0 <= k < len(known)]
    total = np.sum([vector for vector in neighbours if vector is not None], axis=0)
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32)


def _vanished(previous: Tree, n_layers: int) -> list[LayerPlan]:
    """Layers of the published tree that the new one does not reach."""
    sizes = [len(layer.nodes) for layer in previous.layers]
    return [
        LayerPlan(number, n_removed=sizes[number], n_merged=sizes[number])
        for number in range(n_layers + 1, len(sizes))
    ]


def _dropped(name: str, previous: Tree | None) -> TreePlan:
    if previous is None:
        return TreePlan(name, "keep", reason="its documents hold no text")
    return TreePlan(
        name,
        "drop",
        n_leaves_removed=len(previous.layers[0].nodes),
        layers=tuple(_vanished(previous, 0)),
    )
