"""Builds and drops in this process, recorded as Dagster runs: what the command calls."""

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
    """What a build did.

    Attributes:
        changes: the plan it followed.
        skipped: what in the source could not be read.
        built: partitions that were built and published.
        failed: partitions that were not, and why; what was published of them stays.
        dropped: partitions that were removed.
        run_ids: Dagster runs, in order.
        odd: by partition, documents whose text looks as if it had been read wrongly.
        made: texts that were embedded or written, by asset; what was known is not among them.
    """

    changes: Changes
    skipped: tuple[Skipped, ...] = ()
    built: list[str] = field(default_factory=list)
    failed: dict[str, Failure] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    odd: dict[str, str] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)

    @property
    def unchanged(self) -> list[str]:
        """Partitions that were up to date, and were not built all the same."""
        touched = {*self.built, *self.failed}
        return [name for name in self.changes.unchanged if name not in touched]

    @property
    def succeeded(self) -> bool:
        """Whether no partition failed."""
        return not self.failed


def build(
    home: Home,
    settings: Settings,
    partitions: Collection[str] | None = None,
    *,
    force: bool = False,
    confirm_removal: bool = False,
    scan: Scan | None = None,
    components: Components | None = None,
    on_plan: Callable[[Collection[str], Sequence[str]], None] = lambda _partitions, _assets: None,
    on_progress: Watch = ignore_progress,
) -> BuildReport:
    """Bring the trees in step with the source: build what is new or changed, drop what is gone.

    Args:
        partitions: only these; nothing is dropped then. None for all.
        force: also those that are up to date, after everything published was read and what is
            damaged taken away; finished work is still reused.
        confirm_removal: a person confirmed that documents are gone, however many.
        scan: the source where it was looked at already.
        components: in place of those that the settings would make.
        on_plan: told of the partitions that will be built and the assets of each, before the first.

    Raises:
        UnknownTreeError: a partition is named that the source does not hold.
        SourceError: the source cannot be read, or is empty, or so many documents are gone that a
            person has to confirm it; nothing was changed.
        StoreError: the store cannot be read, or its key may not write; nothing was changed.
        ModelError: what counts tokens cannot be loaded; nothing was changed.
        MissingKeyError, EndpointError: an endpoint that the settings name was not reached, or
            refuses the key or the model; nothing was changed.
    """
    scan = scan or look(home.table_store(settings), settings.source)
    resources = Resources(settings, home, components=components, scan=scan)
    with recorded(home) as records:
        keep_look(resources.tables, settings.source, scan)
        store_state = read_store_state(resources.store, settings.grouping, mend=force)
        changes = resources.changes(records, store_state, is_confirmed=confirm_removal)
    if changes.doubt and partitions is None:
        raise SourceError(changes.explain_doubt())
    due = _chosen(changes, partitions, force=force)
    removed = changes.removed if partitions is None else ()
    report = BuildReport(changes, scan.inventory.skipped)
    if due and components is None:
        # What counts tokens first: a missing file of it is told before endpoints are asked.
        resources.components().counter.count(["a look"])
        look_up_endpoints(settings)
    if due or removed:
        check_writable(settings.store)
        _follow(report, resources, due, removed, on_plan, on_progress)
    return report


def update_corpus_tree(
    home: Home,
    settings: Settings,
    *,
    force: bool = False,
    components: Components | None = None,
    on_plan: Callable[[Collection[str], Sequence[str]], None] = lambda _partitions, _assets: None,
    on_progress: Watch = ignore_progress,
) -> BuildReport | None:
    """Bring the corpus tree in step with what is published; None where there is none.

    Raises:
        RaptorError: as ``build``.
    """
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


