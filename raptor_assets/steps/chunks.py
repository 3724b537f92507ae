"""``chunks``: the leaves of every tree."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench
from raptor_assets.metadata import nodes_metadata
from raptor_assets.steps.base import inputs_digest, recorded_version, save
from raptor_assets.versions import documents_version, nodes_version
from raptor_assets.work import Outcome, Work
from raptor_core.errors import EmptySourceError, RaptorError
from raptor_core.nodes import Node
from raptor_core.tables import nodes_to_table
from raptor_core.tree.steps import make_leaves


class ChunksStep:
    """Cuts documents into leaves."""

    key = keys.CHUNKS

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        outcomes = []
        for work in works:
            try:
                outcomes.append(self._chunk(bench, work))
            except RaptorError as error:
                work.fail(self.key, error)
        return outcomes

    def _chunk(self, bench: Bench, work: Work) -> Outcome:
        documents = work.documents(bench)
        embedder = bench.tools.embedder.fingerprint  # leaves carry the keys of its vectors
        inputs = inputs_digest(bench, self.key, documents_version(documents), embedder)
        version = recorded_version(bench, self.key, work, inputs)
        reused = version is not None
        if version is None:
            leaves = self._leaves(bench, work)
            version = nodes_version(leaves)
            work.put_nodes(0, leaves)
            save(bench, self.key, work, nodes_to_table(leaves), version, inputs)
        nodes = work.nodes(bench, 0)
        without = sorted(set(documents) - nodes.keys())
        metadata = {**nodes_metadata(nodes), "n_trees_without_text": len(without)}
        return Outcome(work, version, metadata, metadata["n_nodes"], reused)

    def _leaves(self, bench: Bench, work: Work) -> list[Node]:
        documents = work.documents(bench)
        leaves: list[Node] = []
        for tree, found in documents.items():
            made = make_leaves(tree, found, bench.tools)
            leaves += made
            if not made:
                bench.warn(f"tree {tree!r} has no text and is not built")
        if not leaves:
            raise EmptySourceError(
                f"none of the {sum(map(len, documents.values()))} documents of partition "
                f"{work.name!r} holds text; a tree needs at least one word"
            )
        return leaves
