"""``tree``: the checks on whole trees, then publication, then what the store holds of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raptor_assets import keys
from raptor_assets.audits import audit_metadata
from raptor_assets.bench import Bench
from raptor_assets.columns import TREES
from raptor_assets.cost_history import cost_history, cost_metadata
from raptor_assets.history import drift_metadata, rebuild_metadata
from raptor_assets.metadata import published_metadata
from raptor_assets.ownership import Listing, abandoned_trees
from raptor_assets.steps.base import recorded, save
from raptor_assets.steps.findings import FindingsStep
from raptor_assets.steps.store_verdicts import (
    embedded_verdict,
    staleness_verdicts,
    stored_verdict,
)
from raptor_assets.steps.summaries import SummariesStep
from raptor_assets.versions import documents_version, published_mark, published_version
from raptor_assets.work import Outcome, Work
from raptor_core.errors import InvariantError, RaptorError, StoreRefusedError
from raptor_core.nodes import End, Layer, Tree
from raptor_core.quality.registry import tree_verdicts
from raptor_core.quality.subjects import CheckedTrees
from raptor_core.quality.verdicts import Verdict, blocking_failures, require
from raptor_core.store.base import Edition, Manifest, Published
from raptor_core.store.publishing import Publishing
from raptor_core.store.store import VectorStore
from raptor_core.tree.invariants import violations
from raptor_core.tree.publish import make_manifest
from raptor_core.tree.steps import cluster_top

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class _Ready:
    """A partition whose trees keep the laws: what checks say of it, and what publishing makes."""

    work: Work
    trees: Sequence[Tree]
    verdicts: list[Verdict]
    gone: Sequence[str] = ()
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    published: Sequence[Published] = ()

    @property
    def is_refused(self) -> bool:
        """Whether a check forbids to publish it."""
        return bool(blocking_failures(self.verdicts))


class PublishStep:
    """Publishes the trees of every partition that keeps the laws."""

    key = keys.TREE

    def __init__(self, max_layers: int) -> None:
        self.max_layers = max_layers

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        ready = []
        for work in works:
            try:
                trees = self._trees(bench, work)
                ready.append(_Ready(work, trees, self._judge(bench, work, trees)))
            except RaptorError as error:
                work.fail(self.key, error)
        if not ready:
            return []
        try:
            with bench.store.open() as store:
                self._publish(bench, store, ready)
                outcomes = self._outcomes(bench, store, ready)
                store.optimize()
                is_live = store.live
            bench.tools.cache.forget(_done(ready))
        except StoreRefusedError as error:
            if len(ready) > 1:
                raise
            ready[0].work.fail(self.key, error)
            return []
        finally:  # a store whose commit failed is closed, and nobody goes on with it
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
        verdicts = tree_verdicts(CheckedTrees(trees, bench.settings))
        broken = [told for tree in trees for told in violations(tree)]
        if broken and not blocking_failures(verdicts):
            raise InvariantError(
                f"{len(broken)} invariants are broken, first: {broken[0]}. Nothing was published"
            )
        return verdicts

    def _publish(self, bench: Bench, store: VectorStore, ready: Sequence[_Ready]) -> None:
        """Publish what no check refuses, many partitions in one commit.

        Raises:
            StoreError: a commit failed; what of the partitions is published is not known.
        """
        grouping = bench.settings.grouping
        unfinished = Listing(bench.tools.cache.unfinished, grouping)
        listing = Listing(lambda: [mark.tree for mark in store.marks()], grouping)
        with store.publishing() as publishing:
            for part in ready:
                try:
                    part.gone = _gone(bench, part, unfinished, listing)
                    part.verdicts.append(
                        embedded_verdict(part.trees, store.identity, bench.settings)
                    )
                    if not part.is_refused:
                        self._give(bench, publishing, part)
                except RaptorError as error:
                    part.work.fail(self.key, error)

    def _give(self, bench: Bench, publishing: Publishing, part: _Ready) -> None:
        documents = part.work.documents(bench)
        hidden = FindingsStep.quarantined(bench, part.work, self.max_layers)
        part.manifests = {
            tree.name: make_manifest(tree, documents[tree.name], bench.settings, hidden)
            for tree in part.trees
        }
        part.published = publishing.publish(
            [
                Edition(part.manifests[tree.name], list(tree.nodes()), tree.vectors())
                for tree in part.trees
            ]
        )
        publishing.drop(part.gone)

    def _outcomes(self, bench: Bench, store: VectorStore, ready: Sequence[_Ready]) -> list[Outcome]:
        outcomes = []
        for part in ready:
            if part.work.failure:
                continue
            try:
                outcomes.append(self._outcome(bench, store, part))
            except RaptorError as error:
                part.work.fail(self.key, error)
        return outcomes

    def _outcome(self, bench: Bench, store: VectorStore, part: _Ready) -> Outcome:
        work, trees, manifests = part.work, part.trees, part.manifests
        if part.is_refused:
            return Outcome(work, None, {}, 0, False, part.verdicts)
        part.verdicts += [stored_verdict(store, trees), *staleness_verdicts(bench, work, manifests)]
        version = published_version(
            documents_version(work.documents(bench)),
            bench.versions[self.key],
            [published_mark(manifest) for manifest in manifests.values()],
        )
        before = recorded(bench, self.key, work)
        costs = cost_history(before.history if before else (), work)
        save(bench, self.key, work, _table(trees, manifests), version, version, costs)
        metadata = {
            **published_metadata(trees, manifests, part.published, part.gone, bench.settings),
            **rebuild_metadata(work),
            **drift_metadata(trees),
            **audit_metadata(work, trees),
            **cost_metadata(costs),
        }
        reused = not any(done.changed for done in part.published)
        return Outcome(work, version, metadata, len(trees), reused, part.verdicts)


def _done(ready: Sequence[_Ready]) -> list[str]:
    """Trees whose work is finished: they are published, or dropped."""
    parts = [part for part in ready if part.published and not part.work.failure]
    return [name for part in parts for name in (*part.manifests, *part.gone)]


def _gone(bench: Bench, part: _Ready, unfinished: Listing, published: Listing) -> list[str]:
    """Trees that the partition published, or began, before and no longer has."""
    name, live = part.work.name, {tree.name for tree in part.trees}
    known = abandoned_trees(bench.tables, bench.settings.grouping, name, published, live)
    return sorted({*known, *unfinished(name) - live})


def _table(trees: Sequence[Tree], manifests: Mapping[str, Manifest]) -> pa.Table:
    found = (manifests[tree.name] for tree in trees)
    return TREES.table(
        (
            manifest.tree,
            manifest.build_id,
            manifest.layer_sizes,
            sum(manifest.layer_sizes),
            manifest.n_tokens,
            manifest.end,
            manifest.published_at,
        )
        for manifest in found
    )
