"""Builds and drops in this process, recorded as Dagster runs.

The plan without a build is in ``forecast``, the jobs themselves in ``project``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raptor_assets.names import TREE
from raptor_assets.progress import Failure, Progress, Watch, ignore_progress
from raptor_assets.project.home import Home
from raptor_assets.project.plan import Changes
from raptor_assets.project.resources import Resources
from raptor_assets.project.source_state import keep_look, look
from raptor_assets.project.store_state import existing_partitions, read_store_state
from raptor_assets.standalone import CODE_LOCATION
from raptor_assets.standalone.instance import open_instance, recorded
from raptor_core.documents import Scan, Skipped
from raptor_core.errors import SourceError
from raptor_core.home.published import refuse_unknown
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.settings import Settings
from raptor_core.store import check_writable
from raptor_core.tree.components import Components

if TYPE_CHECKING:
    import dagster as dg


_LOGGERS = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class BuildReport:
    """Result of a build.

    Attributes:
        built, failed, dropped: partitions; a failed one keeps its published trees.
        odd: documents by partition whose text looks wrongly extracted.
        produced: number of new embeddings and summaries by asset, without reused ones.
        n_kept: answers of a model that failed partitions keep for the next build.
    """

    changes: Changes
    skipped: tuple[Skipped, ...] = ()
    built: list[str] = field(default_factory=list)
    failed: dict[str, Failure] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    odd: dict[str, str] = field(default_factory=dict)
    produced: Counter[str] = field(default_factory=Counter)
    n_kept: int = 0

    @property
    def unchanged(self) -> list[str]:
        """Partitions that were up to date and not built."""
        touched = {*self.built, *self.failed}
        return [name for name in self.changes.unchanged if name not in touched]

    @property
    def succeeded(self) -> bool:
        """Whether no partition failed."""
        return not self.failed


Planned = Callable[[Collection[str], Sequence[str]], None]
"""Callback before the first step, with the partitions to build and the assets of each."""


def _ignore_plan(_partitions: Collection[str], _assets: Sequence[str]) -> None:
    pass


def build(
    home: Home,
    settings: Settings,
    partitions: Collection[str] | None = None,
    *,
    force: bool = False,
    confirm_removal: bool = False,
    scan: Scan | None = None,
    components: Components | None = None,
    on_plan: Planned = _ignore_plan,
    on_progress: Watch = ignore_progress,
) -> BuildReport:
    """Build the new and changed partitions of the source, and drop those it no longer has.

    Args:
        partitions: only these, and no drop; None for all.
        force: also build partitions that are up to date; finished work is reused.
        confirm_removal: drop removed documents, however many.
        scan: scan of the source, if the caller has one.
        components: replacement for the components of the settings.

    Raises:
        UnknownTreeError: the source has no such partition.
        SourceError: the source cannot be read, or a removal must be confirmed; nothing changed.
        RaptorError: store, token counter or an endpoint cannot be used; nothing changed.
    """
    scan = scan or look(home.table_store(settings), settings.source)
    resources = Resources(settings, home, components=components, scan=scan)
    with recorded(home) as records:
        keep_look(resources.tables, settings.source, scan)
        store_state = read_store_state(resources.store, settings.grouping)
        changes = resources.changes(records, store_state, is_confirmed=confirm_removal)
    if changes.doubt and partitions is None:
        raise SourceError(changes.explain_doubt())
    to_build = _select(changes, partitions, force=force)
    removed = changes.removed if partitions is None else ()
    report = BuildReport(changes, scan.inventory.skipped)
    if to_build and components is None:
        # The token counter first: its missing file is reported before endpoints are called.
        resources.components().counter.count(["a look"])
        look_up_endpoints(settings)
    if to_build or removed:
        check_writable(settings.store)
        _run_plan(report, resources, to_build, removed, on_plan, on_progress)
    if report.failed and not (used := resources.components()).quotes:
        report.n_kept = used.cache.count_texts()
    return report


def update_corpus_tree(
    home: Home,
    settings: Settings,
    *,
    force: bool = False,
    components: Components | None = None,
    on_plan: Planned = _ignore_plan,
    on_progress: Watch = ignore_progress,
) -> BuildReport | None:
    """Build the corpus tree, if the settings have one. Raises as ``build``."""
    from raptor_assets.project.corpus_tree import corpus_tree_resources, refresh
    from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME

    above = corpus_tree_resources(Resources(settings, home, components=components))
    if refresh(above) < settings.corpus_tree.min_trees:
        with recorded(above.home) as records:
            there = CORPUS_TREE_NAME in records.partitions()
        return drop(above.home, above.settings, [CORPUS_TREE_NAME]) if there else None
    source = above.source.settings
    return build(
        above.home,
        above.settings.model_copy(update={"source": source}),
        force=force,
        scan=look(above.tables, source),
        components=above.components(),
        on_plan=on_plan,
        on_progress=on_progress,
    )


def _run_plan(
    report: BuildReport,
    resources: Resources,
    to_build: Collection[str],
    removed: Collection[str],
    on_plan: Planned,
    watch: Watch,
) -> None:
    from raptor_assets import keys
    from raptor_assets.project.runs import runs_over

    changes = report.changes
    max_layers = resources.settings.tree.max_layers
    on_plan(to_build, [key.to_user_string() for key in keys.chain_keys(max_layers)])
    with open_instance(resources.home) as instance:
        runner = _Runner(instance, resources, report, watch)
        if new := [name for name in changes.new if name in to_build]:
            instance.add_dynamic_partitions(resources.names.partitions, new)
        for run in runs_over(changes.in_order(to_build)):
            runner.build(run)
        if droppable := [n for n in changes.droppable(report.failed) if n in removed]:
            runner.drop(droppable)


def look_up_endpoints(settings: Settings) -> None:
    """Check each endpoint of a build once: that it accepts the key and has the model."""
    endpoints = settings.build_endpoints.values()
    distinct = {(part.base_url, part.model, part.api_key_env): part for part in endpoints}
    for part in distinct.values():
        EndpointClient(part).look_up()


def drop(home: Home, settings: Settings, partitions: Sequence[str]) -> BuildReport:
    """Remove partitions with their vectors and tables, even if no home records them."""
    resources = Resources(settings, home)
    report = BuildReport(Changes((), (), (), tuple(partitions), (), {}))
    with open_instance(home) as instance:
        records = instance.get_dynamic_partitions(resources.names.partitions)
        known = existing_partitions(records, resources.store, settings.grouping, partitions)
        refuse_unknown("partition is called", partitions, known)
        _Runner(instance, resources, report, ignore_progress).drop(partitions)
    return report


class _Runner:
    """Runner of a home's jobs in this process, which adds their results to a report."""

    def __init__(
        self, instance: dg.DagsterInstance, resources: Resources, report: BuildReport, watch: Watch
    ) -> None:
        from raptor_assets.standalone.code_location import build_definitions

        self._instance = instance
        self._home, self._names = resources.home, resources.names
        self._report = report
        self._callback = watch
        self._defs = build_definitions(resources=resources, progress=self._watch)

    def build(self, partitions: Sequence[str]) -> None:
        """Build partitions in one run; those without an outcome failed with it."""
        from raptor_assets.project.jobs import BUILD
        from raptor_assets.project.runs import run_config, run_tags

        config = run_config(partitions, self._names)
        error = self._execute(BUILD, config, run_tags(partitions))
        done = {*self._report.built, *self._report.failed}
        if error:
            failed = Failure("run", error)
            self._report.failed |= {name: failed for name in partitions if name not in done}

    def drop(self, partitions: Sequence[str]) -> None:
        """Remove partitions in one run."""
        from raptor_assets.project.jobs import DROP, drop_config

        error = self._execute(DROP, drop_config(list(partitions), self._names), {})
        remaining = set(self._instance.get_dynamic_partitions(self._names.partitions))
        self._report.dropped += [name for name in partitions if name not in remaining]
        if error:
            failed = Failure(DROP, error)
            self._report.failed |= {name: failed for name in partitions if name in remaining}

    def _execute(self, job: str, config: Mapping[str, Any], tags: Mapping[str, str]) -> str:
        """Run a job; return the reason of its failure, or ""."""
        from raptor_assets.project.runs import run_job

        # A run plans an event for each asset and check at its start: write them in batches.
        os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "1000")
        location = None if self._home.owner.names().corpus else CODE_LOCATION
        resolved = self._defs.resolve_job_def(self._names.of(job))
        run_id, error = run_job(resolved, self._instance, {**_LOGGERS, **config}, tags, location)
        self._report.run_ids.append(run_id)
        return error

    def _watch(self, progress: Progress) -> None:
        report = self._report
        report.failed.update(progress.failed)
        report.odd.update(progress.odd)
        report.produced[progress.asset] += progress.n_made
        if progress.asset == TREE and progress.share == 1:
            report.built += [n for n in progress.partitions if n not in progress.failed]
        self._callback(progress)


def _select(changes: Changes, partitions: Collection[str] | None, *, force: bool) -> set[str]:
    in_source = {*changes.to_build, *changes.unchanged}
    selected = in_source if force else set(changes.to_build_now)
    if partitions is None:
        return selected
    refuse_unknown("partition is called", partitions, in_source)
    return selected & set(partitions)
