"""One run in this process, without keeping its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.events import DagsterEvent
from dagster._core.execution.api import execute_run_iterator

_NO_REASON = "the run failed; see it in the UI"


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that has ended. ``error`` is why it failed; empty if it did not."""

    run_id: str
    error: str = ""


def run_job(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    run_config: Mapping[str, Any],
    tags: Mapping[str, str],
) -> Ran:
    """Run ``job`` to its end.

    The result of ``execute_in_process`` holds every event, 0.4 MB for each partition of a build,
    though all of them are in the instance.
    """
    run = instance.create_run_for_job(
        job_def=job, run_config=run_config, tags={**job.run_tags, **tags}
    )
    error = ""
    for event in execute_run_iterator(InMemoryJob(job), run, instance):
        if event.is_failure and error in ("", _NO_REASON):
            error = _reason(event)
    return Ran(run.run_id, error)


def _reason(event: DagsterEvent) -> str:
    failed = event.step_failure_data if event.is_step_failure else None
    if failed is None or failed.error is None:
        return _NO_REASON
    return (failed.error.cause or failed.error).message.strip()
