"""``tree``: the checks on complete trees, their publication, then the checks on the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from raptor_assets.assets.versions import (
    TreeVersion,
    documents_version,
)
from raptor_assets.chain.context import RunContext
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps.base import Step
from raptor_assets.chain.steps.layers import ClustersStep, EmbeddingsStep
from raptor_assets.chain.steps.summaries import SummariesStep
from raptor_assets.home.publication import Publication, PublishedBuild, publishing
from raptor_assets.home.published import TreeIndex
from raptor_assets.home.today import Today
from raptor_assets.shown.metadata import (
    audit_metadata,
    drift_metadata,
    published_metadata,
    rebuild_metadata,
)
from raptor_assets.shown.tree_records import TreeRecord, build_cost, read_records, trees_table
from raptor_core.checks.base import (
    CheckedTrees,
    CheckResult,
    apply_severities,
    blocking_failures,
    require_passed,
)
from raptor_core.checks.registry import check_trees
from raptor_core.checks.stored import staleness
from raptor_core.errors import InvariantError, RaptorError, SourceError, StoreRefusedError
from raptor_core.nodes import Layer, Tree, TreeEnd
from raptor_core.store.base import Manifest, TreeEdition
from raptor_core.store.store import VectorStore
from raptor_core.tree.cluster import cluster_top_layer
from raptor_core.tree.publish import make_manifest


@dataclass
class _Ready:
    """Partition to publish, with its check results; ``removed`` are the trees that it lost."""

    state: PartitionState
    trees: Sequence[Tree]
    verdicts: list[CheckResult]
    removed: Sequence[str] = ()
    version: TreeVersion | None = None
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    published: Sequence[PublishedBuild] = ()

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
        pins = _pins(context)  # reads the source and the store, before this opens the store
        today = Today.of(context.access)
        try:
            with context.store.open() as store:
                self._publish(context, store, ready, pins, today)
                results = self._results(ready)
            done = [part for part in ready if part.published and not part.state.failure]
            finished = [name for part in done for name in (*part.manifests, *part.removed)]
            context.components.cache.forget_trees(finished)
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
            verdicts = check_trees(CheckedTrees(trees, context.settings, readers))
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

    def _end(self, state: PartitionState, tree: str, layers: Sequence[Layer]) -> TreeEnd:
        top = len(layers) - 1
        if top == state.context.settings.tree.max_layers:
            end = cluster_top_layer(tree, layers, state.context.components).end
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
            require_passed(step.check(state))
        documents = chain.from_iterable(state.documents.values())
        readers = {document.id: document.readers for document in documents if document.readers}
        settings = state.context.settings
        verdicts = check_trees(CheckedTrees(trees, settings, readers))
        return apply_severities(verdicts, settings.checks)

    def _publish(
        self,
        context: RunContext,
        store: VectorStore,
        ready: Sequence[_Ready],
        pins: Collection[str],
        today: Today,
    ) -> None:
        """Publish the partitions that passed their checks, or keep their builds for approval."""
        grouping = context.settings.grouping
        unfinished = TreeIndex(context.components.cache.unfinished_trees, grouping)
        stored = TreeIndex(lambda: [m.tree for m in store.marks() if m.inputs], grouping)
        live = store.manifests([tree.name for part in ready for tree in part.trees])
        previous = {manifest.tree: manifest for manifest in live}
        with publishing(context.access, store, today) as publication:
            for part in ready:
                name, built = part.state.name, {*pins, *(t.name for t in part.trees)}
                try:
                    part.removed = sorted((stored(name) | unfinished(name)) - built)
                    if part.is_refused:
                        continue
                    self._prepare(part)
                    if context.needs_approval and _may_wait(part, previous):
                        self._wait(store, part)
                    else:
                        self._publish_partition(publication, part)
                except RaptorError as error:
                    part.state.fail(self.asset, error)

    def _prepare(self, part: _Ready) -> None:
        """Make the manifests of a partition."""
        context, documents = part.state.context, part.state.documents
        digest = documents_version(documents, context.components.curation)
        version = TreeVersion.of(part.state.name, digest, context.versions[self.asset.kind])
        part.version = version
        part.manifests = {
            tree.name: make_manifest(
                tree, documents[tree.name], context.settings_fingerprint, version.text
            )
            for tree in part.trees
        }

    def _wait(self, store: VectorStore, part: _Ready) -> None:
        """Keep a partition's build until a person approves it."""
        state, version = part.state, part.version
        state.is_waiting = True
        inputs = version.text if version else ""
        state.context.access.waiting.put(state.name, _editions(part), store.identity, inputs)
        state.context.warn(f"{state.name}: built and checked; it waits for approval")

    def _publish_partition(self, publication: Publication, part: _Ready) -> None:
        published = publication.publish(_editions(part))
        publication.drop(part.removed)
        part.published = published
        part.manifests = {each.manifest.tree: each.manifest for each in published}
        waiting = part.state.context.access.waiting
        for name in waiting.among([part.state.name]):
            waiting.delete(name)

    def _results(self, ready: Sequence[_Ready]) -> list[StepResult]:
        results = []
        for part in ready:
            if part.state.failure:
                continue
            try:
                results.append(self._result(part))
            except RaptorError as error:
                part.state.fail(self.asset, error)
        return results

    def _result(self, part: _Ready) -> StepResult:
        state, trees, manifests = part.state, part.trees, part.manifests
        context = state.context
        if part.is_refused or state.is_waiting or part.version is None:
            return StepResult(state, None, {}, 0, False, part.verdicts)
        stale = _staleness_verdicts(state, manifests)
        part.verdicts += apply_severities(stale, context.settings.checks)
        version = part.version.published_as(manifests.values()).text
        state.save(self.asset, trees_table(manifests.values(), _records(part)), version, version)
        counts = [each.counts for each in part.published]
        metadata = {
            **published_metadata(trees, manifests, counts, part.removed, context.settings),
            **rebuild_metadata(state.plans, state.costs),
            **drift_metadata(trees),
            **audit_metadata(state.audits.values(), state.costs.audit_usage),
        }
        reused = not any(count.has_changes for count in counts)
        return StepResult(state, version, metadata, len(trees), reused, part.verdicts)


