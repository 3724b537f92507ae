"""``tree``: the checks on complete trees, their publication, then the checks on the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from raptor_assets.assets.versions import TreeVersion, documents_version
from raptor_assets.chain.context import RunContext
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps.base import Step
from raptor_assets.chain.steps.layers import ClustersStep, EmbeddingsStep
from raptor_assets.chain.steps.summaries import SummariesStep
from raptor_assets.home.current_state import CurrentState
from raptor_assets.home.publication import Publication, PublishedBuild, open_publication
from raptor_assets.home.published import TreeIndex
from raptor_assets.shown.metadata import (
    audit_metadata,
    layer_drift_metadata,
    published_metadata,
    rebuild_metadata,
)
from raptor_assets.shown.tree_records import (
    TreeRecord,
    read_partition_records,
    to_build_cost,
    trees_table,
)
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
class _PartitionToPublish:
    """Partition to publish, with its check results; it lost ``removed_trees``."""

    state: PartitionState
    trees: Sequence[Tree]
    check_results: list[CheckResult]
    removed_trees: Sequence[str] = ()
    version: TreeVersion | None = None
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    published: Sequence[PublishedBuild] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether a check refuses the publication."""
        return bool(blocking_failures(self.check_results))


class PublishStep(Step):
    """Step that publishes the trees of every partition that keeps the laws."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        ready = []
        for state in states:
            try:
                trees = self._assemble_trees(state)
                ready.append(_PartitionToPublish(state, trees, self._check_trees(state, trees)))
            except RaptorError as error:
                state.fail(self.asset, error)
        if not ready:
            return []
        pins = _read_pinned_trees(
            context
        )  # reads the source and the store, before this opens the store
        today = CurrentState.of(context.access)
        try:
            with context.store.open() as store:
                self._publish_or_keep_waiting(context, store, ready, pins, today)
                results = self._to_results(ready)
            done = [part for part in ready if part.published and not part.state.failure]
            finished = [name for part in done for name in (*part.manifests, *part.removed_trees)]
            context.components.cache.forget_trees(finished)
        except StoreRefusedError as error:
            if len(ready) > 1:
                raise
            ready[0].state.fail(self.asset, error)
            return []
        finally:  # a store whose commit failed must not be used again
            context.store.close()
        return results

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``."""
        context, trees = state.context, self._assemble_trees(state)
        with context.store.open() as store:
            live = store.manifests([tree.name for tree in trees])
            readers = {name: of for m in live for name, of in m.readers.items()}
            verdicts = check_trees(CheckedTrees(trees, context.settings, readers))
        manifests = {manifest.tree: manifest for manifest in live}
        return [*verdicts, *_check_staleness(state, manifests)]

    def _assemble_trees(self, state: PartitionState) -> list[Tree]:
        layers: dict[str, list[Layer]] = {}
        for number in (0, *state.summary_layers):
            for tree, layer in state.layers(number).items():
                layers.setdefault(tree, []).append(layer)
        return [self._assemble_tree(state, name, of_tree) for name, of_tree in layers.items()]

    def _assemble_tree(self, state: PartitionState, name: str, layers: Sequence[Layer]) -> Tree:
        done = [state.clusterings(number)[name].fit for number in range(1, len(layers))]
        fits = tuple(fit for fit in done if fit)
        return Tree(name, tuple(layers), self._find_reason_of_end(state, name, layers), fits)

    def _find_reason_of_end(
        self, state: PartitionState, tree: str, layers: Sequence[Layer]
    ) -> TreeEnd:
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

    def _check_trees(self, state: PartitionState, trees: Sequence[Tree]) -> list[CheckResult]:
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
            require_passed(step.check_recorded(state))
        documents = chain.from_iterable(state.documents.values())
        readers = {document.id: document.readers for document in documents if document.readers}
        settings = state.context.settings
        verdicts = check_trees(CheckedTrees(trees, settings, readers))
        return apply_severities(verdicts, settings.checks)

    def _publish_or_keep_waiting(
        self,
        context: RunContext,
        store: VectorStore,
        ready: Sequence[_PartitionToPublish],
        pins: Collection[str],
        today: CurrentState,
    ) -> None:
        """Publish the partitions that passed their checks, or keep their builds for approval."""
        grouping = context.settings.grouping
        unfinished = TreeIndex(context.components.cache.unfinished_trees, grouping)
        stored = TreeIndex(lambda: [m.tree for m in store.short_manifests() if m.inputs], grouping)
        live = store.manifests([tree.name for part in ready for tree in part.trees])
        previous = {manifest.tree: manifest for manifest in live}
        with open_publication(context.access, store, today) as publication:
            for part in ready:
                name, built = part.state.name, {*pins, *(t.name for t in part.trees)}
                try:
                    part.removed_trees = sorted((stored(name) | unfinished(name)) - built)
                    if part.is_blocked:
                        continue
                    self._make_manifests(part)
                    if context.needs_approval and _may_wait_for_approval(part, previous):
                        self._keep_for_approval(store, part)
                    else:
                        self._publish_and_clean_up(publication, part)
                except RaptorError as error:
                    part.state.fail(self.asset, error)

    def _make_manifests(self, part: _PartitionToPublish) -> None:
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

    def _keep_for_approval(self, store: VectorStore, part: _PartitionToPublish) -> None:
        """Keep a partition's build until a person approves it."""
        state, version = part.state, part.version
        state.is_waiting = True
        inputs = version.text if version else ""
        state.context.access.waiting_builds.write(
            state.name, _to_editions(part), store.identity, inputs
        )
        state.context.warn(f"{state.name}: built and checked; it waits for approval")

    def _publish_and_clean_up(self, publication: Publication, part: _PartitionToPublish) -> None:
        published = publication.publish(_to_editions(part))
        publication.drop(part.removed_trees)
        part.published = published
        part.manifests = {each.manifest.tree: each.manifest for each in published}
        waiting = part.state.context.access.waiting_builds
        for name in waiting.select_waiting([part.state.name]):
            waiting.delete(name)

    def _to_results(self, ready: Sequence[_PartitionToPublish]) -> list[StepResult]:
        results = []
        for part in ready:
            if part.state.failure:
                continue
            try:
                results.append(self._to_result(part))
            except RaptorError as error:
                part.state.fail(self.asset, error)
        return results

    def _to_result(self, part: _PartitionToPublish) -> StepResult:
        state, trees, manifests = part.state, part.trees, part.manifests
        context = state.context
        if part.is_blocked or state.is_waiting or part.version is None:
            return StepResult(state, None, {}, 0, False, part.check_results)
        stale = _check_staleness(state, manifests)
        part.check_results += apply_severities(stale, context.settings.checks)
        version = part.version.with_content_of(manifests.values()).text
        state.save_table(
            self.asset, trees_table(manifests.values(), _to_records(part)), version, version
        )
        counts = [each.counts for each in part.published]
        metadata = {
            **published_metadata(trees, manifests, counts, part.removed_trees, context.settings),
            **rebuild_metadata(state.plans, state.costs),
            **layer_drift_metadata(trees),
            **audit_metadata(state.audits.values(), state.costs.audit_usage),
        }
        reused = not any(count.has_changes for count in counts)
        return StepResult(state, version, metadata, len(trees), reused, part.check_results)


