"""Builds and drops in this process, recorded as Dagster runs: what the command calls."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dagster_project.instance import open_instance, recorded
from raptor_assets.names import TREE
from raptor_assets.project.home import Home
from raptor_assets.project.plan import Changes
from raptor_assets.project.resources import Resources
from raptor_assets.project.source_state import keep_look, look
from raptor_assets.project.store_state import read_store_state
from raptor_core.documents import Scan, Skipped
from raptor_core.errors import SettingsError
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.settings import Settings
from raptor_core.store import check_writable
from raptor_core.tree.components import Components

if TYPE_CHECKING:
    import dagster as dg

    from dagster_project.running import Ran
    from raptor_assets.chain import Progress
    from raptor_assets.partition_state import Failure

LOCATION = "dagster_project.definitions"
_LOGGERS = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

_BATCH_SIZE = "DAGSTER_EVENT_BATCH_SIZE"
_BATCH_EVENTS = "1000"
"""Makes Dagster hand over at once what it plans at the start of a run: an event for each asset and
check."""


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
    scan: Scan | None = None,
    components: Components | None = None,
    on_plan: Callable[[Collection[str], Sequence[str]], None] = lambda _partitions, _assets: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> BuildReport:
    """Bring the trees in step with the source: build what is new or changed, drop what is gone.

    Args:
        home: where everything is kept.
        settings: of the build.
        partitions: only these; nothing is dropped then. None for all.
        force: also those that are up to date, after everything published was read and what is
            damaged taken away; finished work is still reused.
        scan: the source where it was looked at already.
        components: in place of those that the settings would make.
        on_plan: told of the partitions that will be built and the assets of each, before the first.
        on_progress: told of each step.

    Raises:
        SettingsError: a partition is named that the source does not hold.
        SourceError: the source cannot be read, or is empty; nothing was changed.
        StoreError: the store cannot be read, or its key may not write; nothing was changed.
        MissingKeyError, EndpointError: an endpoint that the settings name was not reached, or
            refuses the key or the model; nothing was changed.
    """
    scan = scan or look(home.table_store(settings), settings.source)
    resources = Resources(settings, home, components=components, scan=scan)
    with recorded(home) as records:
        keep_look(resources.tables, settings.source, scan)
        store_state = read_store_state(resources.store, settings.grouping, mend=force)
        changes = resources.changes(records, store_state)
    due = _chosen(changes, partitions, force=force)
    removed = changes.removed if partitions is None else ()
    report = BuildReport(changes, scan.inventory.skipped)
    if due and components is None and settings.build_endpoints:
        # What counts tokens first: a missing file of it is told before the network is asked.
        resources.components.components().counter.count(["a look"])
        look_up_endpoints(settings)
    if due or removed:
        check_writable(settings.store)
        _follow(report, resources, due, removed, on_plan, _Watch(report, on_progress))
    return report


def build_above(
    home: Home,
    settings: Settings,
    *,
    force: bool = False,
    components: Components | None = None,
    on_plan: Callable[[Collection[str], Sequence[str]], None] = lambda _partitions, _assets: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> BuildReport | None:
    """Bring the tree above the trees in step with what is published; None where there is none.

    Raises:
        RaptorError: as ``build``.
    """
    from raptor_assets.project.overview import overview_resources, refresh
    from raptor_core.tree.overview import OVERVIEW

    above = overview_resources(Resources(settings, home, components=components))
    if refresh(above) < settings.corpus.min_trees:
        with recorded(above.home) as records:
            there = OVERVIEW in records.partitions()
        return drop(above.home, above.settings, [OVERVIEW]) if there else None
    source = above.source.settings
    return build(
        above.home,
        above.settings.model_copy(update={"source": source}),
        force=force,
        scan=look(above.tables, source),
        components=above.components.components(),
        on_plan=on_plan,
        on_progress=on_progress,
    )


def _follow(
    report: BuildReport,
    resources: Resources,
    due: Collection[str],
    removed: Collection[str],
    on_plan: Callable[[Collection[str], Sequence[str]], None],
    watch: _Watch,
) -> None:
    """Build the partitions that are due, then drop those removed whose documents are safe."""
    from dagster_project.build import build_definitions
    from raptor_assets import keys
    from raptor_assets.project.jobs import BUILD
    from raptor_assets.project.runs import run_config, run_tags, runs_over

    changes, corpus = report.changes, resources.names
    home, settings = resources.home, resources.settings
    on_plan(due, [key.to_user_string() for key in keys.chain_keys(settings.tree.max_layers)])
    defs = build_definitions(settings, home, resources=resources, progress=watch)
    with open_instance(home) as instance:
        if new := [name for name in changes.new if name in due]:
            instance.add_dynamic_partitions(corpus.partitions, new)
        for run in runs_over(changes.in_order(due)):
            config = run_config(run, corpus)
            ran = _execute(defs, instance, BUILD, home, tags=run_tags(run), run_config=config)
            report.run_ids.append(ran.run_id)
            watch.close(run, ran)
        if droppable := [n for n in changes.droppable(report.failed) if n in removed]:
            _drop(defs, instance, droppable, report, home)


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
    """Remove partitions with their vectors and tables.

    Raises:
        SettingsError: there is no such partition.
    """
    from dagster_project.build import build_definitions

    with open_instance(home) as instance:
        known = set(instance.get_dynamic_partitions(home.names().partitions))
        _require_known(partitions, known, "partition")
        changes = Changes((), (), (), tuple(partitions), (), {})
        report = BuildReport(changes)
        _drop(build_definitions(settings, home), instance, partitions, report, home)
    return report


class _Watch:
    """Passes progress on, and keeps what failed and what was published."""

    def __init__(self, report: BuildReport, tell: Callable[[Progress], None]) -> None:
        self._report = report
        self._tell = tell

    def __call__(self, progress: Progress) -> None:
        self._report.failed.update(progress.failed)
        self._report.odd.update(progress.odd)
        self._report.made[progress.asset] += progress.n_made
        if progress.asset == TREE and progress.share == 1:
            self._report.built += [n for n in progress.partitions if n not in progress.failed]
        self._tell(progress)

    def close(self, partitions: Sequence[str], ran: Ran) -> None:
        """A partition without an outcome failed with its run."""
        from raptor_assets.partition_state import Failure

        done = {*self._report.built, *self._report.failed}
        if ran.error:
            failed = Failure("run", ran.error)
            self._report.failed |= {name: failed for name in partitions if name not in done}


def _drop(
    defs: dg.Definitions,
    instance: dg.DagsterInstance,
    partitions: Sequence[str],
    report: BuildReport,
    home: Home,
) -> None:
    from raptor_assets.partition_state import Failure
    from raptor_assets.project.jobs import DROP, drop_config

    corpus = home.names()
    config = drop_config(list(partitions), corpus)
    ran = _execute(defs, instance, DROP, home, run_config=config)
    report.run_ids.append(ran.run_id)
    left = set(instance.get_dynamic_partitions(corpus.partitions))
    report.dropped += [name for name in partitions if name not in left]
    if ran.error:
        failed = Failure(DROP, ran.error)
        report.failed |= {name: failed for name in partitions if name in left}


def _execute(
    defs: dg.Definitions,
    instance: dg.DagsterInstance,
    job: str,
    home: Home,
    *,
    tags: dict[str, str] | None = None,
    run_config: dict[str, Any] | None = None,
) -> Ran:
    from dagster_project.running import run_job

    os.environ.setdefault(_BATCH_SIZE, _BATCH_EVENTS)
    config = {**_LOGGERS, **(run_config or {})}
    location = None if home.owner.names().corpus else LOCATION
    resolved = defs.resolve_job_def(home.names().of(job))
    return run_job(resolved, instance, config, tags or {}, location)


def _chosen(changes: Changes, partitions: Collection[str] | None, *, force: bool) -> set[str]:
    in_source = {*changes.to_build, *changes.unchanged}
    if partitions is not None:
        _require_known(partitions, in_source, "partition in the source")
    due = in_source if force else set(changes.to_build)
    return due if partitions is None else due & set(partitions)


def _require_known(given: Collection[str], known: Collection[str], what: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        some = ", ".join(sorted(known)[:5]) or "none"
        raise SettingsError(f"there is no {what} called {unknown[0]!r}; there are: {some}")
