"""``layer_k/embeddings``: the vectors of a layer, kept until they are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.metadata import embeddings_metadata
from raptor_assets.opening import HELD_NODES, KnownStore
from raptor_assets.versions import nodes_version
from raptor_assets.work import Outcome, Work
from raptor_core.money.usage import Usage
from raptor_core.nodes import Node
from raptor_core.tree.steps import embed_nodes


class EmbeddingsStep:
    """Embeds the nodes of all partitions at once; known vectors are reused."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.embeddings(layer)

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        flat = {work.name: work.flat_nodes(bench, self.layer) for work in works}
        nodes = [node for found in flat.values() for node in found]
        embedded = embed_nodes(nodes, bench.tools, KnownStore(bench.store)) if nodes else None
        rows = embedded.vectors if embedded else ()
        known = embedded.reused if embedded else frozenset()
        vectors = dict(zip((node.embedding_key for node in nodes), rows, strict=True))
        if not self.layer and bench.is_quick and len(nodes) <= HELD_NODES:
            bench.store.hold()  # the layers above are quick too, and have fewer nodes
        for work in works:
            work.put_vectors(self.layer, vectors)
        usage = embedded.usage if embedded else Usage()
        shares = self._account(works, flat, known, usage)
        return [
            self._outcome(bench, work, flat[work.name], known, share)
            for work, share in zip(works, shares, strict=True)
        ]

    def _account(
        self,
        works: Sequence[Work],
        flat: Mapping[str, Sequence[Node]],
        known: frozenset[str],
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

    def _outcome(
        self, bench: Bench, work: Work, nodes: Sequence[Node], known: frozenset[str], usage: Usage
    ) -> Outcome:
        version = nodes_version(nodes)
        metadata = embeddings_metadata(nodes, known, bench.tools, usage)
        reused = not metadata.get("n_computed")
        return Outcome(work, version, metadata, len(nodes), reused)
