"""The trees over a data set's documents in a store of their own, kept for the next evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from statistics import mean
from typing import Any

from raptor_core.documents.grouping import Partitions, tree_name
from raptor_core.evaluation.datasets.base import Dataset, Question
from raptor_core.identity import digest
from raptor_core.nodes import Tree
from raptor_core.quality.sizes import compressions
from raptor_core.retrieval import Retriever
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import open_store
from raptor_core.store.base import Edition, Manifest, Where
from raptor_core.store.store import VectorStore
from raptor_core.tokens import TokenCounter
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components
from raptor_core.tree.publish import make_manifest
from raptor_core.tree.sqlite_cache import SqliteCache

TREES_AT_ONCE = 16
"""Trees that are built side by side; those of a killed run that were finished are kept."""

_CORPUS = "evaluation"

Progress = Callable[[int, int], None]
"""Called with the trees that are built and the trees of the data set."""


@dataclass(frozen=True, eq=False)
class Index:
    """A data set with its trees in an open store, and what they were built with."""

    dataset: Dataset
    store: VectorStore
    components: Components

    @cached_property
    def retriever(self) -> Retriever:
        """Searches the trees."""
        return Retriever(self.store, self.components.embedder)

    @cached_property
    def manifests(self) -> Sequence[Manifest]:
        """What is published, by tree name."""
        return self.store.manifests()

    @cached_property
    def n_layers(self) -> int:
        """Layers of the highest tree."""
        return max(len(manifest.layer_sizes) for manifest in self.manifests)

    @cached_property
    def n_nodes(self) -> int:
        """Nodes of all trees."""
        return sum(sum(manifest.layer_sizes) for manifest in self.manifests)

    @cached_property
    def mean_tokens(self) -> float:
        """Tokens of a node."""
        return sum(manifest.n_tokens for manifest in self.manifests) / self.n_nodes

    def where(self, question: Question, *, pooled: bool) -> Where:
        """What a question is asked of: its own document, or everything."""
        if pooled or question.document is None:
            return Where()
        tree = tree_name(question.document, self.components.settings.grouping)
        alone = tree == question.document
        return Where(trees=(tree,), documents=None if alone else (question.document,))


@contextmanager
def open_index(
    dataset: Dataset,
    components: Components,
    cache: Path,
    progress: Progress | None = None,
    counter: TokenCounter | None = None,
) -> Iterator[Index]:
    """The trees of a data set, from the cache where they are there, else built and kept there.

    The place in the cache is named by the documents and by every setting that a tree depends on. A
    build that fails keeps the trees that are finished. ``counter`` tells a node's tokens, so that
    budgets mean the same in indexes whose limits count otherwise; None is that of ``components``,
    which cuts the chunks.
    """
    counter = counter or components.counter
    settings = StoreSettings(corpus=_CORPUS, lock_seconds=components.settings.store.lock_seconds)
    identity = replace(components.store_identity, corpus=_CORPUS)
    place = cache / index_key(dataset, components, counter)
    components = components.with_cache(SqliteCache(place))
    with open_store(settings, place, identity) as store:
        _build_missing(dataset, components, counter, store, progress)
        yield Index(dataset, store, components)


def index_key(dataset: Dataset, components: Components, counter: TokenCounter | None = None) -> str:
    """Digest of everything that the trees depend on, whatever the file is called.

    ``counter`` is that of ``open_index``.
    """
    versions = sorted(document.version for document in dataset.documents)
    settings = components.settings
    parts = (components.chunker, components.embedder, components.clusterer, components.summarizer)
    made_by = [part.fingerprint for part in parts]
    if counter and counter.fingerprint != components.counter.fingerprint:
        made_by.append(counter.fingerprint)
    return digest(
        "forest", components.settings_fingerprint, settings.grouping.by, *made_by, *versions
    )


def _build_missing(
    dataset: Dataset,
    components: Components,
    counter: TokenCounter,
    store: VectorStore,
    progress: Progress | None,
) -> None:
    documents = sorted(dataset.documents, key=lambda document: document.id)
    partitions = Partitions(documents, components.settings.grouping)
    trees = {tree: members for of in partitions.values() for tree, members in of.items()}
    built = {mark.tree for mark in store.marks()}
    missing = iter([name for name in trees if name not in built])
    while names := list(islice(missing, TREES_AT_ONCE)):
        made = build_trees(
            {name: trees[name] for name in names}, components=components, known=store
        )
        with store.publishing() as publishing:
            for name in names:
                tree = _told_by(counter, made[name], components)
                manifest = make_manifest(tree, trees[name], components.settings_fingerprint)
                edition = Edition(manifest, tuple(tree.nodes()), tree.vectors())
                publishing.publish([edition])
        components.cache.forget(names)
        built.update(names)
        if progress:
            progress(len(built), len(trees))
        store.optimize()


def _told_by(counter: TokenCounter, tree: Tree, components: Components) -> Tree:
    """The tree with its nodes' tokens as another counter counts them."""
    if counter.fingerprint == components.counter.fingerprint:
        return tree
    layers = []
    for layer in tree.layers:
        counts = counter.count([node.text for node in layer.nodes])
        nodes = (replace(node, n_tokens=n) for node, n in zip(layer.nodes, counts, strict=True))
        layers.append(replace(layer, nodes=tuple(nodes)))
    return replace(tree, layers=tuple(layers))


