"""``layer_k/embeddings``: the vectors of a layer, staged in the vector store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.metadata import embeddings_metadata
from raptor_assets.opening import HELD_NODES, StoreCache
from raptor_assets.versions import nodes_version
from raptor_assets.work import Outcome, Work
from raptor_core.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.tree.steps import embed_nodes


class EmbeddingsStep:
    """Embeds the nodes of all partitions at once; known vectors are taken from the store."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.embeddings(layer)

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        flat = {work.name: work.flat_nodes(bench, self.layer) for work in works}
        nodes = [node for found in flat.values() for node in found]
        with StoreCache(bench.store, hold=self._is_short(bench, nodes)) as cache:
            embedded = embed_nodes(nodes, bench.tools, cache) if nodes else None
        rows = embedded.vectors if embedded else ()
        vectors = dict(zip((node.embedding_key for node in nodes), rows, strict=True))
        if not self.layer and bench.is_quick and len(nodes) <= HELD_NODES:
            bench.store.hold()  # the layers above are quick too, and have fewer nodes
        for work in works:
            work.put_vectors(self.layer, vectors)
        usage = embedded.usage if embedded else Usage()
        shares = self._account(works, flat, cache.known, usage)
        return [
            self._outcome(bench, work, flat[work.name], cache.known, share)
            for work, share in zip(works, shares, strict=True)
        ]

    def _account(
        self,
        works: Sequence[Work],
        flat: Mapping[str, Sequence[Node]],
        known: set[str],
        usage: Usage,
    ) -> list[Usage]:
        """Share out what the texts of all partitions took, by their number."""
        computed = [len({node.embedding_key for node in flat[work.name]} - known) for work in works]
        shares = usage.shares(computed)
        for work, n_computed, share in zip(works, computed, shares, strict=True):
            work.n_embedded += n_computed
            work.usage += share
            work.charge(self.layer, share)
        return shares

    def _is_short(self, bench: Bench, nodes: Sequence[Node]) -> bool:
        return bench.settings.embedder.kind != "openai" and len(nodes) <= HELD_NODES

    def _outcome(
        self, bench: Bench, work: Work, nodes: Sequence[Node], known: set[str], usage: Usage
    ) -> Outcome:
        version = nodes_version(nodes)
        metadata = embeddings_metadata(nodes, known, bench.tools, usage)
        reused = not metadata.get("n_computed")
        return Outcome(work, version, metadata, len(nodes), reused)
