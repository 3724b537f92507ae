"""``layer_k/clusters``: the clusters over the layer below."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.metadata import clusters_metadata
from raptor_assets.steps.base import inputs_digest, recorded, save
from raptor_assets.versions import clusters_version
from raptor_assets.work import Outcome, Work
from raptor_core.documents.base import Document
from raptor_core.errors import RaptorError, TableError
from raptor_core.tables import clusterings_to_table
from raptor_core.tree.earlier import earlier_clusters


class ClustersStep:
    """Clusters every tree that goes on above the layer below."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.clusters(layer)

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        if self.layer == 1:
            _look_up(bench, works)
        outcomes = []
        for work in works:
            try:
                outcomes.append(self._cluster(bench, work))
            except RaptorError as error:
                work.fail(self.key, error)
        return outcomes

    def _cluster(self, bench: Bench, work: Work) -> Outcome:
        if self.layer == 1:
            work.foresee(bench)
        inputs = inputs_digest(bench, self.key, *self._input(bench, work))
        before = recorded(bench, self.key, work)
        version = before.data_version if before else ""
        if not before or before.inputs != inputs:
            done = {
                tree: work.cluster(bench, self.layer, tree)
                for tree in work.nodes(bench, self.layer - 1)
            }
            work.put_clusterings(self.layer, done)
            version = clusters_version(list(done.values()))
            save(bench, self.key, work, clusterings_to_table(done.values()), version, inputs)
        reused = before is not None and before.data_version == version
        found = list(work.clusterings(bench, self.layer).values())
        below = {} if reused else work.layers(bench, self.layer - 1)
        metadata = clusters_metadata(found, below, pictured=not reused)
        return Outcome(work, version, metadata, metadata["n_clusters"], reused)

    def _input(self, bench: Bench, work: Work) -> list[str]:
        """All that the clusters depend on: vectors, tokens and order, not the rest of a node.

        And the clusters of the published tree, since they are kept.
        """
        found = [
            f"{tree}\0{node.id}\0{node.embedding_key}\0{node.n_tokens}"
            for tree, nodes in work.nodes(bench, self.layer - 1).items()
            for node in nodes
        ]
        for tree, published in work.earlier(bench).items():
            earlier = earlier_clusters(published, self.layer - 1)
            found.append(f"{tree}\0{earlier.digest if earlier else ''}")
        return found


def _look_up(bench: Bench, works: Sequence[Work]) -> None:
    """What the trees of all partitions go on from, at once: each look-up opens the store."""
    trees: dict[str, Sequence[Document]] = {}
    for work in works:
        with suppress(TableError):  # it is raised again, and told, in this partition's turn
            trees |= work.documents(bench)
    bench.look_up(trees)
