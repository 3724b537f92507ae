"""Trees over the documents of a data set, in a store that the next evaluation uses again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from statistics import mean
from typing import Any

from raptor_core.checks.sizes import compression_ratios
from raptor_core.documents.grouping import Partitions, tree_name
from raptor_core.evaluation.golden_file import Question
from raptor_core.identity import digest
from raptor_core.retrieval import Retriever
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import open_store
from raptor_core.store.base import Manifest, TreeEdition, Where
from raptor_core.store.store import VectorStore
from raptor_core.tree.build import build_trees
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.components import Components
from raptor_core.tree.publish import make_manifest
from raptor_lab.datasets.base import Dataset

TREES_AT_ONCE = 16
"""Number of trees that are built together; a stopped run keeps those of earlier batches."""
_CORPUS = "evaluation"
Progress = Callable[[int, int], None]
"""Function that is called with the number of finished trees and the number of all trees."""


@dataclass(frozen=True, eq=False)
class Index:
    """Data set, its trees in an open store, and the components that built them."""

    dataset: Dataset
    store: VectorStore
    components: Components

    @cached_property
    def retriever(self) -> Retriever:
        """Retriever over the trees."""
        return Retriever(self.store, self.components.embedder)

    @cached_property
    def manifests(self) -> Sequence[Manifest]:
        """Manifests of the trees, by name."""
        return self.store.manifests()

    @cached_property
    def n_layers(self) -> int:
        """Number of layers of the highest tree."""
        return max(len(manifest.layer_sizes) for manifest in self.manifests)

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(sum(manifest.layer_sizes) for manifest in self.manifests)

    @cached_property
    def mean_tokens(self) -> float:
        """Mean number of tokens of a node."""
        return sum(manifest.n_tokens for manifest in self.manifests) / self.n_nodes

    def filter_of(self, question: Question, *, pooled: bool) -> Where:
        """Return the filter of a question: its own document, or everything if ``pooled``."""
        if pooled or question.document is None:
            return Where()
        tree = tree_name(question.document, (), self.components.settings.grouping)
        is_whole_tree = tree == question.document
        return Where(trees=(tree,), documents=None if is_whole_tree else (question.document,))


@contextmanager
def open_or_build_index(
    dataset: Dataset,
    components: Components,
    cache: Path,
    progress: Progress | None = None,
) -> Iterator[Index]:
    """Open the trees of a data set; build those that are not cached.

    The folder in the cache is named by a digest of the documents and of every setting that a tree
    depends on. A failed build keeps the finished trees.
    """
    settings = StoreSettings(corpus=_CORPUS, lock_seconds=components.settings.store.lock_seconds)
    identity = replace(components.store_identity, corpus=_CORPUS)
    place = cache / index_key(dataset, components)
    components = components.with_cache(NodeCache(place))
    with open_store(settings, place, identity) as store:
        _build_missing(dataset, components, store, progress)
        yield Index(dataset, store, components)


def index_key(dataset: Dataset, components: Components) -> str:
    """Compute the digest of everything that the trees depend on."""
    versions = sorted(document.version for document in dataset.documents)
    settings = components.settings
    parts = (components.chunker, components.embedder, components.clusterer, components.summarizer)
    fingerprints = [part.fingerprint for part in parts]
    built = components.settings_fingerprint
    return digest("forest", built, settings.grouping.by, *fingerprints, *versions)


def _build_missing(
    dataset: Dataset,
    components: Components,
    store: VectorStore,
    progress: Progress | None,
) -> None:
    documents = sorted(dataset.documents, key=lambda document: document.id)
    partitions = Partitions(documents, components.settings.grouping)
    trees = {tree: members for part in partitions.values() for tree, members in part.items()}
    built = {short.tree for short in store.short_manifests()}
    missing = iter([name for name in trees if name not in built])
    while names := list(islice(missing, TREES_AT_ONCE)):
        new_trees = build_trees(
            {name: trees[name] for name in names}, components=components, known=store
        )
        with store.publish_together() as publishing:
            for name in names:
                tree = new_trees[name]
                manifest = make_manifest(tree, trees[name], components.settings_fingerprint)
                publishing.publish([TreeEdition(manifest, tuple(tree.nodes()), tree.vectors())])
        components.cache.forget_trees(names)
        built.update(names)
        if progress:
            progress(len(built), len(trees))
        store.optimize()


@dataclass(frozen=True, slots=True)
class TreeStatistics:
    """Sizes of several trees together, by layer from the leaves up; means are 0 without summaries.

    ``mean_ratio`` is tokens of a summary divided by tokens of its children. The paper's means
    are 6.7 children, 131 and 85.6 tokens, and a ratio of 0.28.
    """

    n_trees: int
    nodes_by_layer: tuple[int, ...]
    mean_children: float
    mean_summary_tokens: float
    mean_child_tokens: float
    mean_ratio: float

    def to_json_values(self) -> dict[str, Any]:
        """Convert the figures to rounded values for JSON."""
        rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return rounded | {"nodes_by_layer": list(self.nodes_by_layer)}


def compute_tree_statistics(index: Index) -> TreeStatistics:
    """Compute the statistics of all trees of an index, which reads every node."""
    nodes = index.store.nodes()
    summaries = [node for node in nodes if not node.is_leaf]
    measured = compression_ratios(summaries, {node.id: node for node in nodes})
    n_children = sum(len(node.children) for node, _ in measured)
    n_child_tokens = sum(node.n_tokens / ratio for node, ratio in measured)
    sizes = [manifest.layer_sizes for manifest in index.manifests]
    return TreeStatistics(
        n_trees=len(sizes),
        nodes_by_layer=tuple(map(sum, zip_longest(*sizes, fillvalue=0))),
        mean_children=n_children / len(measured) if measured else 0.0,
        mean_summary_tokens=mean(node.n_tokens for node, _ in measured) if measured else 0.0,
        mean_child_tokens=n_child_tokens / n_children if measured else 0.0,
        mean_ratio=mean(ratio for _, ratio in measured) if measured else 0.0,
    )