def _to_records(part: _PartitionToPublish) -> dict[str, TreeRecord]:
    """Return the records of published trees; the record of an unchanged build is kept."""
    state = part.state
    known = read_partition_records(state.context.tables, state.name)
    n_audited = sum(report.n_judged for report in state.audits.values())
    cost = to_build_cost(state.costs, n_audited) if state.plans else None
    records = {}
    for each in part.published:
        new, record = each.manifest, known.get(each.manifest.tree)
        if record is None or record.build_id != new.build_id:
            record = TreeRecord.of(new, each.replaced_manifest, each.counts, cost)
        records[new.tree] = record
    return records


def _to_editions(part: _PartitionToPublish) -> list[TreeEdition]:
    return [
        TreeEdition(part.manifests[tree.name], list(tree.nodes()), tree.vectors())
        for tree in part.trees
    ]


def _read_pinned_trees(context: RunContext) -> Collection[str]:
    """Return the pinned trees; if the source cannot be read, warn and return none."""
    try:
        return context.pin_notes
    except SourceError as error:
        context.warn(f"which trees are pinned is not known: {error}")
        return ()


def _may_wait_for_approval(part: _PartitionToPublish, previous: Mapping[str, Manifest]) -> bool:
    """Return whether a build may wait for approval: it changes trees and drops no document."""
    pairs = [(previous.get(tree), manifest) for tree, manifest in part.manifests.items()]
    is_same = all(old and old.build_id == manifest.build_id for old, manifest in pairs)
    is_complete = all(not old or old.documents.keys() <= new.documents.keys() for old, new in pairs)
    return is_complete and not is_same and not part.removed_trees


def _check_staleness(state: PartitionState, manifests: Mapping[str, Manifest]) -> list[CheckResult]:
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
