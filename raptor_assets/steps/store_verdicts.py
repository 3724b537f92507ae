"""Verdicts of ``tree`` on the store: before a partition is published, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raptor_assets.bench import Bench
from raptor_assets.work import Work
from raptor_core.errors import SourceError
from raptor_core.nodes import Tree
from raptor_core.quality.embedded import evaluate_embedding, measure_embedding
from raptor_core.quality.registry import located
from raptor_core.quality.staleness import evaluate_staleness, measure_staleness
from raptor_core.quality.stored import evaluate_store, measure_store
from raptor_core.quality.verdicts import Verdict
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.store import VectorStore


def embedded_verdict(trees: Sequence[Tree], identity: StoreIdentity, settings: Settings) -> Verdict:
    """Verdict on the vectors that publishing would take, before it does."""
    nodes = [node for tree in trees for node in tree.nodes()]
    vectors = {key: vector for tree in trees for key, vector in tree.vectors().items()}
    report = measure_embedding(nodes, vectors, identity)
    (verdict,) = located([evaluate_embedding(report, settings.checks)], nodes)
    return verdict


def staleness_verdicts(
    bench: Bench, work: Work, manifests: Mapping[str, Manifest]
) -> list[Verdict]:
    """Verdict on what was published against the source; none where it cannot be read now."""
    try:
        source = bench.partitions.get(work.name, {})
    except SourceError as error:
        bench.warn(f"whether partition {work.name!r} is stale is not known: {error}")
        return []
    published = {tree: manifest.documents for tree, manifest in manifests.items()}
    textless = work.documents(bench).keys() - published.keys()
    there = {
        tree: {document.id: document.content_hash for document in found}
        for tree, found in source.items()
        if tree not in textless
    }
    return [evaluate_staleness(measure_staleness(published, there))]


def stored_verdict(store: VectorStore, trees: Sequence[Tree]) -> Verdict:
    """Verdict on what the store holds of the trees, once they are published."""
    found = {manifest.tree: manifest for manifest in store.manifests([t.name for t in trees])}
    reports = []
    for tree in trees:
        live = store.point_ids(tree.name)
        expected = [node.id for node in tree.nodes()]
        reports.append(measure_store(found.get(tree.name), live, expected))
    return evaluate_store(reports)
