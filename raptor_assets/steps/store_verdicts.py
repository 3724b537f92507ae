"""Verdicts of ``tree`` on the store: before a partition is published, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets.partition_state import PartitionState
from raptor_assets.run_context import RunContext
from raptor_core.errors import SourceError
from raptor_core.nodes import Tree
from raptor_core.quality.checks import Verdict
from raptor_core.quality.stored import (
    DocumentHashes,
    Embedded,
    StoredTree,
    embedding,
    staleness,
    store,
)
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.store import VectorStore


def embedded_verdict(trees: Sequence[Tree], identity: StoreIdentity, settings: Settings) -> Verdict:
    """Verdict on the vectors that publishing would take, before it does."""
    nodes = [node for tree in trees for node in tree.nodes()]
    vectors = {key: vector for tree in trees for key, vector in tree.vectors().items()}
    return embedding(Embedded(nodes, vectors, identity, settings.checks))


def staleness_verdicts(
    context: RunContext, state: PartitionState, manifests: Mapping[str, Manifest]
) -> list[Verdict]:
    """Verdict on what was published against the source; none where it cannot be read now."""
    try:
        source = context.partitions.get(state.name, {})
    except SourceError as error:
        context.warn(f"whether partition {state.name!r} is stale is not known: {error}")
        return []
    published = {tree: manifest.documents for tree, manifest in manifests.items()}
    textless = state.documents(context).keys() - published.keys()
    there = {
        tree: {document.id: document.content_hash for document in found}
        for tree, found in source.items()
        if tree not in textless
    }
    return [staleness(DocumentHashes(published, there))]


def stored_verdict(vectors: VectorStore, trees: Sequence[Tree]) -> Verdict:
    """Verdict on what the store holds of the trees, once they are published."""
    found = {manifest.tree: manifest for manifest in vectors.manifests([t.name for t in trees])}
    return store(
        [
            StoredTree(
                found.get(tree.name), vectors.point_ids(tree.name), [n.id for n in tree.nodes()]
            )
            for tree in trees
        ]
    )
