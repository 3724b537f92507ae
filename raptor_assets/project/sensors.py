"""The sensor that keeps the partitions in step with the source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dagster as dg
from pydantic import BaseModel

from raptor_assets import keys
from raptor_assets.names import SOURCE, CorpusNames, listed
from raptor_assets.project.corpus_tree import prepare
from raptor_assets.project.jobs import BUILD, DROP, drop_config
from raptor_assets.project.plan import Changes
from raptor_assets.project.records import DagsterRecords
from raptor_assets.project.resources import Resources
from raptor_assets.project.runs import (
    fail_dead_runs,
    partitions_under_way,
    run_config,
    run_tags,
    runs_over,
)
from raptor_assets.project.store_state import glance, stamp_now
from raptor_core.documents import Inventory
from raptor_core.errors import EmptySourceError
from raptor_core.identity import digest
from raptor_core.settings import RunsSettings

INTERVAL_SECONDS = 30

_AGAIN = "+"
"""Between a token and the number of attempts after the first."""

NAMED = 10
"""Files and partitions that a skip reason names."""


class _Cursor(BaseModel, frozen=True):
    """What the last tick saw, what is requested and not finished, and what it saw leave.

    ``store`` is the store's stamp when it was last found to hold what was recorded, ``lost`` what
    the last look missed. The cursor holds no more than that: what is in each file is kept beside
    the tables. What a later version kept besides is passed over.
    """

    seen: str = ""
    requested: Mapping[str, str] = {}
    left: tuple[str, ...] = ()
    store: str = ""
    lost: tuple[str, ...] = ()


def build_source_sensor(resources: Resources, targets: Sequence[Any]) -> dg.SensorDefinition:
    """The sensor over the source of a home; ``targets`` are the build and the drop job.

    It is off until somebody switches it on, in the UI or by ``source.watch``, because what it
    requests may cost money. A source that cannot be read fails the tick, an empty one skips it;
    neither removes anything. Where so many documents are gone that a person has to confirm it
    (``decide_removals``), each tick says so and requests nothing.
    Each change is requested once, and what failed ``runs.retries`` times more: then it stays red
    until it is started again, in the UI or by ``raptor build``, or until the documents change.

    A partition whose document was renamed or moved is dropped only when the document's new
    partition is published: until then it serves readers, and its texts and vectors are found
    again by content. While new files are being written, one of which may be a copy of what is
    gone, drops wait for one more tick.

    The store is looked into when its stamp is another than when it last held what was recorded:
    trees that it lost are requested, once until it has them again. No tick waits for it, and none
    looks while runs are under way, which publish and hold it. A tree whose report is not written
    yet is left to the run that is at it.
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
    if waits := prepare(resources, context.instance):
        return dg.SkipReason(waits)
    if not resources.source.settings.is_named:
        waiting = f"{corpus.shown(SOURCE)} was not materialized yet; its upstream asset triggers it"
        named = "no source is named; set paths under [source] in raptor.toml"
        return dg.SkipReason(waiting if corpus.follows else named)
    existing = context.instance.get_dynamic_partitions(corpus.partitions)
    before = _Cursor.model_validate_json(context.cursor or "{}")
    try:
        inventory = resources.source.inventory()
    except EmptySourceError as error:
        return dg.SkipReason(
            f"{error}. The {len(existing)} partitions stay as they are; to remove them, run "
            f"the job {corpus.of(DROP)}"
        )
    decided = [decision.id for decision in resources.curation().decisions]
    seen = _digest(inventory, resources.build_version, existing, decided)
    stamp = stamp_now(resources)
    is_same = before.seen == seen and before.store == stamp
    if is_same and not before.requested and not inventory.unsettled:
        return dg.SkipReason(f"{len(existing)} partitions are up to date; no file changed")
    busy = partitions_under_way(context.instance, existing, corpus)
    store_state = glance(resources) if busy is None and before.store != stamp else None
    changes = resources.changes(DagsterRecords(context.instance, corpus), store_state, inventory)
    for new, old in changes.renamed.items():
        context.log.info(f"{new} was {old}: its texts and vectors are reused")
    if changes.doubt:
        return dg.SkipReason(
            f"{changes.explain_doubt()}; or drop them by the job {corpus.of(DROP)}"
        )
    if changes.orphaned:
        context.log.warning(
            f"published by another home of the corpus, or by a lost one; the job {corpus.of(DROP)} "
            f"removes them: {', '.join(changes.orphaned[:5])}"
        )
    after = before.model_copy(update={"seen": seen})
    if store_state is not None:
        held = "" if changes.to_build else stamp_now(resources)
        after = after.model_copy(update={"store": held, "lost": tuple(sorted(changes.lost))})
    waited_for = changes.unreported & (busy or set()) | changes.lost.intersection(before.lost)
    return _request(corpus, changes, after, waited_for, busy or (), settings.runs)