def _records(part: _Ready) -> dict[str, TreeRecord]:
    """Return the records of published trees; the record of an unchanged build is kept."""
    state = part.state
    known = read_records(state.context.tables, state.name)
    n_audited = sum(report.n_judged for report in state.audits.values())
    cost = build_cost(state.costs, n_audited) if state.plans else None
    records = {}
    for each in part.published:
        new, record = each.manifest, known.get(each.manifest.tree)
        if record is None or record.build_id != new.build_id:
            record = TreeRecord.of(new, each.replaced, each.counts, cost)
        records[new.tree] = record
    return records


def _editions(part: _Ready) -> list[TreeEdition]:
    return [
        TreeEdition(part.manifests[tree.name], list(tree.nodes()), tree.vectors())
        for tree in part.trees
    ]


def _pins(context: RunContext) -> Collection[str]:
    """Return the pinned trees; if the source cannot be read, warn and return none."""
    try:
        return context.pins
    except SourceError as error:
        context.warn(f"which trees are pinned is not known: {error}")
        return ()


def _may_wait(part: _Ready, previous: Mapping[str, Manifest]) -> bool:
    """Return whether a build may wait for approval: it changes trees and drops no document."""
    pairs = [(previous.get(tree), manifest) for tree, manifest in part.manifests.items()]
    is_same = all(old and old.build_id == manifest.build_id for old, manifest in pairs)
    is_complete = all(not old or old.documents.keys() <= new.documents.keys() for old, new in pairs)
    return is_complete and not is_same and not part.removed


def _staleness_verdicts(
    state: PartitionState, manifests: Mapping[str, Manifest]
) -> list[CheckResult]:
    """Check whether the published trees are stale; if the source cannot be read, only warn."""
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
