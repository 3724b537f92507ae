"""Runs of a corpus: their partitions, those under way, and those whose process was killed.

Dagster's tag names a single partition, the run's configuration several ones. Dagster's own runs
over several partitions cover only neighbours and plan every asset of each of them.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.dagster_private import (
    InMemoryJob,
    LoadableTargetOrigin,
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
    execute_run_iterator,
)
from raptor_assets.names import CorpusNames
from raptor_assets.process import PAID_PREFIX, is_dead
from raptor_assets.project.home import Home
from raptor_assets.project.records import is_postgres
from raptor_core.disk import disk_errors, file_lock
from raptor_core.identity import digest

_log = logging.getLogger(__name__)

MAX_RUN_PARTITIONS = 256  # Dagster keeps 3 kB of each asset and partition in memory
PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
"""Dagster's tags of a run over one partition, or over a range chosen in the UI."""

_NAMES_PREFIX = "raptor-partition/"
_COUNT_TAG = "raptor/partitions"
_KEY_CHARS = 50  # of a partition's name in the key of a tag, which has 63 at most


def runs_over(
    partitions: Sequence[str], longest: int = MAX_RUN_PARTITIONS
) -> list[tuple[str, ...]]:
    """Return partitions by run, at most ``longest`` in each."""
    starts = range(0, len(partitions), longest)
    return [tuple(partitions[start : start + longest]) for start in starts]


def run_tags(partitions: Sequence[str]) -> dict[str, str]:
    """Return the tags of a run of the build job over these partitions."""
    single = {PARTITION_TAG: partitions[0]} if len(partitions) == 1 else {}
    return {**single, **names_tags(partitions)}


def names_tags(partitions: Sequence[str]) -> dict[str, str]:
    """Return a run's number of partitions, and a tag for each name, by which runs are filtered."""
    names_by_key = {partition_tag(name): name for name in partitions[:MAX_RUN_PARTITIONS]}
    return {_COUNT_TAG: str(len(partitions)), **names_by_key}


def inherited_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return values that void a previous run's cost and partitions, which a retry inherits."""
    voids = {PAID_PREFIX: "0 calls, 0 tokens", _NAMES_PREFIX: "not in this run"}
    return {key: void for key in tags for prefix, void in voids.items() if key.startswith(prefix)}


def partition_tag(name: str) -> str:
    """Return the key of the tag of a partition, such as "raptor-partition/handbook.md".

    Names with other characters than a key may have, or long ones, end with a part of their digest.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:_KEY_CHARS]
    suffix = "" if plain == name else f"-{digest('partition', name)[:8]}"
    return f"{_NAMES_PREFIX}{plain}{suffix}"


def run_config(partitions: Sequence[str], corpus: CorpusNames) -> dict[str, Any]:
    """Return the configuration of a run over these partitions."""
    if len(partitions) == 1:
        return {}
    return {"ops": {corpus.of(names.CHAIN): {"config": {"partitions": list(partitions)}}}}


def partitions_of(run: dg.DagsterRun, order: Sequence[str]) -> list[str]:
    """Return the partitions that a run names; ``order`` is the definition's, for ranges."""
    ops: Any = run.run_config.get("ops", {})
    for op in ops.values():
        if partitions := op.get("config", {}).get("partitions"):
            return list(partitions)
    first = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_START_TAG)
    last = run.tags.get(PARTITION_TAG) or run.tags.get(RANGE_END_TAG)
    if first not in order or last not in order:
        return []
    return list(order[order.index(first) : order.index(last) + 1])


_STATUS = dg.DagsterRunStatus
_UNFINISHED = [_STATUS.QUEUED, _STATUS.NOT_STARTED, _STATUS.STARTING, _STATUS.STARTED]
_UNDER_WAY = [_STATUS.STARTING, _STATUS.STARTED, _STATUS.CANCELING]


def unfinished_runs(instance: dg.DagsterInstance, corpus: CorpusNames) -> list[dg.DagsterRun]:
    """Return the queued and running runs of a corpus."""
    runs = instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))
    return [run for run in runs if _is_of(run, corpus)]


def _is_of(run: dg.DagsterRun, corpus: CorpusNames) -> bool:
    if run.job_name in map(corpus.of, (names.BUILD, names.DROP, names.SYNC)):
        return True
    return any(keys.chain_key(corpus, key) is not None for key in run.asset_selection or ())


