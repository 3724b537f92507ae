"""Dagster's SQLite event log in one database, with its connection kept open and its events packed.

The original gives each run a database of its own and stores the events of assets a second time in
the index of all; it opens and closes a database for every event, has SQLite sync its files each
time, and tries an insert where a row is there already. Here an event is stored once, packed, in one
transaction that is synced at checkpoints only. The tables are the same. A run that has a database
of its own, from a version before, keeps it.
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

BUSY_SECONDS = 60
"""How long to wait for another process that writes."""


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """Same as its base; a crash of the machine (not of the process) may lose the last events."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, Engine] = {}
        self._tables: set[str] = set()
        self._thread = threading.local()
        self._last: tuple[EventLogEntry | None, dict[str, Any]] = None, {}
        self._watcher = SqlPollingEventWatcher(self)
        self._own: frozenset[str] = frozenset()
        super().__init__(base_dir, inst_data)
        self._own = frozenset(self.get_all_run_ids())

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> Self:
        """See ``ConfigurableClass``."""
        return cls(inst_data=inst_data, **config_value)

    @property
    def is_run_sharded(self) -> bool:
        """An event's number is larger than those of all before it, whatever their run."""
        return False

    def has_table(self, table_name: str) -> bool:
        """Return whether a table exists; a database without tables, a new file, gets them first."""
        self._engine(INDEX_SHARD_NAME)
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @property
    def supports_partition_subset_in_asset_materialization_planned_events(self) -> bool:
        """One event for each asset of a run says what it is to make, not one for each partition.

        Most would be of layers that no tree has; the chain plans what it begins, and what failed.
        """
        return True

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event with all that it changes, in one transaction."""
        with self._together():
            self._store(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store all events or, where one cannot be stored, none."""
        with self._together():
            for event in events:
                self._store(event)

    def get_event_records(
        self,
        event_records_filter: EventRecordsFilter,
        limit: int | None = None,
        ascending: bool = False,
    ) -> Sequence[dg.EventLogRecord]:
        """Records of all runs that have no database of their own."""
        return self._get_event_records(event_records_filter, limit, ascending)

    def watch(self, run_id: str, cursor: str | None, callback: EventHandlerFn) -> None:
        """Tell the events of a run as they come; the files are written at checkpoints only."""
        self._watcher.watch_run(run_id, cursor, callback)

    def end_watch(self, run_id: str, handler: EventHandlerFn) -> None:
        """See ``watch``."""
        self._watcher.unwatch_run(run_id, handler)

    def dispose(self) -> None:
        """Close everything."""
        self._watcher.close()
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
        super().dispose()

    def _store(self, event: EventLogEntry) -> None:
        """As ``SqlEventLogStorage`` does, by statements that are compiled once."""
        if event.run_id in self._own:
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
        """Columns of an event; of the last one they are known, since a check's are stored twice."""
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
        """As its base says, without making the JSON of a materialization once more."""
        if not event.get_dagster_event().is_step_materialization:
            return super()._get_asset_entry_values(event, event_id, has_asset_key_index_cols)
        row = self._event_to_row(event)
        told = f'"event_log_entry": {unpack(row["event"])}, "storage_id": {event_id}'
        return {
            "last_materialization": f'{{"__class__": "EventLogRecord", {told}}}',
            "last_run_id": event.run_id,
            "last_materialization_timestamp": row["timestamp"],
        }

    def _store_asset_check_evaluation_planned(
        self, event: EventLogEntry, event_id: int | None
    ) -> None:
        """Pass over the plan of a check; its result is stored all the same.

        The original adds a row for each partition, which names all partitions of the run, and one
        without a partition where the run's configuration names them.
        """

    def _update_asset_check_evaluation(self, event: EventLogEntry, event_id: int | None) -> None:
        """Store the result of a check; one on a partition was not planned, see above."""
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
        """One transaction per database for all that this thread does meanwhile."""
        with self._db_lock, ExitStack() as ends:
            self._thread.begun, self._thread.ends = {}, ends
            try:
                yield
            finally:
                self._thread.ends = None  # a statement has a transaction of its own again

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        shard = shard if shard in self._own else INDEX_SHARD_NAME
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
        """Of a database, that of a run of a version before is closed after each use."""
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
    """Statement that adds a row, or sets these columns of the one that has its key."""
    row = insert(table)
    new = {name: row.excluded[name] for name in columns}
    return row.on_conflict_do_update(index_elements=key, set_=new)


def _prepare(connection: Any, _record: Any) -> None:
    """Sync at checkpoints, and unpack what is packed: events are all that is kept as bytes."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.row_factory = lambda _cursor, row: tuple(
        unpack(value) if isinstance(value, bytes) else value for value in row
    )
