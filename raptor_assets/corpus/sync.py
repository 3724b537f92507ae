"""The job without partitions that finds changes, adds partitions, builds and drops.

It is for command lines, schedules and the first build. The sensor requests runs of the other jobs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dagster as dg
from pydantic import Field

from raptor_assets.assets.names import POOL, SYNC
from raptor_assets.chain.run import ChainRun, Event, Events
from raptor_assets.chain.runs import fail_dead_runs, process_tags, turn
from raptor_assets.corpus.changes import Changes, changes_of
from raptor_assets.corpus.corpus_tree import prepare
from raptor_assets.corpus.jobs import drop_all, still_removed
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.readers import narrow_readers
from raptor_assets.home.versions import forget_gone
from raptor_assets.shown.progress import Watch, ignore_progress
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


def explain_waiting(access: CorpusAccess, instance: dg.DagsterInstance) -> str:
    """Return why the source of a corpus cannot be read yet, "" if it can."""
    if reason := prepare(access, instance):
        return reason
    corpus = access.names
    if access.source.settings.is_named:
        return ""
    if corpus.follows:
        return f"{corpus.source.shown} was not materialized yet; its upstream asset triggers it"
    return "no source is named; set paths under [source] in raptor.toml"


@dataclass(frozen=True, slots=True)
class Sync:
    """Changes, and the partitions of them that a run builds and drops."""

    changes: Changes
    to_build: Sequence[str]
    removed: Sequence[str]


def build_sync_job(
    access: CorpusAccess, progress: Watch = ignore_progress, planned: Sync | None = None
) -> dg.JobDefinition:
    """Return the job that builds what is new or changed, and drops what is gone.

    ``planned`` is what a caller in this process found already.
    """
    corpus = access.names

    @dg.op(
        name=corpus.of(f"{SYNC}_step"),
        description="Find changed documents, add partitions, build, check and publish their trees, "
        "drop partitions whose documents are gone.",
        out=dg.Out(dg.Nothing),
        pool=corpus.of(POOL),
    )
    def sync(
        context: dg.OpExecutionContext, config: SyncConfig
    ) -> Iterator[Event | dg.Output[None]]:
        try:
            context.instance.add_run_tags(context.run_id, process_tags(context))
            with turn(access.home, context):
                yield from _sync(context, config, access, progress, planned)
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
    context: dg.OpExecutionContext,
    config: SyncConfig,
    access: CorpusAccess,
    progress: Watch,
    planned: Sync | None,
) -> Events:
    instance, corpus = context.instance, access.names
    fail_dead_runs(instance)
    if reason := explain_waiting(access, instance):
        raise SourceError(reason)
    if n_nodes := narrow_readers(access):
        context.log.info(f"{n_nodes} nodes change readers, since rights were taken away")
    sync = planned or _plan(context, config, access)
    forget_gone(access, sync.changes.to_forget)
    if sync.to_build:
        instance.add_dynamic_partitions(corpus.partitions, sorted(sync.to_build))
    run = ChainRun(context, sync.changes.in_order(sync.to_build), access, progress)
    if sync.to_build:
        yield from run.events()
    droppable = sync.changes.droppable(run.failures)
    if removed := [name for name in droppable if name in sync.removed]:
        drop_all(context, access, *still_removed(context, access, removed))
    run.raise_failures()


def _plan(context: dg.OpExecutionContext, config: SyncConfig, access: CorpusAccess) -> Sync:
    """Find the changes and log them, or raise a SourceError if a person has to confirm them."""
    begun = context.instance.get_dynamic_partitions(access.names.partitions)
    changes = changes_of(access, begun, is_confirmed=config.confirm_removal)
    if changes.doubt:
        raise SourceError(
            f"{changes.explain_doubt()}, or launch {access.names.of(SYNC)} with "
            "`confirm_removal: true` in its configuration"
        )
    counts = ("new", "changed", "unchanged", "removed", "withheld")
    context.log.info(", ".join(f"{len(getattr(changes, name))} {name}" for name in counts))
    chosen = tuple(dict.fromkeys(config.partitions))
    if not chosen:
        return Sync(changes, changes.to_build, changes.removed)
    refuse_unknown("partition is called", chosen, changes.buildable)
    return Sync(changes, chosen, ())
