"""Runs of a corpus: their partitions, those under way, and those whose process was killed.

Dagster's partition tag can name only one partition, so a run over several names them in its
configuration. Dagster's own runs over several partitions need a contiguous range, and plan every
asset for each of them.
"""

import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import dagster as dg

from raptor_assets.assets import names
from raptor_assets.assets.names import CorpusNames
from raptor_assets.home.folder import Home
from raptor_assets.home.records import uses_postgres
from raptor_core.disk import file_lock, translate_disk_errors

_log = logging.getLogger(__name__)

MAX_RUN_PARTITIONS = 256  # Dagster keeps 3 kB of each asset and partition in memory


def split_into_runs(
    partitions: Sequence[str], longest: int = MAX_RUN_PARTITIONS
) -> list[tuple[str, ...]]:
    """Divide partitions into runs of at most ``longest`` partitions each."""
    starts = range(0, len(partitions), longest)
    return [tuple(partitions[start : start + longest]) for start in starts]


PROCESS_TAG = ".dagster/raptor-process"
"""Tag with the run, the host and the process id; the UI hides it."""


def process_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Return the tag of a run's process; none if each step has its own, shorter-lived process."""
    if context.job_def.executor_def.name not in ("in_process", "execute_in_process_executor"):
        return {}
    return {PROCESS_TAG: f"{context.run.run_id}@{socket.gethostname()}:{os.getpid()}"}


def is_process_dead(run: dg.DagsterRun) -> bool:
    """Return whether the process of a run has ended; False for a run on another host.

    A retry inherits the tag of the first attempt, so a tag with another run's id says nothing.
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
    return [run for run in runs if _is_run_of(run, corpus)]


def _is_run_of(run: dg.DagsterRun, corpus: CorpusNames) -> bool:
    if run.job_name in map(
        corpus.full_name, (names.BUILD, names.DROP, names.ROLLBACK, names.APPROVE, names.SYNC)
    ):
        return True
    return any(corpus.find_asset(key) for key in run.asset_selection or ())


_KILLED = (
    "The process of this run ended without reporting a status: it was killed, or the machine went "
    "down. What it finished is kept; the next build continues from there."
)


def fail_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs whose process has ended as failed, free their pools, and return their ids."""
    dead = []
    for run in filter(is_process_dead, instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY))):
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
def hold_run_lock(home: Home, context: dg.OpExecutionContext) -> Iterator[None]:
    """Wait until no other run of this machine works in a home, and keep others out.

    If Dagster's records are in PostgreSQL, Dagster's pool limits the concurrent runs instead.
    """
    if uses_postgres(context.instance):
        yield
        return
    path = home.run_lock
    with ExitStack() as locks:
        with translate_disk_errors(path):
            is_free = locks.enter_context(file_lock(path))
        if not is_free:
            message = f"waiting for another run on {home.path} to end"
            context.log.warning(message)
            _log.warning(message)
            locks.enter_context(file_lock(path, wait_seconds=-1))
        yield
