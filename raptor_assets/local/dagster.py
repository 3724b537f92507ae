"""Dagster's instance of a home, and runs of its jobs in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_core.errors import SettingsError

if TYPE_CHECKING:
    import dagster as dg

_QUIET = {"console": {"config": {"log_level": "CRITICAL"}}}
"""Loggers of runs of the command, which prints their progress itself."""
_REPOSITORY_TAG = ".dagster/repository"
_INTERRUPTED = "UNEXPECTED_TERMINATION"  # Dagster's reason after a signal
CODE_LOCATION = "raptor_assets.local.definitions"
"""Module that Dagster loads for a home, and the name of that code location in its records."""


@contextmanager
def open_instance_and_clean_up(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open Dagster's instance of a home, or of ``DAGSTER_HOME``, and mark killed runs as failed."""
    from raptor_assets.chain.runs import fail_dead_runs
    from raptor_assets.home.records import open_records

    home = home.owner
    if corpus := home.read_names().corpus:
        folder = _find_shared_instance(corpus)
    else:
        home.create_folders_and_instance()
        folder = home.dagster_home
    with open_records(folder) as instance:
        fail_dead_runs(instance)
        yield instance


def run_job(
    access: CorpusAccess,
    instance: dg.DagsterInstance,
    job: dg.JobDefinition,
    config: Mapping[str, Any],
) -> tuple[str, str]:
    """Run a job of a corpus to its end in this process; return its run's id and why it failed.

    The UI shows the run under the code location of the home, that of a project under none.
    ``execute_in_process`` would keep every event in memory, 0.4 MB for each partition.

    Raises:
        KeyboardInterrupt: a signal interrupted the run; Dagster has recorded it as failed.
    """
    import dagster as dg

    from raptor_assets.chain.events import NO_REASON, describe_failure
    from raptor_assets.dagster_private import InMemoryJob, execute_run_iterator

    is_project = bool(access.home.owner.read_names().corpus)
    tags = {} if is_project else {_REPOSITORY_TAG: f"__repository__@{CODE_LOCATION}"}
    run = instance.create_run_for_job(
        job_def=job, run_config={"loggers": _QUIET, **config}, tags={**job.run_tags, **tags}
    )
    error, is_interrupted = "", False
    for event in execute_run_iterator(InMemoryJob(job), run, instance):
        if event.is_failure and error in ("", NO_REASON):
            error = describe_failure(event)
        if event.event_type == dg.DagsterEventType.RUN_FAILURE:
            reason = event.job_failure_data.failure_reason
            is_interrupted = reason is not None and reason.value == _INTERRUPTED
    if is_interrupted:
        raise KeyboardInterrupt
    return run.run_id, error


def read_begun_partitions(home: Home) -> list[str]:
    """Return the partitions that builds of a home have begun; none in a home without a build."""
    if not (home.owner.dagster_home.exists() or home.owner.read_names().corpus):
        return []
    with open_instance_and_clean_up(home) as instance:
        return list(instance.get_dynamic_partitions(home.read_names().partitions_name))


def _find_shared_instance(corpus: str) -> Path:
    named = os.environ.get("DAGSTER_HOME")
    if not named or not Path(named).expanduser().is_dir():
        reason = "which is no folder" if named else "which is not set"
        raise SettingsError(
            f"the corpus {corpus!r} is built in a Dagster project of its own; its instance is that "
            f"of DAGSTER_HOME, {reason}: export the folder that holds dagster.yaml"
        )
    return Path(named).expanduser()
