"""What Dagster does anew for each instance and each run, and the tests need but once, or never.

They open thousands of instances and run thousands of jobs. Commands in processes of their own do
all of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage import local_compute_log_manager
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage

_read = ScriptDirectory.from_config
_known: dict[str | None, ScriptDirectory] = {}


def _from_config(config: Config) -> ScriptDirectory:
    place = config.get_main_option("script_location")
    if place not in _known:
        _known[place] = _read(config)
    return _known[place]


@contextmanager
def _as_it_is(*_: object) -> Iterator[None]:
    yield


@functools.cache
def make_dagster_quick() -> None:
    """From now on.

    Migrations are read from disk once, not three times an instance: most of the time of opening a
    small home. A run's output goes where it went, not through four processes that copy it. The
    engine of a database is kept with its compiled statements; each use still opens a connection.
    """
    ScriptDirectory.from_config = staticmethod(_from_config)
    local_compute_log_manager.mirror_stream_to_file = _as_it_is
    for storage in (sqlite_run_storage, sqlite_schedule_storage):
        storage.create_engine = functools.lru_cache(maxsize=9)(storage.create_engine)
