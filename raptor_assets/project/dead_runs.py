"""Runs whose process was killed: Dagster shows them as started, and they hold up the queue."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from raptor_assets.process import PROCESS_TAG, TURN_TAG, is_dead
from raptor_assets.project.database_turns import living_runs
from raptor_assets.project.records import is_postgres

_UNDER_WAY = [
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

_KILLED = (
    "The process of this run ended without a word: it was killed, or the machine went down. What "
    "it finished is kept; the next build goes on from there."
)


def fail_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark as failed the runs whose process has ended, and free their place in pools; their ids.

    Where PostgreSQL keeps the records this holds for processes on all machines, else on this one.
    """
    under_way = [
        run
        for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY))
        if PROCESS_TAG in run.tags and run.tags.get(TURN_TAG, run.run_id) == run.run_id
    ]
    dead = [run for run in _dead(instance, under_way) if _is_under_way(instance, run)]
    for run in dead:
        # Its state before the event: Dagster's daemon looks at the run of an event once, and tries
        # none again that is still under way then.
        instance.run_storage.handle_run_event(run.run_id, _failed(run))
        instance.report_run_failed(run, _KILLED)
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in dead]


def _dead(instance: dg.DagsterInstance, runs: Sequence[dg.DagsterRun]) -> list[dg.DagsterRun]:
    taken = {run.run_id for run in runs if TURN_TAG in run.tags and is_postgres(instance)}
    living = living_runs(instance, taken) if taken else set()
    return [
        run
        for run in runs
        if (run.run_id not in living if run.run_id in taken else is_dead(run.tags[PROCESS_TAG]))
    ]


def _failed(run: dg.DagsterRun) -> dg.DagsterEvent:
    return dg.DagsterEvent(dg.DagsterEventType.RUN_FAILURE.value, run.job_name, message=_KILLED)


def _is_under_way(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Asked once more: a run may have ended well since, and its process after it."""
    found = instance.get_run_by_id(run.run_id)
    return found is not None and found.status in _UNDER_WAY