def _digest(
    inventory: Inventory, build: str, existing: Sequence[str], decided: Sequence[str]
) -> str:
    skipped = (f"{item.name}\0{item.is_empty}" for item in inventory.skipped)
    parts = (skipped, sorted(inventory.unsettled), existing, decided)
    return digest(
        "seen", build, inventory.documents.digest, *(digest("part", *part) for part in parts)
    )


def _request(
    corpus: CorpusNames,
    changes: Changes,
    cursor: _Cursor,
    waited_for: Collection[str],
    busy: Collection[str],
    runs: RunsSettings,
) -> dg.SensorResult:
    """What is due, but ``waited_for``; the cursor still says what was requested before."""

    def token(name: str) -> str:
        """What is requested differs by it; that of an attempt after a failed one counts those."""
        wanted, last = changes.tokens[name], before.get(name, "")
        asked, _, tried = last.partition(_AGAIN)
        if name in waited_for:
            return last
        if asked != wanted:
            return wanted
        n_tried = int(tried or 0)
        is_over = name in busy or name in removed or n_tried >= runs.retries
        return last if is_over else f"{wanted}{_AGAIN}{n_tried + 1}"

    before = cursor.requested
    removed = changes.droppable(changes.to_build)
    if changes.unsettled:
        removed = tuple(name for name in removed if name in cursor.left)
    wanted = {name: token(name) for name in (*changes.to_build, *removed)}
    due = {name: token for name, token in wanted.items() if before.get(name, "") != token}
    new = [name for name in changes.new if name in due]
    to_build = changes.in_order(due.keys() - set(changes.removed))
    asked: list[tuple[str, Sequence[str], dict[str, str], dict[str, Any]]] = [
        (BUILD, part, run_tags(part), run_config(part, corpus))
        for part in runs_over(to_build, runs.max_partitions)
    ]
    if drops := [name for name in removed if name in due]:
        asked.append((DROP, drops, {}, drop_config(drops, corpus, only_gone=True)))
    is_waiting = len(removed) < len(changes.removed) or changes.held
    seen = "" if is_waiting else cursor.seen
    after = cursor.model_copy(update={"seen": seen, "requested": wanted, "left": changes.removed})
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=digest(job, *(due[name] for name in names)),
                job_name=corpus.of(job),
                run_config=config,
                tags=tags,
            )
            for job, names, tags, config in asked
        ],
        dynamic_partitions_requests=[keys.corpus_partitions(corpus.corpus).build_add_request(new)]
        if new
        else [],
        cursor=after.model_dump_json(),
        skip_reason=None if due else _why_nothing(changes, len(wanted)),
    )


def _why_nothing(changes: Changes, n_requested: int) -> str:
    told = [f"{len(changes.unchanged)} partitions are up to date"]
    if n_requested:
        told.append(
            f"{n_requested} are requested and not finished, or failed (then start them again)"
        )
    if changes.unsettled:
        told.append(f"being written, so left for the next tick: {listed(changes.unsettled, NAMED)}")
    if changes.held:
        unread = listed(changes.held, NAMED)
        told.append(f"{len(changes.held)} cannot be read now and stay: {unread}")
    if changes.lost:
        told.append(f"the store lost, and did not get back: {listed(sorted(changes.lost), NAMED)}")
    if waiting := len(changes.tokens) - n_requested:
        told.append(f"{waiting} to drop wait until what took their place is published")
    return "; ".join(told)
