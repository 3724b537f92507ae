"""Runs of a corpus: partitions, tags with costs, and runs whose process was killed.

Dagster's tag names a single partition, the run's configuration several ones. Dagster's own runs
over several partitions cover only neighbours and plan every asset of each of them.
"""

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import dagster as dg

from raptor_assets.assets import names
from raptor_assets.assets.names import CorpusNames
from raptor_assets.dagster_private import InMemoryJob, execute_run_iterator
from raptor_assets.home.folder import Home
from raptor_assets.home.records import is_postgres
from raptor_core.disk import disk_errors, file_lock
from raptor_core.models.money.ledger import Ledger

_log = logging.getLogger(__name__)

MAX_RUN_PARTITIONS = 256  # Dagster keeps 3 kB of each asset and partition in memory


def runs_over(
    partitions: Sequence[str], longest: int = MAX_RUN_PARTITIONS
) -> list[tuple[str, ...]]:
    """Return partitions by run, at most ``longest`` in each."""
    starts = range(0, len(partitions), longest)
    return [tuple(partitions[start : start + longest]) for start in starts]


PAID_PREFIX = "raptor/paid-"
PROCESS_TAG = ".dagster/raptor-process"
"""Tag with the run, the host and the process id; the UI hides it."""


def process_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Return the tag of a run's process; none in a step's process, which ends before the run."""
    if context.job_def.executor_def.name not in ("in_process", "execute_in_process_executor"):
        return {}
    return {PROCESS_TAG: f"{context.run.run_id}@{socket.gethostname()}:{os.getpid()}"}


def run_spending_tags(ledger: Ledger) -> dict[str, str]:
    """Return the costs of a run so far as tags, by model, without money for unknown prices.

    "raptor/paid-summaries-gpt-4o-mini": "53 calls, 91,204 tokens, 0.021 USD".
    """
    tags = {}
    for line in ledger.spendings:
        usage = line.usage
        if usage.calls and line.model:
            money = "" if usage.usd is None else f", {usage.usd:.6g} USD"
            model = re.sub(r"[^A-Za-z0-9._-]", "-", line.model)[:40]  # a tag's key allows these
            cost = f"{usage.calls:,} calls, {usage.tokens:,} tokens{money}"
            tags[f"{PAID_PREFIX}{line.purpose}-{model}"] = cost
    return tags


def voided_costs(tags: Mapping[str, str]) -> dict[str, str]:
    """Return values that void the costs of a previous run, which a retry inherits."""
    return {key: "0 calls, 0 tokens" for key in tags if key.startswith(PAID_PREFIX)}


def is_dead(run: dg.DagsterRun) -> bool:
    """Return whether the process of a run has ended; False for one of another host.

    A retried run inherits the tag of the first attempt, which names that attempt's run.
    """
    run_id, _, process = run.tags.get(PROCESS_TAG, "").partition("@")
    host, _, pid = process.rpartition(":")
    if run_id != run.run_id or host != socket.gethostname() or not re.fullmatch("[0-9]{1,20}", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):  # no system has processes of such a number
        return True
    except PermissionError:
        return False
    return False


_STATUS = dg.DagsterRunStatus
_UNFINISHED = [_STATUS.QUEUED, _STATUS.NOT_STARTED, _STATUS.STARTING, _STATUS.STARTED]
_UNDER_WAY = [_STATUS.STARTING, _STATUS.STARTED, _STATUS.CANCELING]


def unfinished_runs(instance: dg.DagsterInstance, corpus: CorpusNames) -> list[dg.DagsterRun]:
    """Return the queued and running runs of a corpus."""
    runs = instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))
    return [run for run in runs if _is_of(run, corpus)]


def _is_of(run: dg.DagsterRun, corpus: CorpusNames) -> bool:
    if run.job_name in map(
        corpus.of, (names.BUILD, names.DROP, names.ROLLBACK, names.APPROVE, names.SYNC)
    ):
        return True
    return any(corpus.find(key) for key in run.asset_selection or ())


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
    location_tags = {_REPOSITORY_TAG: f"__repository__@{location}"} if location else {}
    run = instance.create_run_for_job(
        job_def=job,
        run_config=run_config,
        tags={**job.run_tags, **location_tags, **tags},
    )
    error, is_interrupted = "", False
    for event in execute_run_iterator(InMemoryJob(job), run, instance):
        if event.is_failure and error in ("", _NO_REASON):
            error = _described(event) if event.is_step_failure else _reason(event)
        if event.event_type == dg.DagsterEventType.RUN_FAILURE:
            reason = event.job_failure_data.failure_reason
            is_interrupted = reason is not None and reason.value == _INTERRUPTED
    if is_interrupted:
        raise KeyboardInterrupt
    return run.run_id, error


def failure_reason(context: dg.RunFailureSensorContext) -> str:
    """Return why a run failed, for run-failure sensors: partitions, assets, causes.

    Dagster's own message of a failed run names only steps.
    """
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
