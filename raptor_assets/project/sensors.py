"""The sensor that requests builds and drops when the source changes; ``plan`` decides on them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dagster as dg
from pydantic import BaseModel

from raptor_assets import keys
from raptor_assets.names import SYNC, CorpusNames, listed
from raptor_assets.project.jobs import BUILD, DROP, drop_config
from raptor_assets.project.plan import Changes
from raptor_assets.project.records import DagsterRecords
from raptor_assets.project.resources import Resources
from raptor_assets.project.runs import (
    cancelled_partitions,
    fail_dead_runs,
    partitions_under_way,
    run_config,
    run_tags,
    runs_over,
    unfinished_runs,
)
from raptor_assets.project.store_state import read_without_waiting, stamp_now
from raptor_assets.project.sync import explain_waiting
from raptor_core.documents import Inventory
from raptor_core.errors import EmptySourceError
from raptor_core.identity import digest
from raptor_core.settings import RunsSettings

INTERVAL_SECONDS = 30

_RETRY = "+"  # separator of a token and the number of retries
NAMED = 10  # files and partitions that a skip reason names


class _Cursor(BaseModel, frozen=True):
    """State between ticks; fields of later versions are ignored.

    Attributes:
        source: digest of the source at the last tick.
        requested: tokens of partitions that are requested and not finished.
        removed: partitions that were to be dropped.
        store: the store's stamp when it last held everything that is recorded.
        lost: partitions that the last look at the store missed.
        cancelled: moment at which the last cancelled run ended.
    """

    source: str = ""
    requested: Mapping[str, str] = {}
    removed: tuple[str, ...] = ()
    store: str = ""
    lost: tuple[str, ...] = ()
    cancelled: str = ""


def build_source_sensor(resources: Resources, targets: Sequence[Any]) -> dg.SensorDefinition:
    """Return the sensor over the source of a home; ``targets`` are the build and the drop job.

    It is off until a person switches it on, in the UI or by ``source.watch``, since builds may cost
    money. An unreadable source fails the tick, an empty one skips it; neither removes anything.
    While a removal needs a person's confirmation (``decide_removals``), ticks request nothing.

    Each change is requested once, again after each run that was cancelled, and a failed one
    ``runs.retries`` times more, then only after a start by hand or another change. A partition
    with a renamed document is dropped when the new partition is published. Drops wait one more
    tick while new files are being written.

    The store is read when its stamp has changed and no run is under way, without waiting. Trees
    that it lost are requested once. A missing report is left to the run that writes it.
    """

    @dg.sensor(
        name=resources.names.of("source_sensor"),
        description="Finds new, changed and removed documents and requests exactly the "
        "partitions concerned.",
        jobs=targets,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING
        if resources.settings.source.watch
        else dg.DefaultSensorStatus.STOPPED,
    )
    def source_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        return _tick(context, resources)

    return source_sensor


def _tick(
    context: dg.SensorEvaluationContext, resources: Resources
) -> dg.SensorResult | dg.SkipReason:
    fail_dead_runs(context.instance)
    corpus, settings = resources.names, resources.settings
    if reason := explain_waiting(resources, context.instance):
        return dg.SkipReason(reason)
    unfinished = unfinished_runs(context.instance, corpus)
    if syncing := [run.run_id for run in unfinished if run.job_name == corpus.of(SYNC)]:
        return dg.SkipReason(f"the run {syncing[0]} of {corpus.of(SYNC)} builds what changed")
    existing = context.instance.get_dynamic_partitions(corpus.partitions)
    cursor = _Cursor.model_validate_json(context.cursor or "{}")
    try:
        inventory = resources.source.inventory()
    except EmptySourceError as error:
        return dg.SkipReason(
            f"{error}. The {len(existing)} partitions stay as they are; to remove them, run "
            f"the job {corpus.of(DROP)}"
        )
    decisions = [decision.id for decision in resources.curation().decisions]
    source_digest = _digest(inventory, resources.build_version, existing, decisions)
    stamp = stamp_now(resources)
    is_same = cursor.source == source_digest and cursor.store == stamp
    if is_same and not cursor.requested and not inventory.unsettled:
        return dg.SkipReason(f"{len(existing)} partitions are up to date; no file changed")
    busy = partitions_under_way(context.instance, existing, corpus)
    is_due = busy is None and cursor.store != stamp
    store_state = read_without_waiting(resources) if is_due else None
    changes = resources.changes(DagsterRecords(context.instance, corpus), store_state, inventory)
    for new, old in changes.renamed.items():
        context.log.info(f"{new} was {old}: its texts and vectors are reused")
    if changes.doubt:
        return dg.SkipReason(
            f"{changes.explain_doubt()}, or launch the job {corpus.of(SYNC)} with "
            f"`confirm_removal: true`; or drop them by the job {corpus.of(DROP)}"
        )
    if changes.orphaned:
        context.log.warning(
            f"published by another home of the corpus, or by a lost one; the job {corpus.of(DROP)} "
            f"removes them: {', '.join(changes.orphaned[:5])}"
        )
    following = cursor.model_copy(update={"source": source_digest})
    if store_state is not None:
        stored = "" if changes.to_build else stamp_now(resources)
        lost = tuple(sorted(changes.lost))
        following = following.model_copy(update={"store": stored, "lost": lost})
    pending = changes.unreported & (busy or set()) | changes.lost.intersection(cursor.lost)
    since = cursor.cancelled
    cancelled, moment = cancelled_partitions(context.instance, existing, corpus, since)
    following = following.model_copy(update={"cancelled": moment})
    again = cancelled - (busy or set())
    return _request(corpus, changes, following, pending, busy or (), again, settings.runs)


def _digest(
    inventory: Inventory, build: str, existing: Sequence[str], decisions: Sequence[str]
) -> str:
    skipped = (f"{item.name}\0{item.is_empty}" for item in inventory.skipped)
    parts = (skipped, sorted(inventory.unsettled), existing, decisions)
    return digest(
        "seen", build, inventory.documents.digest, *(digest("part", *part) for part in parts)
    )


def _request(
    corpus: CorpusNames,
    changes: Changes,
    cursor: _Cursor,
    pending: Collection[str],
    busy: Collection[str],
    again: Collection[str],
    runs: RunsSettings,
) -> dg.SensorResult:
    """Request changed partitions that are not ``pending``; the cursor has the last requests.

    ``again`` are partitions whose run was cancelled.
    """

    def token(name: str) -> str:
        current, last = changes.tokens[name], requested.get(name, "")
        basis, _, retries = last.partition(_RETRY)
        if name in pending:
            return last
        if basis != current:
            return current
        n_retries = int(retries or 0)
        is_final = name in busy or name in removed or n_retries >= runs.retries
        return last if is_final and name not in again else f"{current}{_RETRY}{n_retries + 1}"

    requested = cursor.requested
    removed = changes.droppable(changes.to_build)
    if changes.unsettled:
        removed = tuple(name for name in removed if name in cursor.removed)
    tokens = {name: token(name) for name in (*changes.to_build, *removed)}
    requests = {name: token for name, token in tokens.items() if requested.get(name, "") != token}
    new = [name for name in changes.new if name in requests]
    to_build = changes.in_order(requests.keys() - set(changes.removed))
    jobs: list[tuple[str, Sequence[str], dict[str, str], dict[str, Any]]] = [
        (BUILD, part, run_tags(part), run_config(part, corpus))
        for part in runs_over(to_build, runs.max_partitions)
    ]
    if drops := [name for name in removed if name in requests]:
        jobs.append((DROP, drops, {}, drop_config(drops, corpus, only_gone=True)))
    is_waiting = len(removed) < len(changes.removed) or changes.withheld
    update = {"requested": tokens, "removed": changes.removed} | (
        {"source": ""} if is_waiting else {}
    )
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=digest(job, *(requests[name] for name in names)),
                job_name=corpus.of(job),
                run_config=config,
                tags=tags,
            )
            for job, names, tags, config in jobs
        ],
        dynamic_partitions_requests=[keys.corpus_partitions(corpus.corpus).build_add_request(new)]
        if new
        else [],
        cursor=cursor.model_copy(update=update).model_dump_json(),
        skip_reason=None if requests else _skip_reason(changes, len(tokens)),
    )


def _skip_reason(changes: Changes, n_requested: int) -> str:
    reasons = [f"{len(changes.unchanged)} partitions are up to date"]
    if n_requested:
        reasons.append(
            f"{n_requested} are requested and not finished, or failed (then start them again)"
        )
    if changes.unsettled:
        unsettled = listed(changes.unsettled, NAMED)
        reasons.append(f"being written, so left for the next tick: {unsettled}")
    if changes.withheld:
        unread = listed(changes.withheld, NAMED)
        reasons.append(f"{len(changes.withheld)} cannot be read now and stay: {unread}")
    if changes.lost:
        lost = listed(sorted(changes.lost), NAMED)
        reasons.append(f"the store lost, and did not get back: {lost}")
    if waiting := len(changes.tokens) - n_requested:
        reasons.append(f"{waiting} to drop wait until what took their place is published")
    return "; ".join(reasons)