def _follow(
    report: BuildReport,
    resources: Resources,
    due: Collection[str],
    removed: Collection[str],
    on_plan: Callable[[Collection[str], Sequence[str]], None],
    watch: Watch,
) -> None:
    """Build the partitions that are due, then drop those removed whose documents are safe."""
    from raptor_assets import keys
    from raptor_assets.project.runs import runs_over

    changes = report.changes
    max_layers = resources.settings.tree.max_layers
    on_plan(due, [key.to_user_string() for key in keys.chain_keys(max_layers)])
    with open_instance(resources.home) as instance:
        runner = _Runner(instance, resources, report, watch)
        if new := [name for name in changes.new if name in due]:
            instance.add_dynamic_partitions(resources.names.partitions, new)
        for run in runs_over(changes.in_order(due)):
            runner.build(run)
        if droppable := [n for n in changes.droppable(report.failed) if n in removed]:
            runner.drop(droppable)


def look_up_endpoints(settings: Settings) -> None:
    """Ask each endpoint that a build calls, once, whether it takes the key and has the model.

    Raises:
        MissingKeyError: an endpoint needs a key, and none is set.
        EndpointError: one was not reached, or refuses; the message holds its words.
    """
    asked = set()
    for part in settings.build_endpoints.values():
        where = (part.base_url, part.model, part.api_key_env)
        if where not in asked:
            asked.add(where)
            EndpointClient(part).look_up()


def drop(home: Home, settings: Settings, partitions: Sequence[str]) -> BuildReport:
    """Remove partitions with their vectors and tables; also such as no home records any more.

    Raises:
        UnknownTreeError: there is no such partition.
    """
    resources = Resources(settings, home)
    report = BuildReport(Changes((), (), (), tuple(partitions), (), {}))
    with open_instance(home) as instance:
        recorded_ones = instance.get_dynamic_partitions(resources.names.partitions)
        known = existing_partitions(recorded_ones, resources.store, settings.grouping, partitions)
        refuse_unknown("partition is called", partitions, known)
        _Runner(instance, resources, report, ignore_progress).drop(partitions)
    return report


class _Runner:
    """Runs the jobs of a home in this process, and keeps in a report what came of them."""

    def __init__(
        self,
        instance: dg.DagsterInstance,
        resources: Resources,
        report: BuildReport,
        watch: Watch,
    ) -> None:
        from raptor_assets.standalone.code_location import build_definitions

        self._instance = instance
        self._home, self._names = resources.home, resources.names
        self._report = report
        self._tell = watch
        self._defs = build_definitions(resources=resources, progress=self._watch)

    def build(self, partitions: Sequence[str]) -> None:
        """Build them in one run; one without an outcome failed with it."""
        from raptor_assets.project.jobs import BUILD
        from raptor_assets.project.runs import run_config, run_tags

        config = run_config(partitions, self._names)
        error = self._execute(BUILD, config, run_tags(partitions))
        done = {*self._report.built, *self._report.failed}
        if error:
            failed = Failure("run", error)
            self._report.failed |= {name: failed for name in partitions if name not in done}

    def drop(self, partitions: Sequence[str]) -> None:
        """Remove them in one run."""
        from raptor_assets.project.jobs import DROP, drop_config

        error = self._execute(DROP, drop_config(list(partitions), self._names), {})
        left = set(self._instance.get_dynamic_partitions(self._names.partitions))
        self._report.dropped += [name for name in partitions if name not in left]
        if error:
            failed = Failure(DROP, error)
            self._report.failed |= {name: failed for name in partitions if name in left}

    def _execute(self, job: str, config: Mapping[str, Any], tags: Mapping[str, str]) -> str:
        """Why the run failed; empty if it did not."""
        from raptor_assets.project.runs import run_job

        # What a run plans at its start is handed over at once: an event for each asset and check.
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
        report.made[progress.asset] += progress.n_made
        if progress.asset == TREE and progress.share == 1:
            report.built += [n for n in progress.partitions if n not in progress.failed]
        self._tell(progress)


def _chosen(changes: Changes, partitions: Collection[str] | None, *, force: bool) -> set[str]:
    in_source = {*changes.to_build, *changes.unchanged}
    due = in_source if force else set(changes.to_build)
    if partitions is None:
        return due
    refuse_unknown("partition is called", partitions, in_source)
    return due & set(partitions)
