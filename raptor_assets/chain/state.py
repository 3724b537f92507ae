"""State of a partition during a run: its documents, nodes, vectors, clusters and tables.

``PartitionCosts`` counts what the work took. The steps are in ``steps``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raptor_assets.assets.names import CHAIN_NAMES, ChainAsset
from raptor_assets.chain.context import RunContext, StoredVectorsAndTexts
from raptor_assets.shown.progress import Failure, PartitionCosts
from raptor_core.audit.report import AuditReport
from raptor_core.checks.base import CheckResult, without_quotations
from raptor_core.documents.base import Document
from raptor_core.documents.grouping import partition_key
from raptor_core.errors import DamagedTableError, DamagedTreeError, RaptorError, StoreError
from raptor_core.nodes import Layer, Node, Tree, group_nodes
from raptor_core.rebuild import TreePlan
from raptor_core.rebuild.plan import plan_tree
from raptor_core.store.store import VectorStore
from raptor_core.tables.values import table_to_clusterings, table_to_documents, table_to_nodes
from raptor_core.tree.cache import ChainedKnownContent
from raptor_core.tree.cluster import Clustering, cluster_top_layer

if TYPE_CHECKING:
    import pyarrow as pa

Nodes = dict[str, tuple[Node, ...]]  # nodes of one layer by tree, in document order

SAMPLES = ("documents", "sample_nodes", "unsupported_sentences", "trees")
"""Entries of metadata that show texts of documents or summaries."""


@dataclass(frozen=True, slots=True)
class TableRecord:
    """Version of a table, and digest of its inputs."""

    data_version: str
    inputs: str


@dataclass
class PartitionState:
    """State of one partition in a run; what no step of this run made is read from its tables."""

    name: str
    context: RunContext = field(repr=False)
    failure: Failure | None = None
    is_waiting: bool = False
    check_results: dict[ChainAsset, list[CheckResult]] = field(default_factory=dict)
    audits: dict[int, AuditReport] = field(default_factory=dict)
    plans: tuple[TreePlan, ...] = ()
    costs: PartitionCosts = field(default_factory=PartitionCosts)
    _nodes: dict[int, Nodes] = field(default_factory=dict)
    _layers: dict[int, dict[str, Layer]] = field(default_factory=dict)
    _clusterings: dict[int, dict[str, Clustering]] = field(default_factory=dict)
    _earlier_trees: dict[str, Tree | None] | None = None
    _planned_clusters: dict[str, Clustering] = field(default_factory=dict)

    def fail(self, asset: ChainAsset, error: RaptorError) -> None:
        """Stop this partition at an asset."""
        shows_texts = self.context.settings.runs.samples
        reason = str(error) if shows_texts else without_quotations(str(error))
        self.failure = Failure(asset.name, reason, type(error).__name__)

    @cached_property
    def documents(self) -> Mapping[str, tuple[Document, ...]]:
        """Documents by tree."""
        return table_to_documents(self._read_table(CHAIN_NAMES.documents))

    def nodes(self, layer: int) -> Nodes:
        """Return the nodes of a layer by tree, without the trees that end below it."""
        if layer not in self._nodes:
            is_present = self.has_layer(layer)
            nodes = (
                table_to_nodes(self._read_table(CHAIN_NAMES.node_table_asset(layer)))
                if is_present
                else ()
            )
            self.put_nodes(layer, nodes)
        return self._nodes[layer]

    def has_layer(self, layer: int) -> bool:
        """Return whether a tree of the partition has this layer."""
        return layer == 0 or (
            self.has_layer(layer - 1)
            and any(done.groups for done in self.clusterings(layer).values())
        )

    @property
    def summary_layers(self) -> list[int]:
        """Numbers of the partition's layers of summaries."""
        layers = range(1, self.context.settings.tree.max_layers + 1)
        return [layer for layer in layers if self.has_layer(layer)]

    def flat_nodes(self, layer: int) -> list[Node]:
        """Return the nodes of a layer, of all trees."""
        return [node for members in self.nodes(layer).values() for node in members]

    def nodes_below(self, tree: str, layer: int) -> list[Sequence[Node]]:
        """Return the nodes of a tree's layers below one, from the leaves up."""
        return [self.nodes(number).get(tree, ()) for number in range(layer)]

    def nodes_by_id(self, layer: int) -> dict[str, Node]:
        """Return the nodes of a layer by id, of all trees."""
        return {node.id: node for node in self.flat_nodes(layer)}

    def layers(self, layer: int) -> dict[str, Layer]:
        """Return the nodes of a layer with their vectors, by tree; all vectors must be known."""
        if layer not in self._layers:
            nodes = self.nodes(layer)
            vector_keys = {node.embedding_key for members in nodes.values() for node in members}
            vectors = {}
            if vector_keys:
                known = ChainedKnownContent(
                    self.context.components.cache, StoredVectorsAndTexts(self.context.store)
                )
                vectors = known.vectors(vector_keys)
            if missing := vector_keys - vectors.keys():
                raise StoreError(
                    f"partition {self.name!r}: {len(missing)} of {len(vector_keys)} vectors of "
                    f"layer {layer} are neither published nor kept; materialize "
                    f"{CHAIN_NAMES.embeddings(layer).name} for this partition first"
                )
            self.put_vectors(layer, vectors)
        return self._layers[layer]

    def earlier_trees(self) -> dict[str, Tree | None]:
        """Return the published tree that each tree continues from; None if none is sound."""
        if self._earlier_trees is None:
            documents = {tree: self.documents[tree] for tree in self.nodes(0)}
            self._earlier_trees = dict.fromkeys(documents)
            self.context.look_up_published(documents)
            source = self.context.published.find_source_manifest
            if any(source(tree, members) for tree, members in documents.items()):
                with self.context.store.open() as store:
                    self._earlier_trees = {
                        tree: self._earlier_tree(store, tree) for tree in documents
                    }
        return self._earlier_trees

    def _earlier_tree(self, store: VectorStore, tree: str) -> Tree | None:
        published, documents = self.context.published, self.documents[tree]
        try:
            return published.earlier_tree(store, tree, documents, self.nodes(0).__getitem__)
        except DamagedTreeError as error:
            self.context.warn(f"{error} It is built from scratch now.")
            return None

    def find_former_partitions(self) -> set[str]:
        """Return the other partitions whose published trees continue here under new names."""
        trees, source = self.documents, self.context.published.find_source_manifest
        self.context.look_up_published(trees)
        sources = (source(tree, documents) for tree, documents in trees.items())
        grouping = self.context.settings.grouping
        return {partition_key(tree.tree, grouping) for tree in sources if tree} - {self.name}

    def plan_rebuild(self) -> None:
        """Plan every tree of the partition, whose leaves are embedded."""
        plans = []
        with self.context.store.keep_open_in_block(), self.context.store.open() as store:
            earlier = self.earlier_trees()
            for tree, leaves in self.layers(0).items():
                plan, clusters = plan_tree(earlier[tree], leaves, self.context.components, store)
                plans.append(plan)
                self._planned_clusters[tree] = clusters
        self.plans = tuple(plans)

    def cluster_tree(self, layer: int, tree: str) -> Clustering:
        """Return the clusters that make a layer of a tree; layer 1 has those of the plan."""
        if layer == 1 and tree in self._planned_clusters:
            return self._planned_clusters[tree]
        layers = [self.layers(number)[tree] for number in range(layer)]
        return cluster_top_layer(tree, layers, self.context.components, self.earlier_trees()[tree])

    def clusterings(self, layer: int) -> dict[str, Clustering]:
        """Return the clusters that a layer is made of, by tree of the layer below."""
        if layer not in self._clusterings:
            self._clusterings[layer] = table_to_clusterings(
                self._read_table(CHAIN_NAMES.clusters(layer))
            )
        return self._clusterings[layer]

    def put_nodes(self, layer: int, nodes: Sequence[Node]) -> None:
        """Keep a layer's nodes of any trees, in document order within each."""
        by_tree = group_nodes(nodes, lambda node: node.tree)
        self._nodes[layer] = {tree: tuple(members) for tree, members in by_tree.items()}
        self._layers.pop(layer, None)
        self.check_results.pop(self.context.corpus_names.node_table_asset(layer), None)

    def put_vectors(self, layer: int, vectors: Mapping[str, Any]) -> None:
        """Keep the vectors of a layer, by embedding key; its nodes are kept already."""
        import numpy as np

        self._layers[layer] = {
            tree: Layer(nodes, np.stack([vectors[node.embedding_key] for node in nodes]))
            for tree, nodes in self._nodes[layer].items()
        }

    def put_clusterings(self, layer: int, clusterings: Mapping[str, Clustering]) -> None:
        """Keep the clusters that make a layer, by tree."""
        self._clusterings[layer] = dict(clusterings)

    def read_record(self, asset: ChainAsset) -> TableRecord | None:
        """Return the record of the partition's table; None if it is missing or damaged."""
        try:
            properties = self.context.tables.properties(asset.table_path, self.name)
        except DamagedTableError:
            table = f"table of {asset.table_path} for partition {self.name!r}"
            self.context.warn(f"the {table} is damaged; this run makes it again")
            return None
        if properties is None:
            return None
        return TableRecord(properties.get("data_version", ""), properties.get("inputs", ""))

    def find_reusable_version(self, asset: ChainAsset, inputs: str) -> str | None:
        """Return the data version of the partition's table if it has the same inputs."""
        record = self.read_record(asset)
        return record.data_version if record and record.inputs == inputs else None

    def save_table(self, asset: ChainAsset, table: pa.Table, version: str, inputs: str) -> None:
        """Write the partition's table with its ``TableRecord``."""
        properties = {"data_version": version, "inputs": inputs}
        self.context.tables.write(asset.table_path, self.name, table, properties)

    def _read_table(self, asset: ChainAsset) -> pa.Table:
        return self.context.tables.read(asset.table_path, self.name)


@dataclass(frozen=True)
class StepResult:
    """Result of one step for one partition, without a version if a check refused it."""

    state: PartitionState
    data_version: str | None
    metadata: Mapping[str, Any]
    n_rows: int
    is_reused: bool = False
    check_results: Sequence[CheckResult] = ()

    def without_texts(self) -> StepResult:
        """Return the result without texts of documents and summaries (``runs.samples``)."""
        metadata = {name: v for name, v in self.metadata.items() if name not in SAMPLES}
        verdicts = [verdict.without_texts() for verdict in self.check_results]
        return replace(self, metadata=metadata, check_results=verdicts)
