"""``layer_k/clusters`` and ``layer_k/embeddings``: clusters over a layer, vectors of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from raptor_assets import keys
from raptor_assets.metadata import clusters_metadata, embeddings_metadata
from raptor_assets.opening import HELD_NODES, KnownStore
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_assets.steps.base import EachAlone, inputs_digest
from raptor_assets.versions import audited_version, clusters_version, nodes_version
from raptor_core.documents.base import Document
from raptor_core.errors import TableError
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.tables.values import clusterings_to_table
from raptor_core.tree.earlier import earlier_clusters
from raptor_core.tree.embed import embed_nodes


class ClustersStep(EachAlone):
    """Clusters every tree that goes on above the layer below."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.clusters(layer)

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        if self.layer == 1:
            _look_up(context, states)
        return super().run(context, states)

    def make(self, state: PartitionState) -> StepResult:
        """See ``EachAlone.make``."""
        if self.layer == 1:
            state.foresee()
        inputs = inputs_digest(state.context, self.key, *self._input(state))
        before = state.recorded(self.key)
        version = before.data_version if before else ""
        if not before or before.inputs != inputs:
            done = {tree: state.cluster(self.layer, tree) for tree in state.nodes(self.layer - 1)}
            state.put_clusterings(self.layer, done)
            version = clusters_version(list(done.values()))
            state.save(self.key, clusterings_to_table(done.values()), version, inputs)
        reused = before is not None and before.data_version == version
        clusterings = list(state.clusterings(self.layer).values())
        below = {} if reused else state.layers(self.layer - 1)
        metadata = clusters_metadata(clusterings, below, pictured=not reused)
        return StepResult(state, version, metadata, metadata["n_clusters"], reused)

    def _input(self, state: PartitionState) -> list[str]:
        """All that the clusters depend on: vectors, tokens and order, not the rest of a node.

        And the clusters of the published tree, since they are kept.
        """
        lines = [
            f"{tree}\0{node.id}\0{node.embedding_key}\0{node.n_tokens}"
            for tree, nodes in state.nodes(self.layer - 1).items()
            for node in nodes
        ]
        for tree, published in state.earlier().items():
            earlier = earlier_clusters(published, self.layer - 1)
            lines.append(f"{tree}\0{earlier.digest if earlier else ''}")
        return lines


def _look_up(context: RunContext, states: Sequence[PartitionState]) -> None:
    """What the trees of all partitions go on from, at once: each look-up opens the store."""
    trees: dict[str, Sequence[Document]] = {}
    for state in states:
        with suppress(TableError):  # it is raised again, and told, in this partition's turn
            trees |= state.documents()
    context.look_up(trees)


class EmbeddingsStep:
    """Embeds the nodes of all partitions at once; known vectors are reused."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.embeddings(layer)

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        flat = {state.name: state.flat_nodes(self.layer) for state in states}
        nodes = [node for members in flat.values() for node in members]
        known_store = KnownStore(context.store)
        embedded = (
            embed_nodes(nodes, context.components, known_store, context.working) if nodes else None
        )
        rows = embedded.vectors if embedded else ()
        known = embedded.reused if embedded else frozenset()
        vectors = dict(zip((node.embedding_key for node in nodes), rows, strict=True))
        if not self.layer and context.is_quick and len(nodes) <= HELD_NODES:
            context.store.hold()  # the layers above are quick too, and have fewer nodes
        for state in states:
            state.put_vectors(self.layer, vectors)
        usage = embedded.usage if embedded else Usage()
        shares = self._account(states, flat, known, usage)
        return [
            self._result(state, flat[state.name], known, share)
            for state, share in zip(states, shares, strict=True)
        ]

    def _account(
        self,
        states: Sequence[PartitionState],
        flat: Mapping[str, Sequence[Node]],
        known: frozenset[str],
        usage: Usage,
    ) -> list[Usage]:
        """Share out what the texts of all partitions took, by their number."""
        computed = [
            len({node.embedding_key for node in flat[state.name]} - known) for state in states
        ]
        shares = usage.shares(computed)
        for state, n_computed, share in zip(states, computed, shares, strict=True):
            state.n_embedded += n_computed
            state.usage += share
            state.charge(self.layer, share)
        return shares

    def _result(
        self, state: PartitionState, nodes: Sequence[Node], known: frozenset[str], usage: Usage
    ) -> StepResult:
        version = nodes_version(nodes)
        if self.layer:
            version = audited_version(version, [state.audited(self.layer)])
        metadata = embeddings_metadata(nodes, known, state.context.components, usage)
        reused = not metadata.get("n_computed")
        return StepResult(state, version, metadata, len(nodes), reused)