@dataclass(frozen=True, slots=True)
class TreeStatistics:
    """All trees together, from the leaves up; the means are 0 where no tree has a summary.

    ``mean_ratio`` is of a summary's tokens over its children's. The paper's means are 6.7, 131,
    85.6 and 0.28.
    """

    n_trees: int
    nodes_by_layer: tuple[int, ...]
    mean_children: float
    mean_summary_tokens: float
    mean_child_tokens: float
    mean_ratio: float

    def values(self) -> dict[str, Any]:
        """The figures as plain values, rounded."""
        rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return rounded | {"nodes_by_layer": list(self.nodes_by_layer)}


def tree_statistics(index: Index) -> TreeStatistics:
    """The statistics of an index's trees; all nodes are read."""
    nodes = index.store.nodes()
    summaries = [node for node in nodes if not node.is_leaf]
    measured = compressions(summaries, {node.id: node for node in nodes})
    n_children = sum(len(one.node.children) for one in measured)
    sizes = [manifest.layer_sizes for manifest in index.manifests]
    return TreeStatistics(
        n_trees=len(sizes),
        nodes_by_layer=tuple(map(sum, zip_longest(*sizes, fillvalue=0))),
        mean_children=n_children / len(measured) if measured else 0.0,
        mean_summary_tokens=mean(s.node.n_tokens for s in measured) if measured else 0.0,
        mean_child_tokens=sum(s.child_tokens for s in measured) / n_children if measured else 0.0,
        mean_ratio=mean(s.ratio for s in measured) if measured else 0.0,
    )


def pooled(trees: Sequence[TreeStatistics]) -> TreeStatistics:
    """The statistics of all trees of several; a summary of any weighs the same."""
    layers = [one.nodes_by_layer for one in trees]
    summaries = [sum(sizes[1:]) for sizes in layers]
    children = [n * one.mean_children for n, one in zip(summaries, trees, strict=True)]
    return TreeStatistics(
        n_trees=sum(one.n_trees for one in trees),
        nodes_by_layer=tuple(map(sum, zip_longest(*layers, fillvalue=0))),
        mean_children=_weighted_mean([one.mean_children for one in trees], summaries),
        mean_summary_tokens=_weighted_mean([one.mean_summary_tokens for one in trees], summaries),
        mean_child_tokens=_weighted_mean([one.mean_child_tokens for one in trees], children),
        mean_ratio=_weighted_mean([one.mean_ratio for one in trees], summaries),
    )


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total else 0.0
