"""``layer_k/clusters``: the clusters over the layer below."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.metadata import clusters_metadata
from raptor_assets.steps.base import inputs_digest, recorded_version, save
from raptor_assets.versions import clusters_version
from raptor_assets.work import Outcome, Work
from raptor_core.errors import RaptorError
from raptor_core.tables import clusterings_to_frame
from raptor_core.tree.steps import cluster_layer


class ClustersStep:
    """Clusters every tree that goes on above the layer below."""

    def __init__(self, layer: int) -> None:
        self.layer = layer
        self.key = keys.clusters(layer)

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        outcomes = []
        for work in works:
            try:
                outcomes.append(self._cluster(bench, work))
            except RaptorError as error:
                work.fail(self.key, error)
        return outcomes

    def _cluster(self, bench: Bench, work: Work) -> Outcome:
        inputs = inputs_digest(bench, self.key, *self._input(bench, work))
        version = recorded_version(bench, self.key, work, inputs)
        reused = version is not None
        if version is None:
            below = work.layers(bench, self.layer - 1)
            done = {tree: cluster_layer(tree, layer, bench.tools) for tree, layer in below.items()}
            work.put_clusterings(self.layer, done)
            version = clusters_version(list(done.values()))
            frame = clusterings_to_frame(done.values())
            save(bench, self.key, work, frame, version, inputs)
        found = list(work.clusterings(bench, self.layer).values())
        metadata = clusters_metadata(found)
        return Outcome(work, version, metadata, metadata["n_clusters"], reused)

    def _input(self, bench: Bench, work: Work) -> list[str]:
        """All that the clusters depend on: vectors, tokens and order, not the rest of a node."""
        return [
            f"{tree}\0{node.id}\0{node.embedding_key}\0{node.n_tokens}"
            for tree, nodes in work.nodes(bench, self.layer - 1).items()
            for node in nodes
        ]
