"""What Dagster does anew for each instance and each run, and the tests need but once, or never.

They open thousands of instances and run thousands of jobs. Commands in processes of their own do
all of it.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage import local_compute_log_manager
from dagster._core.storage.event_log import sql_event_log
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


_serialize = sql_event_log.serialize_value
_serialized: list[Any] = [None, ""]


def _serialize_once(value: Any) -> str:
    """Serialize an event for its row in the log, and reuse the text in its further rows."""
    if value is not _serialized[0]:
        _serialized[:] = [value, _serialize(value)]
    return _serialized[1]


open_anew = dg.DagsterInstance.from_config
_empty = tempfile.TemporaryDirectory()


def _open_with_tables(folder: str, config: str = "dagster.yaml") -> dg.DagsterInstance:
    """Open an instance; a new home gets copies of the databases that the first one made."""
    home, databases = Path(folder), Path(_empty.name) / "databases"
    is_new = not (home / "history").exists() and (home / config).exists()
    if not is_new or "raptor_assets.local.storage" not in (home / config).read_text():
        return open_anew(folder, config)
    if databases.exists():
        shutil.copytree(databases, home, dirs_exist_ok=True)
        return open_anew(folder, config)
    instance = open_anew(folder, config)
    for name in ("history", "schedules"):
        shutil.copytree(home / name, databases / name)
    return instance


@functools.cache
def make_dagster_quick() -> None:
    """From now on.

    Migrations are read from disk once, not three times an instance: most of the time of opening a
    small home. Tables are made once, and copied. A run's output goes where it went, not through
    four processes that copy it. The engine of a database is kept with its compiled statements; each
    use still opens a connection. An event is serialized once for its two or three rows, and the
    columns of a table are not read again for each materialization.
    """
    dg.DagsterInstance.from_config = staticmethod(_open_with_tables)
    ScriptDirectory.from_config = staticmethod(_from_config)
    local_compute_log_manager.mirror_stream_to_file = _as_it_is
    sql_event_log.serialize_value = _serialize_once
    sql_event_log.SqlEventLogStorage._has_asset_key_index_cols_on_connection = lambda *_: True
    for storage in (sqlite_run_storage, sqlite_schedule_storage):
        storage.create_engine = functools.lru_cache(maxsize=9)(storage.create_engine)