def delete_old_runs(instance: dg.DagsterInstance, corpus: CorpusNames, keep: int) -> list[str]:
    """Delete finished runs beyond the newest ``keep`` that newer ones replace; return their ids.

    A newer successful build of all partitions of a run has each record that is read of them.
    """
    runs = instance.get_runs() if instance.get_runs_count() > keep > 0 else []
    runs = [run for run in runs if _is_of(run, corpus)]
    order = instance.get_dynamic_partitions(corpus.partitions)
    needed, deleted, drop = set(order), list[str](), corpus.of(names.DROP)
    for at, run in enumerate(runs):  # the newest first
        covered = _recorded_partitions(run, order)
        if at >= keep and run.is_finished and covered and covered.isdisjoint(needed):
            instance.delete_run(run.run_id)
            deleted.append(run.run_id)
        elif run.is_success and not run.asset_selection and run.job_name != drop:
            needed -= covered
    return deleted


def _recorded_partitions(run: dg.DagsterRun, order: Sequence[str]) -> set[str]:
    """Return all partitions of a run of the corpus; none if its tags do not name all."""
    tagged = {name for key, name in run.tags.items() if key.startswith(_NAMES_PREFIX)}
    n_partitions = int(run.tags.get(_COUNT_TAG, 0))
    names = set(partitions_of(run, order)) or tagged
    return names if len(names) >= n_partitions else set()


_KILLED = (
    "The process of this run ended without a word: it was killed, or the machine went down. What "
    "it finished is kept; the next build goes on from there."
)


def fail_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs whose process has ended as failed, free their pools, and return their ids."""
    dead = []
    for run in filter(is_dead, instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY))):
        now = instance.get_run_by_id(run.run_id)
        if now is None or now.status not in _UNDER_WAY:
            continue  # it has finished meanwhile
        # State first, then event: Dagster's daemon retries only a run that has failed by then.
        failed = dg.DagsterEventType.RUN_FAILURE.value
        event = dg.DagsterEvent(failed, run.job_name, message=_KILLED)
        instance.run_storage.handle_run_event(run.run_id, event)
        instance.report_run_failed(run, _KILLED)
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        dead.append(run.run_id)
    return dead


@contextmanager
def turn(home: Home, context: dg.OpExecutionContext) -> Iterator[None]:
    """Let one run at a time work in a home, in any process of this machine.

    With Dagster's records in PostgreSQL, Dagster's pool says how many runs work at once.
    """
    if is_postgres(context.instance):
        yield
        return
    path = home.path / "run.lock"
    with ExitStack() as locks:
        with disk_errors(path):
            is_free = locks.enter_context(file_lock(path))
        if not is_free:
            message = f"waiting for another run on {home.path} to end"
            context.log.warning(message)
            _log.warning(message)
            locks.enter_context(file_lock(path, wait_seconds=-1))
        yield


_REPOSITORY_TAG = ".dagster/repository"
_INTERRUPTED = "UNEXPECTED_TERMINATION"  # Dagster's reason after a signal
_NO_REASON = "the run failed; see it in the UI"


def run_job(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    run_config: Mapping[str, Any],
    tags: Mapping[str, str],
    location: str | None,
) -> tuple[str, str]:
    """Run ``job`` to its end, and return the run's id and the reason of a failure, else "".

    ``location`` is the module of the job's code location, under which the UI shows the run.
    ``execute_in_process`` would keep every event in memory, 0.4 MB for each partition.

    Raises:
        KeyboardInterrupt: a signal interrupted the run; Dagster has recorded it as failed.
    """
    origin = _origin(location, job.name) if location else None
    location_tags = {_REPOSITORY_TAG: origin.repository_origin.get_label()} if origin else {}
    run = instance.create_run_for_job(
        job_def=job,
        run_config=run_config,
        tags={**job.run_tags, **location_tags, **tags},
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


def failure_reason(context: dg.HookContext | dg.RunFailureSensorContext) -> str:
    """Return why a run failed, for hooks and run-failure sensors: partitions, assets, causes.

    Dagster's own message of a failed run names only steps.
    """
    if isinstance(context, dg.HookContext):
        error = context.op_exception
        return str(getattr(error, "description", None) or error or _NO_REASON)
    reasons = [_described(event) for event in context.get_step_failure_events()]
    return "\n".join(reasons) or context.failure_event.message or _NO_REASON


def _described(event: dg.DagsterEvent) -> str:
    """Return the description of a ``dagster.Failure``, else the message of the error."""
    failure = event.step_failure_data.user_failure_data
    return failure.description if failure and failure.description else _reason(event)


def _reason(event: dg.DagsterEvent) -> str:
    failed = event.step_failure_data if event.is_step_failure else None
    if failed is None or failed.error is None:
        return _NO_REASON
    return (failed.error.cause or failed.error).message.strip()
