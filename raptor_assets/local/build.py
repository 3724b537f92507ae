"""Builds and drops in this process, recorded as Dagster runs.

The plan without a build is in ``forecast``, the jobs themselves in ``definitions``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raptor_assets.assets.names import CHAIN_NAMES, DROP, SYNC, TREE, ChainAsset
from raptor_assets.corpus.changes import Changes, PartitionChange, SyncDecision, decide_run
from raptor_assets.home.access import CorpusAccess, corpus_tree_access
from raptor_assets.home.folder import Home
from raptor_assets.home.source_state import keep_catalog, rescan
from raptor_assets.local.dagster import open_instance_and_clean_up, read_begun_partitions, run_job
from raptor_assets.shown.progress import FailedCheck, Failure, Progress, Watch, ignore_progress
from raptor_core.checks.document_text import document_text
from raptor_core.documents import Scan, Skipped
from raptor_core.errors import StoreError
from raptor_core.home.published import require_existing
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.settings import Settings
from raptor_core.tree.components import Components

if TYPE_CHECKING:
    import dagster as dg


@dataclass
class BuildReport:
    """Result of a build.

    Attributes:
        unmatched_rules: rules of readers that match no document.
        built, failed, dropped: partitions; a failed one keeps its published trees.
        waiting: partitions whose build waits for approval.
        failed_checks: checks that failed, warnings among them.
        n_produced_by_asset: number of new embeddings and summaries by asset, without reused ones.
        n_kept_answers: model answers kept for the next build, since their partition failed.
    """

    changes: Changes
    skipped: tuple[Skipped, ...] = ()
    unmatched_rules: tuple[str, ...] = ()
    built: list[str] = field(default_factory=list)
    failed: dict[str, Failure] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    failed_checks: list[FailedCheck] = field(default_factory=list)
    n_produced_by_asset: Counter[str] = field(default_factory=Counter)
    n_kept_answers: int = 0

    @property
    def unchanged(self) -> list[str]:
        """Partitions that were up to date and not built."""
        touched = {*self.built, *self.failed, *self.waiting}
        return [
            name
            for name in self.changes.partitions_in(PartitionChange.UNCHANGED)
            if name not in touched
        ]

    @property
    def odd_documents(self) -> dict[str, str]:
        """Findings of the check on documents, by partition."""
        odd = (each for each in self.failed_checks if each.name == document_text.name)
        return {each.partition: each.summary for each in odd}

    @property
    def succeeded(self) -> bool:
        """Whether no partition failed."""
        return not self.failed


Planned = Callable[[Collection[str], Sequence[ChainAsset]], None]
"""Callback before the first step; it gets the partitions to build and the assets of each."""


def _ignore_planned(_partitions: Collection[str], _chain: Sequence[ChainAsset]) -> None:
    pass


def build(
    home: Home,
    settings: Settings,
    partitions: Collection[str] | None = None,
    *,
    force: bool = False,
    confirm_removal: bool = False,
    reembeds: bool = False,
    scan: Scan | None = None,
    components: Components | None = None,
    on_plan: Planned = _ignore_planned,
    on_progress: Watch = ignore_progress,
) -> BuildReport:
    """Build the new and changed partitions of the source, and drop those it no longer has.

    Args:
        partitions: build only these and drop nothing; None builds all.
        force: also build partitions that are up to date; finished work is reused.
        confirm_removal: drop removed documents, however many.
        reembeds: first embed the published trees again with the settings' embedder.
        scan: scan of the source, if the caller has one.
        components: replacement for the components of the settings.

    Raises:
        UnknownTreeError: the source has no such partition.
        SourceError: the source cannot be read, or a removal must be confirmed; nothing changed.
        RaptorError: store, token counter or an endpoint cannot be used; nothing changed.
    """
    scan = scan or rescan(home.table_store(settings), settings.source, is_whole=False)
    access = CorpusAccess(settings, home, components=components, scan=scan)
    with open_instance_and_clean_up(home) as instance:
        keep_catalog(access.tables, settings.source, scan)
        if reembeds:
            _run_reembedding(instance, access, scan)
            access.source.rescan_from_now_on()
        decision = decide_run(
            access,
            instance.get_dynamic_partitions(access.names.partitions_name),
            partitions=partitions,
            force=force,
            asks_again=True,
            is_confirmed=confirm_removal,
        )
        # a run may take hours, and publishes with the rights of its end
        access.source.rescan_from_now_on()
        inventory = decision.inventory
        report = BuildReport(decision.changes, inventory.skipped, inventory.unmatched_rules)
        if decision.to_build:
            # The token counter first: its missing file is reported before endpoints are called.
            access.components().counter.count(["a look"])
            require_keys(settings)
        if decision.does_anything:
            _run_sync_job(report, instance, access, decision, on_plan, on_progress)
        if decision.refusal:
            raise decision.refusal
    if report.failed and not (used := access.components()).is_extractive:
        report.n_kept_answers = used.cache.count_wanted_summaries()
    return report


def _run_reembedding(instance: dg.DagsterInstance, access: CorpusAccess, scan: Scan) -> None:
    """Run the sync job only to re-embed; raise a StoreError if it fails."""
    from raptor_assets.corpus.jobs import to_run_config
    from raptor_assets.corpus.sync import build_sync_job

    nothing = SyncDecision(Changes(), scan.inventory, ())
    job = build_sync_job(access, decision=nothing)
    config = to_run_config(access.names, SYNC, {"reembed": True})
    if error := _run_job_of_report(BuildReport(Changes()), job, instance, access, config):
        raise StoreError(error)


def update_corpus_tree(
    home: Home,
    settings: Settings,
    *,
    force: bool = False,
    components: Components | None = None,
    on_plan: Planned = _ignore_planned,
    on_progress: Watch = ignore_progress,
) -> BuildReport | None:
    """Build the corpus tree, if the settings have one. Raises as ``build``."""
    from raptor_assets.corpus.corpus_tree import refresh_top_rows

    above = corpus_tree_access(CorpusAccess(settings, home, components=components))
    if refresh_top_rows(above) < settings.corpus_tree.min_trees:
        present = sorted(above.find_begun_or_published(read_begun_partitions(above.home)))
        return drop_partitions(above.home, above.settings, present) if present else None
    source = above.source.settings
    return build(
        above.home,
        above.settings.model_copy(update={"source": source}),
        force=force,
        scan=rescan(above.tables, source),
        components=above.components(),
        on_plan=on_plan,
        on_progress=on_progress,
    )


def _run_sync_job(
    report: BuildReport,
    instance: dg.DagsterInstance,
    access: CorpusAccess,
    decision: SyncDecision,
    on_plan: Planned,
    on_progress: Watch,
) -> None:
    """Execute a decision by the sync job, and report the result of each partition."""
    from raptor_assets.corpus.sync import build_sync_job

    on_plan(decision.to_build, CHAIN_NAMES.chain(access.settings.tree.max_layers))

    def watch(progress: Progress) -> None:
        report.failed.update(progress.failed)
        report.failed_checks += progress.failed_checks
        report.n_produced_by_asset[progress.asset] += progress.n_new_texts
        if progress.asset == TREE and progress.completed_share == 1:
            report.built += [n for n in progress.partitions if n not in progress.failed]
        report.waiting += progress.waiting
        on_progress(progress)

    job = build_sync_job(access, watch, decision)
    error = _run_job_of_report(report, job, instance, access, {})
    if decision.refusal:
        return
    if error and not (decision.to_build or decision.to_drop):
        raise StoreError(f"what the source says now is not yet published: {error}")
    if error:
        failed, done = Failure("run", error), {*report.built, *report.failed, *report.waiting}
        report.failed |= {name: failed for name in decision.to_build if name not in done}
    droppable = decision.changes.droppable({*report.failed, *report.waiting})
    dropped = [name for name in decision.to_drop if name in droppable]
    _report_dropped(report, instance, access, dropped, error)


def _report_dropped(
    report: BuildReport,
    instance: dg.DagsterInstance,
    access: CorpusAccess,
    partitions: Sequence[str],
    error: str,
) -> None:
    """Report the partitions that were dropped; after an error, report the others as failed."""
    if not partitions:
        return
    remaining = access.find_begun_or_published(
        instance.get_dynamic_partitions(access.names.partitions_name)
    )
    report.dropped += [name for name in partitions if name not in remaining]
    if error:
        failed = Failure("drop_partitions", error)
        report.failed |= {name: failed for name in partitions if name in remaining}


def _run_job_of_report(
    report: BuildReport,
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    access: CorpusAccess,
    config: Mapping[str, Any],
) -> str:
    """Run a job; return the reason of its failure, or ""."""
    run_id, error = run_job(access, instance, job, config)
    report.run_ids.append(run_id)
    return error


def require_keys(settings: Settings) -> None:
    """Raise MissingKeyError if an endpoint of a build needs a key, and there is none."""
    for part in settings.build_endpoints.values():
        EndpointClient(part).require_key()


def drop_partitions(home: Home, settings: Settings, partitions: Sequence[str]) -> BuildReport:
    """Remove partitions with their vectors and tables, also imported ones."""
    from raptor_assets.corpus.jobs import build_drop_job, to_run_config

    access, report = CorpusAccess(settings, home), BuildReport(Changes())
    with open_instance_and_clean_up(home) as instance:
        begun = instance.get_dynamic_partitions(access.names.partitions_name)
        require_existing("partition is called", partitions, access.find_begun_or_published(begun))
        config = to_run_config(access.names, DROP, {"partitions": list(partitions)})
        error = _run_job_of_report(report, build_drop_job(access), instance, access, config)
        _report_dropped(report, instance, access, partitions, error)
    return report
