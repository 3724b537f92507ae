"""Celery app of workers on further machines.

Start a worker with ``celery --app raptor_assets.standalone.worker worker``. It executes each run
from Dagster's queue, a range of partitions, in its process, so that models stay loaded.
"""

import os

from celery import Celery
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from raptor_assets.project.records import BROKER_VARIABLE
from raptor_core.errors import SettingsError


def make_worker_app() -> Celery:
    """Make the app on the broker that the environment names."""
    url = os.environ.get(BROKER_VARIABLE)
    if not url:
        raise SettingsError(
            f"{BROKER_VARIABLE} is not set; export the broker's address, such as "
            "redis://:password@host:6379/0"
        )
    celery_app: Celery = make_app(  # type: ignore[no-untyped-call]
        {
            "broker": url,
            "backend": url,
            "config_source": {
                "worker_prefetch_multiplier": 1,  # a run waits in the queue, not for another run
                "broker_connection_retry_on_startup": True,
                "worker_hijack_root_logger": False,
            },
        }
    )
    create_execute_job_task(celery_app)
    create_resume_job_task(celery_app)
    return celery_app


app = make_worker_app()
