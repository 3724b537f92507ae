"""Celery app of workers on other machines.

Start one with ``celery --app raptor_assets.standalone.worker worker``.

Dagster's queue hands each run, a range of partitions, to one worker, which executes it in its
process; so models stay loaded from run to run. Messages are JSON.
"""

from __future__ import annotations

import os

from celery import Celery
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from raptor_assets.project.records import BROKER_VARIABLE
from raptor_core.errors import SettingsError


def make_worker_app() -> Celery:
    """The app, on the broker that the environment names.

    Raises:
        SettingsError: it names none.
    """
    url = os.environ.get(BROKER_VARIABLE)
    if not url:
        raise SettingsError(
            f"{BROKER_VARIABLE} is not set; export the broker's address, such as "
            "redis://:password@host:6379/0"
        )
    made: Celery = make_app(  # type: ignore[no-untyped-call]
        {
            "broker": url,
            "backend": url,
            "config_source": {
                "worker_prefetch_multiplier": 1,  # a run waits in the queue, not behind another
                "broker_connection_retry_on_startup": True,
                "worker_hijack_root_logger": False,
            },
        }
    )
    create_execute_job_task(made)
    create_resume_job_task(made)
    return made


app = make_worker_app()
