"""Runs whose process was killed: Dagster shows them as started, and they hold up the queue."""

from __future__ import annotations

import dagster as dg

from raptor_assets.process import PROCESS_TAG, is_dead

_UNDER_WAY = [
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def fail_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark as failed the runs whose process on this machine has ended; their ids."""
    dead = [
        run
        for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY))
        if PROCESS_TAG in run.tags and is_dead(run.tags[PROCESS_TAG])
    ]
    for run in dead:
        instance.report_run_failed(
            run,
            "The process of this run ended without a word: it was killed, or the machine went "
            "down. What it finished is kept; the next build goes on from there.",
        )
    return [run.run_id for run in dead]
