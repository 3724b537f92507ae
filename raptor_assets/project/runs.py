"""Runs of a corpus: their partitions, those under way, and those whose process was killed.

A single partition is named by Dagster's tag, several by the run's configuration. Dagster's own runs
over several partitions cover neighbours only, in the order in which those were added, and it plans
every asset of every one of them. A run of the chain is told their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run_iterator
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from raptor_assets import keys, names
from raptor_assets.names import CorpusNames
from raptor_assets.process import PROCESS_TAG, TURN_TAG, is_dead
from raptor_assets.project.jobs import BUILD, DROP
from raptor_assets.project.records import is_postgres
from raptor_assets.project.turns import living_runs

MAX_RUN_PARTITIONS = 256
"""More take several runs: Dagster keeps a run's events in memory until it ends, some 3 kB for
each asset and partition."""

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
"""Dagster's tags of a run over one partition, or over the range that was chosen in the UI."""


def runs_over(
    partitions: Sequence[str], longest: int = MAX_RUN_PARTITIONS
) -> list[tuple[str, ...]]:
    """Partitions by run, in as few runs as ``longest`` allows."""
    starts = range(0, len(partitions), longest)
    return [tuple(partitions[start : start + longest]) for start in starts]


def run_tags(partitions: Sequence[str]) -> dict[str, str]:
    """Tags of a run over these partitions."""
    if len(partitions) == 1:
        return {PARTITION_TAG: partitions[0]}
    return {"raptor/partitions": str(len(partitions))}


def run_config(partitions: Sequence[str], corpus: CorpusNames) -> dict[str, Any]:
    """Configuration of a run over these partitions."""
    if len(partitions) == 1:
        return {}
    return {"ops": {corpus.of(names.CHAIN): {"config": {"partitions": list(partitions)}}}}


def partitions_of(run: dg.DagsterRun, order: Sequence[str], corpus: CorpusNames) -> list[str]:
    """The partitions that a run names; ``order`` is that of the definition, for a range."""
    ops: Any = run.run_config.get("ops", {})
    told = ops.get(corpus.of(names.CHAIN), {}).get("config", {})
    if named := told.get("partitions"):
        return list(named)
    first = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_START_TAG)
    last = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_END_TAG)
    if first not in order or last not in order:
        return []
    return list(order[order.index(first) : order.index(last) + 1])


_STATUS = dg.DagsterRunStatus
_UNFINISHED = [_STATUS.QUEUED, _STATUS.NOT_STARTED, _STATUS.STARTING, _STATUS.STARTED]
_UNDER_WAY = [_STATUS.STARTING, _STATUS.STARTED, _STATUS.CANCELING]


def partitions_under_way(
    instance: dg.DagsterInstance, order: Sequence[str], corpus: CorpusNames
) -> set[str] | None:
    """Partitions that unfinished runs of a corpus are for; None where there are no such runs.

    ``order`` is that of the partitions definition, which the range of a run refers to.
    """
    runs = instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))
    runs = [run for run in runs if _is_of(run, corpus)]
    if not runs:
        return None
    return {name for run in runs for name in partitions_of(run, order, corpus)}


def _is_of(run: dg.DagsterRun, corpus: CorpusNames) -> bool:
    """Whether a run builds or drops anything of a corpus."""
    if run.job_name in (corpus.of(BUILD), corpus.of(DROP)):
        return True
    return any(keys.chain_key(corpus, key) is not None for key in run.asset_selection or ())


_KILLED = (
    "The process of this run ended without a word: it was killed, or the machine went down. What "
    "it finished is kept; the next build goes on from there."
)


def fail_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark as failed the runs whose process has ended, and free their place in pools; their ids.

    Where PostgreSQL keeps the records this holds for processes on all machines, else on this one.
    """
    dead = []
    for run in _without_process(instance):
        now = instance.get_run_by_id(run.run_id)
        if now is None or now.status not in _UNDER_WAY:
            continue  # it ended well since, and its process after it
        # Its state before the event: Dagster's daemon looks at the run of an event once, and tries
        # none again that is still under way then.
        failed = dg.DagsterEventType.RUN_FAILURE.value
        event = dg.DagsterEvent(failed, run.job_name, message=_KILLED)
        instance.run_storage.handle_run_event(run.run_id, event)
        instance.report_run_failed(run, _KILLED)
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        dead.append(run.run_id)
    return dead


def _without_process(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Runs that began a turn of their own and are under way, whose process is gone."""
    runs = [
        run
        for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY))
        if PROCESS_TAG in run.tags and run.tags.get(TURN_TAG, run.run_id) == run.run_id
    ]
    taken = {run.run_id for run in runs if TURN_TAG in run.tags and is_postgres(instance)}
    living = living_runs(instance, taken) if taken else set()
    return [
        run
        for run in runs
        if (run.run_id not in living if run.run_id in taken else is_dead(run.tags[PROCESS_TAG]))
    ]


_REPOSITORY_TAG = ".dagster/repository"
_INTERRUPTED = "UNEXPECTED_TERMINATION"
"""Dagster's reason for the failure of a run that a signal interrupted."""

_NO_REASON = "the run failed; see it in the UI"


def run_job(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    run_config: Mapping[str, Any],
    tags: Mapping[str, str],
    location: str | None,
) -> tuple[str, str]:
    """Run ``job`` to its end: the run's id, and why it failed; empty if it did not.

    ``location`` is the module of the code location that has the job, by which the UI files the run
    under it and shows it on the Timeline.

    The result of ``execute_in_process`` holds every event, 0.4 MB for each partition of a build,
    though all of them are in the instance.

    Raises:
        KeyboardInterrupt: a signal interrupted the run; Dagster has recorded it as failed.
    """
    origin = _origin(location, job.name) if location else None
    filed = {_REPOSITORY_TAG: origin.repository_origin.get_label()} if origin else {}
    run = instance.create_run_for_job(
        job_def=job,
        run_config=run_config,
        tags={**job.run_tags, **filed, **tags},
        remote_job_origin=origin,
    )
    error, is_interrupted = "", False
    for event in execute_run_iterator(InMemoryJob(job), run, instance):
        if event.is_failure and error in ("", _NO_REASON):
            error = _reason(event)
        if event.event_type == dg.DagsterEventType.RUN_FAILURE:
            reason = event.job_failure_data.failure_reason
            is_interrupted = reason is not None and reason.value == _INTERRUPTED
    if is_interrupted:
        raise KeyboardInterrupt
    return run.run_id, error


def _origin(module: str, job: str) -> RemoteJobOrigin:
    location = ManagedGrpcPythonEnvCodeLocationOrigin(
        loadable_target_origin=LoadableTargetOrigin(module_name=module)
    )
    return RemoteRepositoryOrigin(location, "__repository__").get_job_origin(job)


def _reason(event: dg.DagsterEvent) -> str:
    failed = event.step_failure_data if event.is_step_failure else None
    if failed is None or failed.error is None:
        return _NO_REASON
    return (failed.error.cause or failed.error).message.strip()
