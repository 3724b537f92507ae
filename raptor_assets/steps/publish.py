"""``tree``: the checks on whole trees, then publication, then what the store holds of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from raptor_assets import keys
from raptor_assets.audits import audit_metadata
from raptor_assets.bench import Bench
from raptor_assets.cost_history import cost_history, cost_metadata
from raptor_assets.history import drift_metadata, rebuild_metadata
from raptor_assets.metadata import published_metadata
from raptor_assets.ownership import abandoned_trees
from raptor_assets.steps.base import recorded, save
from raptor_assets.steps.findings import FindingsStep
from raptor_assets.steps.summaries import SummariesStep
from raptor_assets.versions import documents_version, published_mark, published_version
from raptor_assets.work import Outcome, Work
from raptor_core.documents.grouping import partition_key
from raptor_core.errors import InvariantError, RaptorError, SourceError
from raptor_core.nodes import End, Layer, Tree
from raptor_core.quality.embedded import evaluate_embedding, measure_embedding
from raptor_core.quality.registry import located, tree_verdicts
from raptor_core.quality.staleness import evaluate_staleness, measure_staleness
from raptor_core.quality.stored import evaluate_store, measure_store
from raptor_core.quality.verdicts import Verdict, blocking_failures, require
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest, VectorStore
from raptor_core.tree.invariants import violations
from raptor_core.tree.publish import make_manifest
from raptor_core.tree.steps import cluster_top

if TYPE_CHECKING:
    import pandas as pd


class PublishStep:
    """Publishes the trees of every partition that keeps the laws."""

    key = keys.TREE

    def __init__(self, max_layers: int) -> None:
        self.max_layers = max_layers

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        ready: list[tuple[Work, list[Tree], list[Verdict]]] = []
        for work in works:
            try:
                trees = self._trees(bench, work)
                ready.append((work, trees, self._judge(bench, work, trees)))
            except RaptorError as error:
                work.fail(self.key, error)
        if not ready:
            return []
        outcomes = []
        with bench.store.open() as store:
            unfinished = store.staged_trees()
            for work, trees, verdicts in ready:
                try:
                    gone = _gone(bench, store, work, {tree.name for tree in trees}, unfinished)
                    outcomes.append(self._publish(bench, store, work, trees, gone, verdicts))
                except RaptorError as error:
                    work.fail(self.key, error)
            store.optimize()
            is_live = store.live
        bench.store.release()
        if not is_live:
            self._promote(bench)
        return outcomes

    def _promote(self, bench: Bench) -> None:
        model = bench.tools.embedder.model
        if bench.store.promote(bench.source_trees()):
            bench.warn(f"readers now see the collection that was built with {model}")
        else:
            bench.warn(
                f"readers still see the collection of the embedder before {model}, until every "
                "tree is built with the new one"
            )

    def _trees(self, bench: Bench, work: Work) -> list[Tree]:
        layers: dict[str, list[Layer]] = {}
        for number in range(self.max_layers + 1):
            for tree, layer in work.layers(bench, number).items():
                layers.setdefault(tree, []).append(layer)
        return [self._tree(bench, work, name, found) for name, found in layers.items()]

    def _tree(self, bench: Bench, work: Work, name: str, layers: Sequence[Layer]) -> Tree:
        done = [work.clusterings(bench, number)[name].fit for number in range(1, len(layers))]
        fits = tuple(fit for fit in done if fit)
        return Tree(name, tuple(layers), self._end(bench, work, name, layers), fits)

    def _end(self, bench: Bench, work: Work, tree: str, layers: Sequence[Layer]) -> End:
        top = len(layers) - 1
        if top == self.max_layers:
            end = cluster_top(tree, layers, bench.tools).end
        else:
            end = work.clusterings(bench, top + 1)[tree].end
        if end is None:
            raise InvariantError(
                f"tree {tree!r} has no layer above {top} and no reason to end there; build "
                "partition "
                f"{work.name!r} again from layer_{top + 1}/clusters"
            )
        return end

    def _judge(self, bench: Bench, work: Work, trees: Sequence[Tree]) -> list[Verdict]:
        """Verdicts on the trees, when nothing forbids to publish them.

        Raises:
            InvariantError: a law is broken; it names checks, nodes and remedies.
        """
        depth = max(len(tree.layers) for tree in trees)
        for layer in range(1, depth):
            require(SummariesStep(layer).verdicts(bench, work))
        verdicts = tree_verdicts(trees, bench.settings)
        broken = [told for tree in trees for told in violations(tree)]
        if broken and not blocking_failures(verdicts):
            raise InvariantError(
                f"{len(broken)} invariants are broken, first: {broken[0]}. Nothing was published"
            )
        return verdicts

    def _publish(
        self,
        bench: Bench,
        store: VectorStore,
        work: Work,
        trees: Sequence[Tree],
        gone: Sequence[str],
        verdicts: list[Verdict],
    ) -> Outcome:
        documents = work.documents(bench)
        source = documents_version(documents)
        verdicts.append(_embedded(store, trees, bench.settings))
        if blocking_failures(verdicts):
            return Outcome(work, None, {}, 0, False, verdicts)
        hidden = FindingsStep.quarantined(bench, work, self.max_layers)
        manifests = {
            tree.name: make_manifest(tree, documents[tree.name], bench.settings, hidden)
            for tree in trees
        }
        published = [store.publish(manifests[tree.name], list(tree.nodes())) for tree in trees]
        for tree in gone:
            store.drop(tree)
        verdicts += [_stored(store, trees), *_staleness(bench, work, manifests)]
        version = published_version(
            source,
            bench.versions[self.key],
            [published_mark(manifest) for manifest in manifests.values()],
        )
        before = recorded(bench, self.key, work)
        costs = cost_history(before.history if before else (), work)
        save(bench, self.key, work, _frame(trees, manifests), version, version, costs)
        metadata = {
            **published_metadata(trees, manifests, published, gone, bench.settings),
            **rebuild_metadata(work),
            **drift_metadata(trees),
            **audit_metadata(work, trees),
            **cost_metadata(costs),
        }
        reused = not any(done.changed for done in published)
        return Outcome(work, version, metadata, len(trees), reused, verdicts)


def _gone(
    bench: Bench, store: VectorStore, work: Work, live: set[str], unfinished: Sequence[str]
) -> list[str]:
    """Trees that this partition published, or began, before and no longer has."""
    grouping = bench.settings.grouping
    begun = {tree for tree in unfinished if partition_key(tree, grouping) == work.name}

    def published() -> list[str]:
        return [manifest.tree for manifest in store.manifests()]

    known = abandoned_trees(bench.tables, grouping, work.name, published, live)
    return sorted({*known, *begun - live})


def _embedded(store: VectorStore, trees: Sequence[Tree], settings: Settings) -> Verdict:
    """Verdict on the vectors that publishing would take, before it does."""
    nodes = [node for tree in trees for node in tree.nodes()]
    vectors = store.vectors({node.embedding_key for node in nodes})
    report = measure_embedding(nodes, vectors, store.identity)
    (verdict,) = located([evaluate_embedding(report, settings.checks)], nodes)
    return verdict


def _staleness(bench: Bench, work: Work, manifests: Mapping[str, Manifest]) -> list[Verdict]:
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


def _stored(store: VectorStore, trees: Sequence[Tree]) -> Verdict:
    found = {manifest.tree: manifest for manifest in store.manifests([t.name for t in trees])}
    reports = []
    for tree in trees:
        live, staged = store.point_ids(tree.name)
        expected = [node.id for node in tree.nodes()]
        reports.append(measure_store(found.get(tree.name), live, staged, expected))
    return evaluate_store(reports)


def _frame(trees: Sequence[Tree], manifests: dict[str, Manifest]) -> pd.DataFrame:
    import pandas as pd

    found = [manifests[tree.name] for tree in trees]
    return pd.DataFrame(
        {
            "tree": [manifest.tree for manifest in found],
            "build_id": [manifest.build_id for manifest in found],
            "layer_sizes": [json.dumps(manifest.layer_sizes) for manifest in found],
            "n_nodes": [sum(manifest.layer_sizes) for manifest in found],
            "n_tokens": [manifest.n_tokens for manifest in found],
            "ended": [manifest.end for manifest in found],
            "published_at": [manifest.published_at for manifest in found],
        }
    )
