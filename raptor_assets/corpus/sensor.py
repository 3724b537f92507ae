"""The sensor that requests the sync job when the source, decisions or settings change."""

from collections.abc import Sequence

import dagster as dg
from pydantic import BaseModel

from raptor_assets.assets.names import DROP, SYNC, CorpusNames, join_first
from raptor_assets.chain.runs import fail_dead_runs, split_into_runs, unfinished_runs
from raptor_assets.corpus.changes import (
    Changes,
    PartitionChange,
    RefuseRun,
    SyncDecision,
    decide_run,
)
from raptor_assets.corpus.jobs import to_run_config
from raptor_assets.corpus.sync import explain_waiting
from raptor_assets.home.access import CorpusAccess
from raptor_core.documents import Inventory
from raptor_core.errors import EmptySourceError, StoreLockedError
from raptor_core.identity import digest

NAMED = 10  # files and partitions that a skip reason names


class _SourceCursor(BaseModel, frozen=True):
    """State between ticks.

    Attributes:
        source: digest of the source, the decisions and the settings that were handled.
        number: how often that changed or a pin ended; a part of each request's key.
        begun: digest whose partitions were requested in several runs, which may still work.
        pins: trees that are pinned to an earlier build.
    """

    source: str = ""
    number: int = 0
    begun: str = ""
    pins: tuple[str, ...] = ()


def build_source_sensor(access: CorpusAccess, sync: dg.JobDefinition) -> dg.SensorDefinition:
    """Build the sensor that watches the source; ``sync`` is the job that it requests.

    It is off until a person switches it on, in the UI or by ``source.watch``, since builds may cost
    money. A tick fails if the source cannot be read, and is skipped if it is empty. Neither removes
    anything, but both revoke read access that the source no longer grants.

    A tick scans the source unless a run of the corpus is in progress, and requests each change
    once; Dagster retries failed runs by its instance's settings (``run_retries``). If more than
    ``runs.max_partitions`` partitions changed, several runs build them, and a last run drops what
    is gone.
    """

    @dg.sensor(
        name=access.names.full_name("source_sensor"),
        description="Finds new, changed and removed documents, and requests the run that handles "
        "exactly the partitions concerned.",
        job=sync,
        minimum_interval_seconds=access.settings.source.watch_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING
        if access.settings.source.watch
        else dg.DefaultSensorStatus.STOPPED,
    )
    def source_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        return _evaluate_tick(context, access)

    return source_sensor


def _evaluate_tick(
    context: dg.SensorEvaluationContext, access: CorpusAccess
) -> dg.SensorResult | dg.SkipReason:
    if reason := _explain_waiting(context.instance, access):
        return dg.SkipReason(reason)
    cursor = _SourceCursor.model_validate_json(context.cursor or "{}")
    inventory = access.source.current_inventory()
    source = _digest_source(inventory, access)
    is_released = bool(cursor.pins) and access.pinned_trees(cursor.pins) != {*cursor.pins}
    if source == cursor.source and not is_released:
        return dg.SkipReason("no file changed since the last request")
    begun = context.instance.get_dynamic_partitions(access.names.partitions_name)
    try:
        decision = decide_run(access, begun, inventory)
    except StoreLockedError as error:
        return dg.SkipReason(str(error))
    for new, old in decision.changes.renamed_documents.items():
        context.log.info(f"{new} was {old}: its texts and vectors are reused")
    if decision.refusal and not decision.does_anything:
        return _skip_refused(decision, access.names, len(begun))
    return _request_run(access, decision, cursor, source, is_released=is_released)


def _explain_waiting(instance: dg.DagsterInstance, access: CorpusAccess) -> str:
    """Return why nothing can be requested yet, or ""."""
    fail_dead_runs(instance)
    for run in unfinished_runs(instance, access.names):
        return f"the run {run.run_id} of {run.job_name} has not ended"
    return explain_waiting(access, instance)


def _digest_source(inventory: Inventory, access: CorpusAccess) -> str:
    decisions = (decision.id for decision in access.read_curation().decisions)
    skipped = (f"{item.name}\0{item.is_empty}\0{item.readers}" for item in inventory.skipped)
    digests = (digest("part", *part) for part in (skipped, decisions))
    return digest(
        "source", access.tree_code_version, inventory.digest, str(inventory.failure or ""), *digests
    )


def _skip_refused(decision: SyncDecision, corpus: CorpusNames, n_begun: int) -> dg.SkipReason:
    """Return why nothing is requested until a person acts; raise if the source is unreadable."""
    error = decision.refusal
    assert error is not None  # noqa: S101 - callers pass refused decisions
    if isinstance(error, EmptySourceError):
        return dg.SkipReason(
            f"{error}. The {n_begun} partitions stay as they are; to remove them, run the job "
            f"{corpus.full_name(DROP)}"
        )
    if not decision.changes.removal_doubt:
        raise error
    return dg.SkipReason(
        f"{error}, or launch the job {corpus.full_name(SYNC)} with `confirm_removal: true`; or "
        f"drop them by the job {corpus.full_name(DROP)}"
    )


def _request_run(
    access: CorpusAccess,
    decision: SyncDecision,
    cursor: _SourceCursor,
    source: str,
    *,
    is_released: bool,
) -> dg.SensorResult:
    """Request the run of a decision; many partitions are first built by several runs."""
    changes, corpus, number = decision.changes, access.names, cursor.number
    number += is_released or source not in (cursor.source, cursor.begun)
    pins = tuple(changes.pin_notes)
    parts = split_into_runs(decision.to_build, access.settings.runs.max_partitions)
    if len(parts) > 1 and cursor.begun != source:
        following = _SourceCursor(source="", number=number, begun=source, pins=pins)
    else:
        parts = [()] if decision.does_anything and decision.actions else []
        refuses = any(isinstance(action, RefuseRun) for action in decision.actions)
        handled = cursor.source if refuses else source
        following = _SourceCursor(source=handled, number=number, pins=pins)
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                job_name=corpus.full_name(SYNC),
                run_key=digest(SYNC, source, str(number), *part),
                run_config=to_run_config(corpus, SYNC, {"partitions": list(part)}),
                tags=_tags_of_changes(part, ())
                if part
                else _tags_of_changes(decision.to_build, decision.to_drop),
            )
            for part in parts
        ],
        cursor=following.model_dump_json(),
        skip_reason=None if parts else _skip_reason(changes),
    )


def _tags_of_changes(to_build: Sequence[str], to_drop: Sequence[str]) -> dict[str, str]:
    """Return tags that show in the list of runs what a run is going to do."""
    named = {"raptor/build": to_build, "raptor/drop": to_drop}
    return {tag: join_first(partitions, NAMED) for tag, partitions in named.items() if partitions}


def _skip_reason(changes: Changes) -> str:
    reasons = [f"{len(changes.partitions_in(PartitionChange.UNCHANGED))} partitions are up to date"]
    if unread := changes.partitions_in(PartitionChange.UNKNOWN):
        named = join_first(unread, NAMED)
        reasons.append(f"{len(unread)} cannot be read now and stay: {named}")
    if changes.pin_notes:
        reasons.append(
            f"pinned to an earlier build: {join_first(sorted(changes.pin_notes), NAMED)}"
        )
    if waiting := changes.partitions_in(PartitionChange.WAITING):
        reasons.append(f"waiting for approval: {join_first(waiting, NAMED)}")
    return "; ".join(reasons)
