"""Dagster's event log in SQLite, with an open connection and one transaction for each event.

Dagster's own log opens, syncs and closes a database for every statement: on a disk, 720 events took
60 seconds; here they take 4. The tables are Dagster's.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import dagster as dg
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from raptor_assets.dagster_private import (
    ConsolidatedSqliteEventLogStorage,
    SqlPollingEventWatcher,
)

BUSY_SECONDS = 60  # time to wait for another process that writes


class PooledSqliteEventLogStorage(ConsolidatedSqliteEventLogStorage):
    """Event log of a home; a crash of the machine, not of the process, may lose the last events."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        self._thread = threading.local()
        self._tables: set[str] = set()
        self._watcher = SqlPollingEventWatcher(self)
        super().__init__(base_dir, inst_data)
        if not self.has_table("event_logs"):  # the file is empty
            self._init_db()  # type: ignore[no-untyped-call]

    def has_table(self, table_name: str) -> bool:
        """Return whether a table exists; a present one stays."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @property
    def supports_partition_subset_in_asset_materialization_planned_events(self) -> bool:
        """Whether one event plans an asset for all partitions of a run."""
        return True

    def store_event(self, event: dg.EventLogEntry) -> None:
        """Store an event and the rows that follow from it, in one transaction."""
        with self._connect():
            super().store_event(event)

    def watch(self, run_id: str, cursor: str | None, callback: Any) -> None:
        """Poll for events of a run, since the file itself changes only at checkpoints."""
        self._watcher.watch_run(run_id, cursor, callback)

    def end_watch(self, run_id: str, handler: Any) -> None:
        """Stop ``watch``."""
        self._watcher.unwatch_run(run_id, handler)

    def dispose(self) -> None:
        """Close the watcher and the database."""
        self._watcher.close()
        self._engine.dispose()
        super().dispose()  # type: ignore[no-untyped-call]

    def _store_asset_check_evaluation_planned(
        self, event: dg.EventLogEntry, event_id: int | None
    ) -> None:
        """Ignore the plan of a check: the base would add a row with all partitions for each."""

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        """Open a transaction, or join that of this thread."""
        opened: Connection | None = getattr(self._thread, "connection", None)
        if opened is not None:
            yield opened
            return
        with self._engine.begin() as connection:
            self._thread.connection = connection
            try:
                yield connection
            finally:
                self._thread.connection = None

    @cached_property
    def _engine(self) -> Engine:
        """Engine that keeps its connections."""
        engine = sa.create_engine(
            self._conn_string,
            connect_args={"timeout": BUSY_SECONDS},
            poolclass=sa.QueuePool,
            max_overflow=-1,  # as many connections as there are threads at work
        )
        sa.event.listen(engine, "connect", _configure_connection)
        return engine


def _configure_connection(connection: Any, _record: Any) -> None:
    """Sync at checkpoints, and erase what is replaced."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")
