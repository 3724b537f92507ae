"""Dagster's SQLite event log as one database with an open connection and compressed events.

The original has a database per run and a second copy of asset events in an index; it opens a
database and syncs its files for every event. Here an event is stored once, compressed, in a
transaction that is synced at checkpoints only. The tables are the same. Runs that have a database
from an earlier version keep it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Self

import dagster as dg
import sqlalchemy as sa
from dagster._core.event_api import EventHandlerFn, EventRecordsFilter
from dagster._core.events import ASSET_CHECK_EVENTS, ASSET_EVENTS
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log.polling_event_watcher import SqlPollingEventWatcher
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetKeyTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sqlite.sqlite_event_log import (
    INDEX_SHARD_NAME,
    SqliteEventLogStorage,
)
from dagster._serdes import ConfigurableClassData
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from raptor_assets.project.event_text import pack, unpack

BUSY_SECONDS = 60  # time to wait for another process that writes


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """Event log of a home; a crash of the machine, not of the process, may lose the last events."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, Engine] = {}
        self._tables: set[str] = set()
        self._thread = threading.local()
        self._last: tuple[EventLogEntry | None, dict[str, Any]] = None, {}
        self._watcher = SqlPollingEventWatcher(self)
        self._sharded_runs: frozenset[str] = frozenset()
        super().__init__(base_dir, inst_data)
        self._sharded_runs = frozenset(self.get_all_run_ids())

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> Self:
        """See ``ConfigurableClass``."""
        return cls(inst_data=inst_data, **config_value)

    @property
    def is_run_sharded(self) -> bool:
        """Whether event ids grow within a run only."""
        return False

    def has_table(self, table_name: str) -> bool:
        """Return whether a table exists, after creating the tables of a new database."""
        self._engine(INDEX_SHARD_NAME)
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @property
    def supports_partition_subset_in_asset_materialization_planned_events(self) -> bool:
        """Whether a run plans an asset by one event, not by one for each partition."""
        return True

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event and the rows that follow from it, in one transaction."""
        with self._together():
            self._store(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store all events, or none if one cannot be stored."""
        with self._together():
            for event in events:
                self._store(event)

    def get_event_records(
        self,
        event_records_filter: EventRecordsFilter,
        limit: int | None = None,
        ascending: bool = False,
    ) -> Sequence[dg.EventLogRecord]:
        """Return records of the runs in this database."""
        return self._get_event_records(event_records_filter, limit, ascending)

    def watch(self, run_id: str, cursor: str | None, callback: EventHandlerFn) -> None:
        """Poll the events of a run; its files change at checkpoints only."""
        self._watcher.watch_run(run_id, cursor, callback)

    def end_watch(self, run_id: str, handler: EventHandlerFn) -> None:
        """Stop ``watch``."""
        self._watcher.unwatch_run(run_id, handler)

    def dispose(self) -> None:
        """Close the watcher and all databases."""
        self._watcher.close()
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
        super().dispose()

    def _store(self, event: EventLogEntry) -> None:
        """Store an event as ``SqlEventLogStorage`` does, with precompiled statements."""
        if event.run_id in self._sharded_runs:
            super().store_event(event)
            return
        kind = event.dagster_event_type
        with self.index_connection() as connection:
            event_id = connection.execute(_ADD_EVENT, self._event_to_row(event)).lastrowid
            if kind in ASSET_EVENTS and event.get_dagster_event().asset_key:
                self._store_asset_event_tags(connection, [event], [event_id])
                self._store_asset_event(connection, event, event_id)
            elif kind in ASSET_CHECK_EVENTS:
                self.store_asset_check_event(event, event_id)

    def _event_to_row(self, event: EventLogEntry) -> dict[str, Any]:
        """Return the columns of an event; the last are cached, as a check needs them twice."""
        last, row = self._last
        if last is not event:
            row = super()._event_to_row(event)
            row["event"] = pack(row["event"])
            self._last = event, row
        return row

    def _store_asset_event(self, conn: Connection, event: EventLogEntry, event_id: int) -> None:
        values = self._get_asset_entry_values(event, event_id, has_asset_key_index_cols=True)
        if values:
            key = event.get_dagster_event().asset_key
            row = {"asset_key": key and key.to_string(), **values}
            conn.execute(_put(AssetKeyTable, ("asset_key",), tuple(values)), row)

    def _get_asset_entry_values(
        self, event: EventLogEntry, event_id: int, has_asset_key_index_cols: bool
    ) -> dict[str, Any]:
        """Return the base's values, with the JSON of a materialization from the cached row."""
        if not event.get_dagster_event().is_step_materialization:
            return super()._get_asset_entry_values(event, event_id, has_asset_key_index_cols)
        row = self._event_to_row(event)
        content = f'"event_log_entry": {unpack(row["event"])}, "storage_id": {event_id}'
        return {
            "last_materialization": f'{{"__class__": "EventLogRecord", {content}}}',
            "last_run_id": event.run_id,
            "last_materialization_timestamp": row["timestamp"],
        }

    def _store_asset_check_evaluation_planned(
        self, event: EventLogEntry, event_id: int | None
    ) -> None:
        """Ignore the plan of a check: the base would add a row with all partitions for each."""

    def _update_asset_check_evaluation(self, event: EventLogEntry, event_id: int | None) -> None:
        """Store the result of a check; on a partition it has no planned row to update."""
        evaluation: Any = event.get_dagster_event().event_specific_data
        if evaluation.partition is None:
            super()._update_asset_check_evaluation(event, event_id)
            return
        stored = self._event_to_row(event)
        of, target = AssetCheckExecutionRecordStatus, evaluation.target_materialization_data
        key = {
            "asset_key": evaluation.asset_key.to_string(),
            "check_name": evaluation.check_name,
            "run_id": event.run_id,
            "partition": evaluation.partition,
        }
        values = {
            "execution_status": (of.SUCCEEDED if evaluation.passed else of.FAILED).value,
            "evaluation_event": stored["event"],
            "evaluation_event_timestamp": stored["timestamp"],
            "evaluation_event_storage_id": event_id,
            "materialization_event_storage_id": target and target.storage_id,
        }
        with self.index_connection() as connection:
            put = _put(AssetCheckExecutionsTable, tuple(key), tuple(values))
            connection.execute(put, key | values)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Open one transaction per database for all statements of this thread in the block."""
        with self._db_lock, ExitStack() as ends:
            self._thread.begun, self._thread.ends = {}, ends
            try:
                yield
            finally:
                self._thread.ends = None

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        shard = shard if shard in self._sharded_runs else INDEX_SHARD_NAME
        ends: ExitStack | None = getattr(self._thread, "ends", None)
        if ends is None:
            with self._db_lock, self._engine(shard).connect() as connection, connection.begin():
                yield connection
        else:
            begun: dict[str, Connection] = self._thread.begun
            if shard not in begun:
                begun[shard] = ends.enter_context(self._engine(shard).connect())
                ends.enter_context(begun[shard].begin())
            yield begun[shard]

    def _engine(self, shard: str) -> Engine:
        """Return the engine of a database; a sharded run's closes after each use."""
        if shard not in self._engines:
            is_index = shard == INDEX_SHARD_NAME
            engine = sa.create_engine(
                self.conn_string_for_shard(shard),
                connect_args={"timeout": BUSY_SECONDS},
                poolclass=None if is_index else NullPool,
            )
            sa.event.listen(engine, "connect", _prepare)
            self._initdb(engine, for_index_shard=is_index)
            self._engines[shard] = engine
        return self._engines[shard]


_ADD_EVENT = SqlEventLogStorageTable.insert()


@cache
def _put(table: sa.Table, key: tuple[str, ...], columns: tuple[str, ...]) -> Insert:
    row = insert(table)
    new = {name: row.excluded[name] for name in columns}
    return row.on_conflict_do_update(index_elements=key, set_=new)


def _prepare(connection: Any, _record: Any) -> None:
    """Sync at checkpoints, and decompress bytes, which are events in all columns."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.row_factory = lambda _cursor, row: tuple(
        unpack(value) if isinstance(value, bytes) else value for value in row
    )
