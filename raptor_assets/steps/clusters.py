"""``layer_k/clusters``: the clusters over the layer below."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from raptor_assets import keys
from raptor_assets.metadata import clusters_metadata
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_assets.steps.base import inputs_digest, recorded, save
from raptor_assets.versions import clusters_version
from raptor_core.documents.base import Document
from raptor_core.errors import RaptorError, TableError
from raptor_core.tables import clusterings_to_table
from raptor_core.tree.earlier import earlier_clusters


class ClustersStep:
    """Clusters every tree that goes on above the layer below."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.clusters(layer)

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        if self.layer == 1:
            _look_up(context, states)
        results = []
        for state in states:
            try:
                results.append(self._cluster(context, state))
            except RaptorError as error:
                state.fail(self.key, error)
        return results

    def _cluster(self, context: RunContext, state: PartitionState) -> StepResult:
        if self.layer == 1:
            state.foresee(context)
        inputs = inputs_digest(context, self.key, *self._input(context, state))
        before = recorded(context, self.key, state)
        version = before.data_version if before else ""
        if not before or before.inputs != inputs:
            done = {
                tree: state.cluster(context, self.layer, tree)
                for tree in state.nodes(context, self.layer - 1)
            }
            state.put_clusterings(self.layer, done)
            version = clusters_version(list(done.values()))
            save(context, self.key, state, clusterings_to_table(done.values()), version, inputs)
        reused = before is not None and before.data_version == version
        found = list(state.clusterings(context, self.layer).values())
        below = {} if reused else state.layers(context, self.layer - 1)
        metadata = clusters_metadata(found, below, pictured=not reused)
        return StepResult(state, version, metadata, metadata["n_clusters"], reused)

    def _input(self, context: RunContext, state: PartitionState) -> list[str]:
        """All that the clusters depend on: vectors, tokens and order, not the rest of a node.

        And the clusters of the published tree, since they are kept.
        """
        found = [
            f"{tree}\0{node.id}\0{node.embedding_key}\0{node.n_tokens}"
            for tree, nodes in state.nodes(context, self.layer - 1).items()
            for node in nodes
        ]
        for tree, published in state.earlier(context).items():
            earlier = earlier_clusters(published, self.layer - 1)
            found.append(f"{tree}\0{earlier.digest if earlier else ''}")
        return found


def _look_up(context: RunContext, states: Sequence[PartitionState]) -> None:
    """What the trees of all partitions go on from, at once: each look-up opens the store."""
    trees: dict[str, Sequence[Document]] = {}
    for state in states:
        with suppress(TableError):  # it is raised again, and told, in this partition's turn
            trees |= state.documents(context)
    context.look_up(trees)
