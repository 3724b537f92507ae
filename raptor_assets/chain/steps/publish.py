"""``tree``: the checks on complete trees, their publication, then the checks on the store."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from raptor_assets.assets.names import WAITING
from raptor_assets.assets.schemas import TREES
from raptor_assets.assets.versions import (
    TreeVersion,
    audited_version,
    documents_version,
)
from raptor_assets.chain.context import RunContext
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps.base import Step
from raptor_assets.chain.steps.findings import quarantined
from raptor_assets.chain.steps.layers import ClustersStep, EmbeddingsStep
from raptor_assets.chain.steps.summaries import SummariesStep
from raptor_assets.home.access import waiting_manifests
from raptor_assets.home.published import TreeIndex, holds_in_force
from raptor_assets.home.readers import declared_readers
from raptor_assets.shown.metadata import (
    audit_metadata,
    drift_metadata,
    published_metadata,
    rebuild_metadata,
)
from raptor_assets.shown.report_records import read_records
from raptor_core.checks.base import CheckedTrees, CheckResult, blocking_failures, require
from raptor_core.checks.registry import check_trees
from raptor_core.checks.stored import StoredTree, staleness
from raptor_core.checks.stored import store as check_store
from raptor_core.errors import InvariantError, RaptorError, SourceError, StoreRefusedError
from raptor_core.nodes import End, Layer, Tree
from raptor_core.store.base import Edition, Manifest, PublicationCounts
from raptor_core.store.payload import manifest_to_payload
from raptor_core.store.publishing import PublicationBatch
from raptor_core.store.store import VectorStore
from raptor_core.transfer.kept import KeptBuilds
from raptor_core.tree.cluster import cluster_top
from raptor_core.tree.publish import build_id, make_manifest

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class _Ready:
    """Partition to publish with its check results; ``removed`` are trees that it lost."""

    state: PartitionState
    trees: Sequence[Tree]
    verdicts: list[CheckResult]
    removed: Sequence[str] = ()
    version: TreeVersion | None = None
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    published: Sequence[PublicationCounts] = ()

    @property
    def is_refused(self) -> bool:
        """Whether a check refuses the publication."""
        return bool(blocking_failures(self.verdicts))


class PublishStep(Step):
    """Step that publishes the trees of every partition that keeps the laws."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        ready = []
        for state in states:
            try:
                trees = self._trees(state)
                ready.append(_Ready(state, trees, self._judge(state, trees)))
            except RaptorError as error:
                state.fail(self.asset, error)
        if not ready:
            return []
        holds = _holds(context)  # reads the source and the store, before this opens the store
        try:
            with context.store.open() as store:
                self._publish(context, store, ready, holds)
                results = self._results(store, ready)
                store.optimize()
            done = [part for part in ready if part.published and not part.state.failure]
            finished = [name for part in done for name in (*part.manifests, *part.removed)]
            context.components.cache.forget(finished)
        except StoreRefusedError as error:
            if len(ready) > 1:
                raise
            ready[0].state.fail(self.asset, error)
            return []
        finally:  # a store whose commit failed must not be used again
            context.store.release()
        return results

    def _check(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._check``."""
        context, trees = state.context, self._trees(state)
        with context.store.open() as store:
            live = store.manifests([tree.name for tree in trees])
            readers = {name: of for m in live for name, of in m.readers.items()}
            verdicts = [
                *check_trees(CheckedTrees(trees, context.settings, readers)),
                _stored_verdict(store, trees),
            ]
        manifests = {manifest.tree: manifest for manifest in live}
        return [*verdicts, *_staleness_verdicts(state, manifests)]

    def _trees(self, state: PartitionState) -> list[Tree]:
        layers: dict[str, list[Layer]] = {}
        for number in (0, *state.summary_layers):
            for tree, layer in state.layers(number).items():
                layers.setdefault(tree, []).append(layer)
        return [self._tree(state, name, of_tree) for name, of_tree in layers.items()]

    def _tree(self, state: PartitionState, name: str, layers: Sequence[Layer]) -> Tree:
        done = [state.clusterings(number)[name].fit for number in range(1, len(layers))]
        fits = tuple(fit for fit in done if fit)
        return Tree(name, tuple(layers), self._end(state, name, layers), fits)

    def _end(self, state: PartitionState, tree: str, layers: Sequence[Layer]) -> End:
        top = len(layers) - 1
        if top == state.context.settings.tree.max_layers:
            end = cluster_top(tree, layers, state.context.components).end
        else:
            end = state.clusterings(top + 1)[tree].end
        if end is None:
            raise InvariantError(
                f"tree {tree!r} has no layer above {top} and no reason to end there; build "
                f"partition {state.name!r} again from layer_{top + 1}/clusters"
            )
        return end

    def _judge(self, state: PartitionState, trees: Sequence[Tree]) -> list[CheckResult]:
        """Execute the checks on the trees; a broken law raises an InvariantError."""
        corpus = state.context.corpus_names
        steps: list[Step] = [EmbeddingsStep(corpus.embeddings(0))]
        for layer in range(1, max(len(tree.layers) for tree in trees)):
            steps += [
                ClustersStep(corpus.clusters(layer)),
                SummariesStep(corpus.summaries(layer)),
                EmbeddingsStep(corpus.embeddings(layer)),
            ]
        for step in steps:
            require(step.check(state))
        documents = chain.from_iterable(state.documents.values())
        readers = {document.id: document.readers for document in documents if document.readers}
        return check_trees(CheckedTrees(trees, state.context.settings, readers))

    def _publish(
        self,
        context: RunContext,
        store: VectorStore,
        ready: Sequence[_Ready],
        holds: Collection[str],
    ) -> None:
        """Publish all partitions that no check refuses, many in one commit."""
        grouping = context.settings.grouping
        unfinished = TreeIndex(context.components.cache.unfinished, grouping)
        stored = TreeIndex(lambda: [m.tree for m in store.marks() if m.inputs], grouping)
        live = store.manifests([tree.name for part in ready for tree in part.trees])
        previous = {manifest.tree: manifest for manifest in live}
        with store.publishing() as publishing:
            for part in ready:
                name, built = part.state.name, {*holds, *(t.name for t in part.trees)}
                try:
                    part.removed = sorted((stored(name) | unfinished(name)) - built)
                    if not part.is_refused:
                        self._prepare(part)
                        self._refuse_held(part, previous)
                        if context.needs_approval and _may_wait(part, previous):
                            self._wait(part)
                            continue
                        self._keep(store, part, previous)
                        self._publish_partition(publishing, part)
                except RaptorError as error:
                    part.state.fail(self.asset, error)

    def _refuse_held(self, part: _Ready, previous: Mapping[str, Manifest]) -> None:
        """Raise a SourceError for a tree that a person set back while this run worked."""
        for tree, manifest in part.manifests.items():
            old = previous.get(tree)
            if old and old.hold and holds_in_force([old], {tree: manifest.documents}):
                raise SourceError(
                    f"the tree {tree!r} was set back to an earlier build: {old.hold}. "
                    f"`raptor versions release {tree}` lets builds publish it again"
                )

    def _wait(self, part: _Ready) -> None:
        """Record that a partition's build waits for approval."""
        state, version = part.state, part.version
        state.is_waiting = True
        manifests = [manifest_to_payload(manifest) for manifest in part.manifests.values()]
        state.context.tables.write(
            WAITING.path,
            state.name,
            _table(part.trees, part.manifests),
            {"inputs": version.text if version else "", "manifests": json.dumps(manifests)},
        )
        state.context.warn(f"{state.name}: built and checked; it waits for approval")

    def _keep(self, store: VectorStore, part: _Ready, previous: Mapping[str, Manifest]) -> None:
        """Keep the builds that these replace, and delete those with a document that is gone."""
        context = part.state.context
        kept, most = context.kept, context.settings.runs.keep_builds
        records = read_records(context.tables, part.state.name) if previous else {}
        for tree, manifest in part.manifests.items():
            if (old := previous.get(tree)) is None:
                continue
            missing = _forget(kept, manifest)
            if old.hold:
                context.warn(f"{tree}: no longer held, since a document of that build is gone")
            if missing:
                context.warn(
                    f"{tree}: deleted {len(missing)} kept builds with a document that is gone, or "
                    "with a damaged file"
                )
            is_complete = old.documents.keys() <= manifest.documents.keys()
            if most and is_complete and old.build_id != manifest.build_id:
                record = records.get(tree)
                is_known = record is not None and record.build_id == old.build_id
                kept.keep(store, old, record.notes() if record and is_known else {})
            kept.prune(manifest, most)
        for tree in part.removed:
            kept.delete(tree)

    def _prepare(self, part: _Ready) -> None:
        """Make the manifests of a partition, or read those of the build that a person approved."""
        if part.state.context.is_approved:
            part.manifests = _approved_manifests(part)
            part.version = TreeVersion.parse(next(iter(part.manifests.values())).inputs)
            return
        context, documents = part.state.context, part.state.documents
        digest = documents_version(documents, context.components.curation)
        version = TreeVersion.of(part.state.name, digest, context.versions[self.asset.kind])
        fingerprint, hidden = context.settings_fingerprint, quarantined(part.state)
        part.version, inputs = version, version.text
        part.manifests = {
            tree.name: make_manifest(tree, documents[tree.name], fingerprint, hidden, inputs)
            for tree in part.trees
        }

    def _publish_partition(self, publishing: PublicationBatch, part: _Ready) -> None:
        part.state.context.tables.delete(WAITING.path, part.state.name)
        part.published = publishing.publish(
            [
                Edition(part.manifests[tree.name], list(tree.nodes()), tree.vectors())
                for tree in part.trees
            ]
        )
        publishing.drop(part.removed)

    def _results(self, store: VectorStore, ready: Sequence[_Ready]) -> list[StepResult]:
        results = []
        for part in ready:
            if part.state.failure:
                continue
            try:
                results.append(self._result(store, part))
            except RaptorError as error:
                part.state.fail(self.asset, error)
        return results

    def _result(self, store: VectorStore, part: _Ready) -> StepResult:
        state, trees, manifests = part.state, part.trees, part.manifests
        context = state.context
        if part.is_refused or state.is_waiting or part.version is None:
            return StepResult(state, None, {}, 0, False, part.verdicts)
        part.verdicts += [_stored_verdict(store, trees), *_staleness_verdicts(state, manifests)]
        version = part.version.published_as(manifests.values()).text
        version = audited_version(version, [state.audited(n) for n in state.summary_layers])
        state.save(self.asset, _table(trees, manifests), version, version)
        metadata = {
            **published_metadata(trees, manifests, part.published, part.removed, context.settings),
            **rebuild_metadata(state.plans, state.costs),
            **drift_metadata(trees),
            **audit_metadata(state.audits.values(), state.costs.audit_usage),
        }
        reused = not any(done.changed for done in part.published)
        return StepResult(state, version, metadata, len(trees), reused, part.verdicts)


def _holds(context: RunContext) -> Collection[str]:
    """Return the trees that are held; an unreadable source gives a warning and none."""
    try:
        return context.holds
    except SourceError as error:
        context.warn(f"which trees are held is not known: {error}")
        return ()


def _forget(kept: KeptBuilds, published: Manifest) -> list[str]:
    """Delete the kept builds of a tree with a document that its published build lacks."""
    return kept.forget(published.tree, lambda name: name not in published.documents)


def _may_wait(part: _Ready, previous: Mapping[str, Manifest]) -> bool:
    """Return whether a build may wait for approval: it changes trees, and forgets no document."""
    pairs = [(previous.get(tree), manifest) for tree, manifest in part.manifests.items()]
    is_same = all(old and old.build_id == manifest.build_id for old, manifest in pairs)
    is_complete = all(not old or old.documents.keys() <= new.documents.keys() for old, new in pairs)
    return is_complete and not is_same and not part.removed


def _approved_manifests(part: _Ready) -> dict[str, Manifest]:
    """Return the manifests of the build that a person looked at, with the readers of today.

    Raises:
        SourceError: the tables are not those of that build.
    """
    state = part.state
    manifests = waiting_manifests(state.context.tables, state.name)
    nodes = {tree.name: build_id(list(tree.nodes())) for tree in part.trees}
    if nodes != {tree: manifest.build_id for tree, manifest in manifests.items()}:
        raise SourceError(
            f"the tables of partition {state.name!r} are not those of the build that waits for "
            "approval; `raptor build` makes that build again"
        )
    inventory = state.context.source.inventory()
    entries = inventory.partitions(state.context.settings.grouping).get(state.name, {})
    return {
        tree: replace(m, readers=declared_readers(entries.get(tree, ()), m.documents))
        for tree, m in manifests.items()
    }


def _table(trees: Sequence[Tree], manifests: Mapping[str, Manifest]) -> pa.Table:
    return TREES.table(
        (m.tree, m.build_id, m.layer_sizes, sum(m.layer_sizes), m.n_tokens, m.end, m.published_at)
        for m in (manifests[tree.name] for tree in trees)
    )


def _staleness_verdicts(
    state: PartitionState, manifests: Mapping[str, Manifest]
) -> list[CheckResult]:
    """Check if the published trees are stale; an unreadable source gives a warning instead."""
    try:
        source = state.context.partitions.get(state.name, {})
    except SourceError as error:
        state.context.warn(f"whether partition {state.name!r} is stale is not known: {error}")
        return []
    published = {tree: manifest.documents for tree, manifest in manifests.items()}
    textless = state.documents.keys() - published.keys()
    present = {
        tree: {document.id: document.content_hash for document in members}
        for tree, members in source.items()
        if tree not in textless
    }
    return [staleness(published, present)]


def _stored_verdict(store: VectorStore, trees: Sequence[Tree]) -> CheckResult:
    stored = {manifest.tree: manifest for manifest in store.manifests([t.name for t in trees])}
    return check_store(
        [
            StoredTree(
                stored.get(tree.name), store.point_ids(tree.name), [n.id for n in tree.nodes()]
            )
            for tree in trees
        ]
    )
