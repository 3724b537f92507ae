"""``layer_k/clusters``: the clusters over the layer below."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from raptor_assets import keys
from raptor_assets.metadata import clusters_metadata
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_assets.steps.base import EachAlone, inputs_digest
from raptor_assets.versions import clusters_version
from raptor_core.documents.base import Document
from raptor_core.errors import TableError
from raptor_core.tables.values import clusterings_to_table
from raptor_core.tree.earlier import earlier_clusters


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
