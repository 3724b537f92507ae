"""``layer_k/embeddings``: the vectors of a layer, kept until they are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets import keys
from raptor_assets.metadata import embeddings_metadata
from raptor_assets.opening import HELD_NODES, KnownStore
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_assets.versions import audited_version, nodes_version
from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.tree.embed import embed_nodes


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
