"""The sensor that requests builds and drops when the source changes; ``changes`` decides."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from pydantic import BaseModel

from raptor_assets.assets.names import BUILD, DROP, CorpusNames, corpus_partitions, listed
from raptor_assets.chain.runs import (
    fail_dead_runs,
    run_config,
    run_tags,
    runs_over,
    unfinished_runs,
)
from raptor_assets.corpus.changes import Changes, changes_of
from raptor_assets.corpus.jobs import drop_config
from raptor_assets.corpus.sync import explain_waiting
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.readers import loses_readers
from raptor_core.documents import Inventory
from raptor_core.errors import EmptySourceError, StoreLockedError
from raptor_core.identity import digest
from raptor_core.settings import RunsSettings

INTERVAL_SECONDS = 30
NAMED = 10  # files and partitions that a skip reason names


class _Cursor(BaseModel, frozen=True):
    """State between ticks.

    Attributes:
        source: digest of the source, the decisions and the settings at the last look.
        number: how often it has changed; a part of each request's key.
        removed: partitions that wait to be dropped.
        holds: trees that stay at an earlier build.
    """

    source: str = ""
    number: int = 0
    removed: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()


def build_source_sensor(access: CorpusAccess, targets: Sequence[Any]) -> dg.SensorDefinition:
    """Return the sensor over the source of a home; ``targets`` are the build and the drop job.

    It is off until a person switches it on, in the UI or by ``source.watch``, since builds may cost
    money. An unreadable source fails the tick, an empty one skips it; neither removes anything.
    While a removal needs a person's confirmation (``decide_removals``), ticks request nothing.

    A tick looks at the source while no run of the corpus is under way, and requests each change
    once; Dagster retries failed runs as its instance says (``run_retries``). A partition whose
    document moved is dropped when its new partition is published, and while files are being
    written, a tick later.
    """

    @dg.sensor(
        name=access.names.of("source_sensor"),
        description="Finds new, changed and removed documents and requests exactly the "
        "partitions concerned.",
        jobs=targets,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING
        if access.settings.source.watch
        else dg.DefaultSensorStatus.STOPPED,
    )
    def source_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        return _tick(context, access)

    return source_sensor


def _tick(
    context: dg.SensorEvaluationContext, access: CorpusAccess
) -> dg.SensorResult | dg.SkipReason:
    if reason := _explain_waiting(context.instance, access):
        return dg.SkipReason(reason)
    corpus = access.names
    begun = context.instance.get_dynamic_partitions(corpus.partitions)
    cursor = _Cursor.model_validate_json(context.cursor or "{}")
    try:
        inventory = access.source.inventory()
    except EmptySourceError as error:
        return dg.SkipReason(
            f"{error}. The {len(begun)} partitions stay as they are; to remove them, run the job "
            f"{corpus.of(DROP)}"
        )
    source = _digest(inventory, access)
    is_released = bool(cursor.holds) and access.held_trees(cursor.holds) != {*cursor.holds}
    is_new = source != cursor.source or is_released
    if not (is_new or cursor.removed):
        return dg.SkipReason("no file changed since the last request")
    try:
        takes_rights = loses_readers(access)
        changes = changes_of(access, begun, inventory)
    except StoreLockedError as error:
        return dg.SkipReason(str(error))
    for new, old in changes.renamed.items():
        context.log.info(f"{new} was {old}: its texts and vectors are reused")
    if changes.doubt:
        config = drop_config([], corpus, only_gone=True)
        request = dg.RunRequest(digest(DROP, source), config, job_name=corpus.of(DROP))
        return dg.SensorResult(  # rights are taken also while nothing is built
            run_requests=[request] if takes_rights else [],
            cursor=context.cursor,
            skip_reason=None if takes_rights else _explain_doubt(changes, corpus),
        )
    following = _Cursor(source=source, number=cursor.number + is_new, holds=tuple(changes.holds))
    runs = access.settings.runs
    return _request(corpus, changes, following, runs, is_new=is_new, takes_rights=takes_rights)


def _explain_waiting(instance: dg.DagsterInstance, access: CorpusAccess) -> str:
    """Return why nothing can be requested yet, "" if it can."""
    fail_dead_runs(instance)
    for run in unfinished_runs(instance, access.names):
        return f"the run {run.run_id} of {run.job_name} has not ended"
    return explain_waiting(access, instance)


def _digest(inventory: Inventory, access: CorpusAccess) -> str:
    decisions = (decision.id for decision in access.curation().decisions)
    skipped = (f"{item.name}\0{item.is_empty}" for item in inventory.skipped)
    digests = (digest("part", *part) for part in (skipped, decisions))
    return digest("source", access.build_version, inventory.digest, *digests)


def _request(
    corpus: CorpusNames,
    changes: Changes,
    cursor: _Cursor,
    runs: RunsSettings,
    *,
    is_new: bool,
    takes_rights: bool,
) -> dg.SensorResult:
    """Request what the source's change needs, and removals that waited.

    Every build takes rights first. Without a build the job that drops takes them.
    """
    to_build = changes.in_order(changes.to_build) if is_new else []
    removed = changes.droppable(changes.to_build)
    waiting = tuple(name for name in changes.removed if name not in removed)
    jobs: list[tuple[str, Sequence[str], dict[str, str], dict[str, Any]]] = [
        (BUILD, part, run_tags(part), run_config(part, corpus))
        for part in runs_over(to_build, runs.max_partitions)
    ]
    if removed or changes.to_forget or (takes_rights and not to_build):
        jobs.append((DROP, removed, {}, drop_config(list(removed), corpus, only_gone=True)))
    added = corpus_partitions(corpus.corpus).build_add_request(to_build)
    following = cursor.model_copy(update={"removed": waiting})
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=digest(job, str(cursor.number), *partitions),
                job_name=corpus.of(job),
                run_config=config,
                tags=tags,
            )
            for job, partitions, tags, config in jobs
        ],
        dynamic_partitions_requests=[added] if to_build else [],
        cursor=following.model_dump_json(),
        skip_reason=None if jobs else _skip_reason(changes, waiting),
    )


def _explain_doubt(changes: Changes, corpus: CorpusNames) -> str:
    return (
        f"{changes.explain_doubt()}, or launch the job {corpus.of('sync')} with "
        f"`confirm_removal: true`; or drop them by the job {corpus.of(DROP)}"
    )


def _skip_reason(changes: Changes, waiting: Sequence[str]) -> str:
    reasons = [f"{len(changes.unchanged)} partitions are up to date"]
    if changes.to_build:
        named = listed(changes.to_build, NAMED)
        reasons.append(f"failed or cancelled, so start them again: {named}")
    if changes.withheld:
        unread = listed(changes.withheld, NAMED)
        reasons.append(f"{len(changes.withheld)} cannot be read now and stay: {unread}")
    if changes.holds:
        reasons.append(f"held at an earlier build: {listed(sorted(changes.holds), NAMED)}")
    if waiting:
        reasons.append(f"{len(waiting)} to drop wait until what took their place is published")
    return "; ".join(reasons)
