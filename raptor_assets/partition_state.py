"""One partition on its way through the chain, and what each step says of it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dagster as dg

from raptor_assets import keys
from raptor_assets.progress import Failure
from raptor_assets.run_context import KnownStore, RunContext
from raptor_core.audit.report import AuditReport
from raptor_core.documents.base import Document
from raptor_core.documents.grouping import partition_key
from raptor_core.errors import DamagedTableError, DamagedTreeError, RaptorError, StoreError
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Layer, Node, Tree, grouped
from raptor_core.quality.checks import CheckResult
from raptor_core.rebuild import TreePlan
from raptor_core.rebuild.plan import plan_tree
from raptor_core.tables.values import table_to_clusterings, table_to_documents, table_to_nodes
from raptor_core.tree.cache import ChainedKnown
from raptor_core.tree.cluster import Clustering, cluster_top

if TYPE_CHECKING:
    import pyarrow as pa

Nodes = dict[str, tuple[Node, ...]]
"""Nodes of one layer by tree, in document order."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a partition's table: its data version, and of what it was made.

    ``history`` are means of the tables that stood here, oldest first, this one's last.
    """

    data_version: str
    inputs: str
    history: Sequence[Mapping[str, float]] = ()


@dataclass
class PartitionState:
    """One partition. What a step needs and no step of this run made is read from its table.

    Attributes:
        verdicts: on the summaries of a layer as they are now.
        plans: of its trees, made before their first summary.
        n_summarized, n_embedded: texts that this run wrote or embedded, which took ``usage``.
        audits: of this run, by layer; with what was judged before it was kept they took
            ``audit_usage``.
        paid: what the summaries of a layer took in this run, by content key; judging them took
            ``judged``.
        charged: all that endpoints took, by the layer that it was for.
    """

    name: str
    context: RunContext = field(repr=False)
    failure: Failure | None = None
    _nodes: dict[int, Nodes] = field(default_factory=dict)
    _layers: dict[int, dict[str, Layer]] = field(default_factory=dict)
    _clusterings: dict[int, dict[str, Clustering]] = field(default_factory=dict)
    _earlier: dict[str, Tree | None] | None = None
    _foretold: dict[str, Clustering] = field(default_factory=dict)
    verdicts: dict[int, list[CheckResult]] = field(default_factory=dict)
    audits: dict[int, AuditReport] = field(default_factory=dict)
    plans: tuple[TreePlan, ...] = ()
    n_summarized: int = 0
    n_embedded: int = 0
    usage: Usage = field(default_factory=Usage)
    audit_usage: Usage = field(default_factory=Usage)
    paid: dict[int, dict[str, Usage]] = field(default_factory=dict)
    judged: defaultdict[int, Usage] = field(default_factory=lambda: defaultdict(Usage))
    charged: defaultdict[int, Usage] = field(default_factory=lambda: defaultdict(Usage))

    def pay(self, layer: int, paid: Mapping[str, Usage], judged: Usage) -> None:
        """Count what summaries took, by content key, and what judging them took."""
        known = self.paid.setdefault(layer, {})
        known |= {key: known.get(key, Usage()) + usage for key, usage in paid.items()}
        self.usage += sum(paid.values(), Usage())
        self.judged[layer] += judged
        self.audit_usage += judged

    def fail(self, key: dg.AssetKey, error: RaptorError) -> None:
        """Stop this partition at an asset."""
        self.failure = Failure(key.to_user_string(), str(error), type(error).__name__)

    @cached_property
    def documents(self) -> Mapping[str, tuple[Document, ...]]:
        """Documents by tree."""
        return table_to_documents(self._read(keys.DOCUMENTS))

    def nodes(self, layer: int) -> Nodes:
        """Nodes of a layer by tree; a tree that ended below is left out."""
        if layer not in self._nodes:
            is_there = self.has_layer(layer)
            nodes = table_to_nodes(self._read(keys.nodes(layer))) if is_there else ()
            self.put_nodes(layer, nodes)
        return self._nodes[layer]

    def has_layer(self, layer: int) -> bool:
        """Whether a tree of the partition goes on to a layer; above, it has no tables."""
        return layer == 0 or (
            self.has_layer(layer - 1)
            and any(done.groups for done in self.clusterings(layer).values())
        )

    @property
    def summary_layers(self) -> list[int]:
        """Numbers of the layers of summaries that the partition has."""
        layers = range(1, self.context.settings.tree.max_layers + 1)
        return [layer for layer in layers if self.has_layer(layer)]

    def audited(self, layer: int) -> str:
        """Version of the findings on a layer of summaries; empty where it was never audited."""
        properties = self.context.tables.properties(keys.findings(layer).path, self.name)
        return properties.get("data_version", "") if properties else ""

    def flat_nodes(self, layer: int) -> list[Node]:
        """Nodes of a layer, of all trees."""
        return [node for members in self.nodes(layer).values() for node in members]

    def layers(self, layer: int) -> dict[str, Layer]:
        """Nodes of a layer with their vectors, by tree.

        Raises:
            StoreError: a vector is neither published nor kept.
        """
        if layer not in self._layers:
            nodes = self.nodes(layer)
            wanted = {node.embedding_key for members in nodes.values() for node in members}
            vectors = {}
            if wanted:
                known = ChainedKnown(self.context.components.cache, KnownStore(self.context.store))
                vectors = known.vectors(wanted)
            if missing := wanted - vectors.keys():
                raise StoreError(
                    f"partition {self.name!r}: {len(missing)} of {len(wanted)} vectors of layer "
                    f"{layer} are neither published nor kept; materialize "
                    f"{keys.embeddings(layer).to_user_string()} for this partition first"
                )
            self.put_vectors(layer, vectors)
        return self._layers[layer]

    def earlier(self) -> dict[str, Tree | None]:
        """What the partition's trees go on from, with vectors; read once in a run.

        A tree that is damaged is warned of, and built from scratch.
        """
        if self._earlier is None:
            leaves = self.nodes(0)
            documents = {tree: self.documents[tree] for tree in leaves}
            self._earlier = dict.fromkeys(documents)
            self.context.look_up(documents)
            published = self.context.published
            if any(published.source(tree, members) for tree, members in documents.items()):
                with self.context.store.open() as store:
                    for tree, members in documents.items():
                        try:
                            self._earlier[tree] = published.earlier_tree(
                                store, tree, members, leaves.__getitem__
                            )
                        except DamagedTreeError as error:
                            self.context.warn(f"{error} It is built from scratch now.")
        return self._earlier

    @property
    def before(self) -> Mapping[str, Tree | None]:
        """What ``earlier`` gave in this run: nothing where no tree had to be planned."""
        return self._earlier or {}

    def sources(self) -> set[str]:
        """Other partitions whose published trees this one's go on from under new names."""
        trees = self.documents
        self.context.look_up(trees)
        sources = (
            self.context.published.source(tree, documents) for tree, documents in trees.items()
        )
        grouping = self.context.settings.grouping
        names = {partition_key(source.tree, grouping) for source in sources if source}
        return names - {self.name}

    def foresee(self) -> None:
        """Plan every tree of the partition, whose leaves are embedded."""
        earlier = self.earlier()
        plans = []
        with self.context.store.open() as store:
            for tree, leaves in self.layers(0).items():
                plan, clusters = plan_tree(earlier[tree], leaves, self.context.components, store)
                plans.append(plan)
                if clusters:
                    self._foretold[tree] = clusters
        self.plans = tuple(plans)

    def cluster(self, layer: int, tree: str) -> Clustering:
        """The clusters that a layer of a tree is made of; over the leaves, the plan's."""
        if layer == 1 and tree in self._foretold:
            return self._foretold[tree]
        layers = [self.layers(number)[tree] for number in range(layer)]
        return cluster_top(tree, layers, self.context.components, self.earlier()[tree])

    def clusterings(self, layer: int) -> dict[str, Clustering]:
        """Clusters that a layer is made of, by tree of the layer below."""
        if layer not in self._clusterings:
            table = self._read(keys.clusters(layer))
            self._clusterings[layer] = table_to_clusterings(table)
        return self._clusterings[layer]

    def put_nodes(self, layer: int, nodes: Sequence[Node]) -> None:
        """Keep what a step made; ``nodes`` of any trees, in document order within each."""
        by_tree = grouped(nodes, lambda node: node.tree)
        self._nodes[layer] = {tree: tuple(members) for tree, members in by_tree.items()}
        self._layers.pop(layer, None)
        self.verdicts.pop(layer, None)

    def put_vectors(self, layer: int, vectors: Mapping[str, Any]) -> None:
        """Keep the vectors of a layer whose nodes are known, by embedding key."""
        import numpy as np

        self._layers[layer] = {
            tree: Layer(nodes, np.stack([vectors[node.embedding_key] for node in nodes]))
            for tree, nodes in self._nodes[layer].items()
        }

    def put_clusterings(self, layer: int, clusterings: Mapping[str, Clustering]) -> None:
        """Keep what a step made."""
        self._clusterings[layer] = dict(clusterings)

    def recorded(self, key: dg.AssetKey) -> Record | None:
        """The record of the partition's table; None where there is none.

        A damaged table counts as none and is warned of: the step writes it anew.
        """
        try:
            properties = self.context.tables.properties(key.path, self.name)
        except DamagedTableError as error:
            self.context.warn(f"{error} It is made again now.")
            return None
        if properties is None:
            return None
        history = json.loads(properties.get("history", "[]"))
        return Record(properties.get("data_version", ""), properties.get("inputs", ""), history)

    def recorded_version(self, key: dg.AssetKey, inputs: str) -> str | None:
        """Data version of the partition's table when it was made from the same inputs."""
        record = self.recorded(key)
        return record.data_version if record and record.inputs == inputs else None

    def save(
        self,
        key: dg.AssetKey,
        table: pa.Table,
        version: str,
        inputs: str,
        history: Sequence[Mapping[str, float]] = (),
    ) -> None:
        """Write the partition's table with what ``recorded`` gives back of it."""
        properties = {"data_version": version, "inputs": inputs}
        if history:
            properties["history"] = json.dumps([dict(means) for means in history])
        self.context.tables.write(key.path, self.name, table, properties)

    def _read(self, key: dg.AssetKey) -> pa.Table:
        return self.context.tables.read(key.path, self.name)


@dataclass(frozen=True)
class StepResult:
    """What one step made of one partition.

    ``data_version`` is None when a check refused the result, which is then not materialized.
    ``metadata`` are raw metadata values. ``reused`` says that nothing had to be computed.
    ``verdicts`` are those of the asset's checks, empty where it has none.
    """

    state: PartitionState
    data_version: str | None
    metadata: Mapping[str, Any]
    n_rows: int
    reused: bool = False
    verdicts: Sequence[CheckResult] = ()
