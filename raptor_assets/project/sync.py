"""The job without partitions that finds changes, adds partitions, builds and drops.

It is for command lines, schedules and the first build. The sensor requests runs of the other jobs.
"""

from collections.abc import Iterator, Sequence

import dagster as dg
from pydantic import Field

from raptor_assets import keys
from raptor_assets.chain import ChainRun, Event, Events
from raptor_assets.names import SOURCE, SYNC
from raptor_assets.process import turn_tags
from raptor_assets.progress import Watch, ignore_progress
from raptor_assets.project.corpus_tree import prepare
from raptor_assets.project.jobs import drop_all, still_removed
from raptor_assets.project.plan import Changes
from raptor_assets.project.records import DagsterRecords
from raptor_assets.project.resources import Resources
from raptor_assets.project.runs import fail_dead_runs
from raptor_assets.project.store_state import read_store_state
from raptor_core.errors import RaptorError, SourceError
from raptor_core.home.published import refuse_unknown


class SyncConfig(dg.Config):
    """Configuration of a run that builds what changed; every part has a default."""

    partitions: list[str] = Field(
        default=[],
        description="Partitions to build in one run, changed or not, neighbours or not; nothing is "
        "dropped then. Empty builds all that changed.",
    )
    confirm_removal: bool = Field(
        default=False, description="Documents that are missing are gone on purpose, however many."
    )


def explain_waiting(resources: Resources, instance: dg.DagsterInstance) -> str:
    """Return why the source of a corpus cannot be read yet, "" if it can."""
    if reason := prepare(resources, instance):
        return reason
    corpus = resources.names
    if resources.source.settings.is_named:
        return ""
    if corpus.follows:
        return f"{corpus.shown(SOURCE)} was not materialized yet; its upstream asset triggers it"
    return "no source is named; set paths under [source] in raptor.toml"


def build_sync_job(resources: Resources, progress: Watch = ignore_progress) -> dg.JobDefinition:
    """Return the job that builds what is new or changed, and drops what is gone."""
    corpus = resources.names

    @dg.op(
        name=corpus.of(f"{SYNC}_step"),
        description="Find changed documents, add partitions, build, check and publish their trees, "
        "drop partitions whose documents are gone.",
        out=dg.Out(dg.Nothing),
        pool=corpus.of(keys.POOL),
    )
    def sync(
        context: dg.OpExecutionContext, config: SyncConfig
    ) -> Iterator[Event | dg.Output[None]]:
        try:
            yield from _sync(context, config, resources, progress)
        except RaptorError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        yield dg.Output(None)

    @dg.job(
        name=corpus.of(SYNC),
        description="Build what is new or changed and drop what is gone; it needs no partition.",
        executor_def=dg.in_process_executor,
    )
    def sync_job() -> None:
        sync()

    return sync_job


def _sync(
    context: dg.OpExecutionContext, config: SyncConfig, resources: Resources, progress: Watch
) -> Events:
    instance, corpus = context.instance, resources.names
    fail_dead_runs(instance)
    if reason := explain_waiting(resources, instance):
        raise SourceError(reason)
    changes = _find_changes(context, resources, is_confirmed=config.confirm_removal)
    to_build = _select(changes, config.partitions)
    if new := [name for name in changes.new if name in to_build]:
        instance.add_dynamic_partitions(corpus.partitions, new)
    run = ChainRun(context, changes.in_order(to_build), resources, progress)
    instance.add_run_tags(context.run_id, turn_tags(context))
    if to_build:
        yield from run.events()
    if not config.partitions and (removed := changes.droppable(run.failures)):
        is_confirmed = config.confirm_removal
        removed = tuple(still_removed(context, resources, removed, is_confirmed=is_confirmed))
        yield from drop_all(context, resources, run.turn, removed)
    run.raise_failures()


def _find_changes(
    context: dg.OpExecutionContext, resources: Resources, *, is_confirmed: bool
) -> Changes:
    """Return the changes and log them, or raise a SourceError if a person has to confirm them."""
    stored = read_store_state(resources.store, resources.settings.grouping)
    records = DagsterRecords(context.instance, resources.names)
    changes = resources.changes(records, stored, is_confirmed=is_confirmed)
    if changes.doubt:
        raise SourceError(
            f"{changes.explain_doubt()}, or launch {resources.names.of(SYNC)} with "
            "`confirm_removal: true` in its configuration"
        )
    counts = ("new", "changed", "unchanged", "removed", "withheld", "orphaned")
    context.log.info(", ".join(f"{len(getattr(changes, name))} {name}" for name in counts))
    return changes


def _select(changes: Changes, partitions: Sequence[str]) -> tuple[str, ...]:
    if not partitions:
        return changes.to_build
    refuse_unknown("partition is called", partitions, {*changes.to_build, *changes.unchanged})
    return tuple(dict.fromkeys(partitions))
