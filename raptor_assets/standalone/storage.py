"""Dagster's event log in SQLite: one database, and an open connection.

Dagster's own logs open, sync and close a database for every statement, and the default log stores
an event up to three times. Here an event is stored once, with the rows that follow from it, in a
transaction that is synced at checkpoints only. The tables are Dagster's, and
``tests/raptor_assets/standalone/test_storage.py`` names each private method that is used.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import IntegrityError

from raptor_assets.dagster_private import (
    AssetCheckExecutionsTable,
    AssetKeyTable,
    ConfigurableClassData,
    EventHandlerFn,
    EventLogEntry,
    SqlPollingEventWatcher,
    consolidated_sqlite_event_log,
    get_alembic_config,
    stamp_alembic_rev,
)

BUSY_SECONDS = 60  # time to wait for another process that writes


class PooledSqliteEventLogStorage(consolidated_sqlite_event_log.ConsolidatedSqliteEventLogStorage):
    """Event log of a home; a crash of the machine, not of the process, may lose the last events."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._thread = threading.local()
        self._tables: set[str] = set()
        self._watcher = SqlPollingEventWatcher(self)
        super().__init__(base_dir, inst_data)
        if not self.has_table("alembic_version"):  # the file is empty
            self._init_db()

    def has_table(self, table_name: str) -> bool:
        """Return whether a table exists; a present one stays."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @property
    def supports_partition_subset_in_asset_materialization_planned_events(self) -> bool:
        """Whether a run plans an asset by one event, not by one for each partition."""
        return True

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event and the rows that follow from it, in one transaction."""
        with self._connect():
            super().store_event(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store all events, or none if one cannot be stored."""
        with self._connect():
            super().store_event_batch(events)

    def delete_events(self, run_id: str) -> None:
        """Delete the events of a run, and its results of checks, which the base leaves."""
        with self._connect() as connection:
            super().delete_events(run_id)
            checks = AssetCheckExecutionsTable
            connection.execute(checks.delete().where(checks.c.run_id == run_id))

    def watch(self, run_id: str, cursor: str | None, callback: EventHandlerFn) -> None:
        """Poll the events of a run; its file changes at checkpoints only."""
        self._watcher.watch_run(run_id, cursor, callback)

    def end_watch(self, run_id: str, handler: EventHandlerFn) -> None:
        """Stop ``watch``."""
        self._watcher.unwatch_run(run_id, handler)

    def dispose(self) -> None:
        """Close the watcher and the database."""
        self._watcher.close()
        self._engine.dispose()
        super().dispose()  # type: ignore[no-untyped-call]

    def _init_db(self) -> None:
        """Make the tables, and record their version, which the base does not commit."""
        super()._init_db()  # type: ignore[no-untyped-call]
        with self._connect() as connection:
            stamp_alembic_rev(
                get_alembic_config(consolidated_sqlite_event_log.__file__), connection
            )

    def _store_asset_check_evaluation_planned(
        self, event: EventLogEntry, event_id: int | None
    ) -> None:
        """Ignore the plan of a check: the base would add a row with all partitions for each."""

    def _store_asset_event(self, conn: Connection, event: EventLogEntry, event_id: int) -> None:
        """Add or replace the row of an asset in one statement."""
        key = event.get_dagster_event().asset_key
        values = self._get_asset_entry_values(event, event_id, has_asset_key_index_cols=True)
        if key and values:
            row = insert(AssetKeyTable).values(asset_key=key.to_string(), **values)
            conn.execute(row.on_conflict_do_update(index_elements=["asset_key"], set_=values))

    def _update_asset_check_evaluation(self, event: EventLogEntry, event_id: int | None) -> None:
        """Insert the result of a check; on a partition it has no planned row to update."""
        evaluation: Any = event.get_dagster_event().event_specific_data
        try:
            if evaluation.partition is not None:
                self._store_runless_asset_check_evaluation(event, event_id)
                return
        except IntegrityError:  # the run has a result of the check already
            pass
        super()._update_asset_check_evaluation(event, event_id)

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
        sa.event.listen(engine, "connect", _prepare)
        return engine


def _prepare(connection: Any, _record: Any) -> None:
    """Sync at checkpoints, and erase what is replaced."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")
