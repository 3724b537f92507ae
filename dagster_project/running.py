"""One run in this process, without keeping its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.events import DagsterEvent
from dagster._core.execution.api import execute_run_iterator
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

_REPOSITORY_TAG = ".dagster/repository"
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
    location: str | None = None,
) -> Ran:
    """Run ``job`` to its end.

    ``location`` is the module of the code location that has the job, by which the UI files the run
    under it and shows it on the Timeline.

    The result of ``execute_in_process`` holds every event, 0.4 MB for each partition of a build,
    though all of them are in the instance.
    """
    origin = _origin(location, job.name) if location else None
    filed = {_REPOSITORY_TAG: origin.repository_origin.get_label()} if origin else {}
    run = instance.create_run_for_job(
        job_def=job,
        run_config=run_config,
        tags={**job.run_tags, **filed, **tags},
        remote_job_origin=origin,
    )
    error = ""
    for event in execute_run_iterator(InMemoryJob(job), run, instance):
        if event.is_failure and error in ("", _NO_REASON):
            error = _reason(event)
    return Ran(run.run_id, error)


def _origin(module: str, job: str) -> RemoteJobOrigin:
    location = ManagedGrpcPythonEnvCodeLocationOrigin(
        loadable_target_origin=LoadableTargetOrigin(module_name=module)
    )
    return RemoteRepositoryOrigin(location, "__repository__").get_job_origin(job)


def _reason(event: DagsterEvent) -> str:
    failed = event.step_failure_data if event.is_step_failure else None
    if failed is None or failed.error is None:
        return _NO_REASON
    return (failed.error.cause or failed.error).message.strip()
