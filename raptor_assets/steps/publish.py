"""``tree``: the checks on whole trees, then publication, then what the store holds of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raptor_assets import keys
from raptor_assets.columns import TREES
from raptor_assets.cost_metadata import cost_history, cost_metadata
from raptor_assets.metadata import (
    audit_metadata,
    drift_metadata,
    published_metadata,
    rebuild_metadata,
)
from raptor_assets.ownership import Listing, abandoned_trees
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext
from raptor_assets.steps.base import recorded, save
from raptor_assets.steps.findings import FindingsStep
from raptor_assets.steps.store_verdicts import (
    embedded_verdict,
    staleness_verdicts,
    stored_verdict,
)
from raptor_assets.steps.summaries import SummariesStep
from raptor_assets.versions import (
    audited_version,
    documents_version,
    published_mark,
    published_version,
)
from raptor_core.errors import InvariantError, RaptorError, StoreRefusedError
from raptor_core.nodes import End, Layer, Tree
from raptor_core.quality.checks import CheckedTrees, Verdict, blocking_failures, require
from raptor_core.quality.registry import tree_verdicts
from raptor_core.store.base import Edition, Manifest, Published
from raptor_core.store.publishing import Publishing
from raptor_core.store.store import VectorStore
from raptor_core.tree.cluster import cluster_top
from raptor_core.tree.invariants import violations
from raptor_core.tree.publish import make_manifest

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class _Ready:
    """A partition whose trees keep the laws: what checks say of it, and what publishing makes."""

    state: PartitionState
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

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        ready = []
        for state in states:
            try:
                trees = self._trees(context, state)
                ready.append(_Ready(state, trees, self._judge(context, state, trees)))
            except RaptorError as error:
                state.fail(self.key, error)
        if not ready:
            return []
        try:
            with context.store.open() as store:
                self._publish(context, store, ready)
                results = self._results(context, store, ready)
                store.optimize()
                is_live = store.live
            context.components.cache.forget(_done(ready))
        except StoreRefusedError as error:
            if len(ready) > 1:
                raise
            ready[0].state.fail(self.key, error)
            return []
        finally:  # a store whose commit failed is closed, and nobody goes on with it
            context.store.release()
        if not is_live:
            self._promote(context)
        return results

    def check(self, context: RunContext, state: PartitionState) -> list[Verdict]:
        """See ``CheckedStep.check``."""
        trees = self._trees(context, state)
        with context.store.open() as store:
            found = store.manifests([tree.name for tree in trees])
            verdicts = [
                *tree_verdicts(CheckedTrees(trees, context.settings)),
                embedded_verdict(trees, store.identity, context.settings),
                stored_verdict(store, trees),
            ]
        manifests = {manifest.tree: manifest for manifest in found}
        return [*verdicts, *staleness_verdicts(context, state, manifests)]

    def _promote(self, context: RunContext) -> None:
        model = context.components.embedder.model
        if context.store.promote(context.source_trees()):
            context.warn(f"readers now see the collection that was built with {model}")
        else:
            context.warn(
                f"readers still see the collection of the embedder before {model}, until every "
                "tree is built with the new one"
            )

    def _trees(self, context: RunContext, state: PartitionState) -> list[Tree]:
        layers: dict[str, list[Layer]] = {}
        for number in range(self.max_layers + 1):
            for tree, layer in state.layers(context, number).items():
                layers.setdefault(tree, []).append(layer)
        return [self._tree(context, state, name, found) for name, found in layers.items()]

    def _tree(
        self, context: RunContext, state: PartitionState, name: str, layers: Sequence[Layer]
    ) -> Tree:
        done = [state.clusterings(context, number)[name].fit for number in range(1, len(layers))]
        fits = tuple(fit for fit in done if fit)
        return Tree(name, tuple(layers), self._end(context, state, name, layers), fits)

    def _end(
        self, context: RunContext, state: PartitionState, tree: str, layers: Sequence[Layer]
    ) -> End:
        top = len(layers) - 1
        if top == self.max_layers:
            end = cluster_top(tree, layers, context.components).end
        else:
            end = state.clusterings(context, top + 1)[tree].end
        if end is None:
            raise InvariantError(
                f"tree {tree!r} has no layer above {top} and no reason to end there; build "
                "partition "
                f"{state.name!r} again from layer_{top + 1}/clusters"
            )
        return end

    def _judge(
        self, context: RunContext, state: PartitionState, trees: Sequence[Tree]
    ) -> list[Verdict]:
        """Verdicts on the trees, when nothing forbids to publish them.

        Raises:
            InvariantError: a law is broken; it names checks, nodes and remedies.
        """
        depth = max(len(tree.layers) for tree in trees)
        for layer in range(1, depth):
            require(SummariesStep(layer).verdicts(context, state))
        verdicts = tree_verdicts(CheckedTrees(trees, context.settings))
        broken = [told for tree in trees for told in violations(tree)]
        if broken and not blocking_failures(verdicts):
            raise InvariantError(
                f"{len(broken)} invariants are broken, first: {broken[0]}. Nothing was published"
            )
        return verdicts

    def _publish(self, context: RunContext, store: VectorStore, ready: Sequence[_Ready]) -> None:
        """Publish what no check refuses, many partitions in one commit.

        Raises:
            StoreError: a commit failed; what of the partitions is published is not known.
        """
        grouping = context.settings.grouping
        unfinished = Listing(context.components.cache.unfinished, grouping)
        listing = Listing(lambda: [mark.tree for mark in store.marks()], grouping)
        with store.publishing() as publishing:
            for part in ready:
                try:
                    part.gone = _gone(context, part, unfinished, listing)
                    part.verdicts.append(
                        embedded_verdict(part.trees, store.identity, context.settings)
                    )
                    if not part.is_refused:
                        self._give(context, publishing, part)
                except RaptorError as error:
                    part.state.fail(self.key, error)

    def _give(self, context: RunContext, publishing: Publishing, part: _Ready) -> None:
        documents = part.state.documents(context)
        hidden = FindingsStep.quarantined(context, part.state, self.max_layers)
        part.manifests = {
            tree.name: make_manifest(tree, documents[tree.name], context.settings, hidden)
            for tree in part.trees
        }
        part.published = publishing.publish(
            [
                Edition(part.manifests[tree.name], list(tree.nodes()), tree.vectors())
                for tree in part.trees
            ]
        )
        publishing.drop(part.gone)

    def _results(
        self, context: RunContext, store: VectorStore, ready: Sequence[_Ready]
    ) -> list[StepResult]:
        results = []
        for part in ready:
            if part.state.failure:
                continue
            try:
                results.append(self._result(context, store, part))
            except RaptorError as error:
                part.state.fail(self.key, error)
        return results

    def _result(self, context: RunContext, store: VectorStore, part: _Ready) -> StepResult:
        state, trees, manifests = part.state, part.trees, part.manifests
        if part.is_refused:
            return StepResult(state, None, {}, 0, False, part.verdicts)
        part.verdicts += [
            stored_verdict(store, trees),
            *staleness_verdicts(context, state, manifests),
        ]
        version = published_version(
            documents_version(state.documents(context), context.components.curation),
            context.versions[self.key],
            [published_mark(manifest) for manifest in manifests.values()],
        )
        layers = state.summary_layers(context, self.max_layers)
        version = audited_version(version, [state.audited(context, layer) for layer in layers])
        before = recorded(context, self.key, state)
        costs = cost_history(before.history if before else (), state)
        save(context, self.key, state, _table(trees, manifests), version, version, costs)
        metadata = {
            **published_metadata(trees, manifests, part.published, part.gone, context.settings),
            **rebuild_metadata(state),
            **drift_metadata(trees),
            **audit_metadata(state, trees),
            **cost_metadata(costs),
        }
        reused = not any(done.changed for done in part.published)
        return StepResult(state, version, metadata, len(trees), reused, part.verdicts)


def _done(ready: Sequence[_Ready]) -> list[str]:
    """Trees whose work is finished: they are published, or dropped."""
    parts = [part for part in ready if part.published and not part.state.failure]
    return [name for part in parts for name in (*part.manifests, *part.gone)]


def _gone(context: RunContext, part: _Ready, unfinished: Listing, published: Listing) -> list[str]:
    """Trees that the partition published, or began, before and no longer has."""
    name, live = part.state.name, {tree.name for tree in part.trees}
    known = abandoned_trees(context.tables, context.settings.grouping, name, published, live)
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
