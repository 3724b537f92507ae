"""Dagster's SQLite event log, with its connections kept open.

The original opens and closes a database for every event, and SQLite then syncs its files each
time; for the result of a check it does so three times. A run over many partitions logs a hundred
events for each of them: kept open, synced at checkpoints only, and with one transaction for what
belongs together, an event costs a quarter. The files and their format are the same.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log.sqlite.sqlite_event_log import (
    INDEX_SHARD_NAME,
    SqliteEventLogStorage,
)
from dagster._serdes import ConfigurableClassData
from sqlalchemy.engine import Connection, Engine

OPEN_SHARDS = 8
"""Databases kept open: the index of all assets, and the latest runs."""

BUSY_SECONDS = 60
"""How long to wait for another process that writes."""


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """Same as its base; a crash of the machine (not of the process) may lose the last events."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._tables: set[str] = set()
        self._empty: sqlite3.Connection | None = None
        self._transactions = _Transactions()
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> Self:
        """See ``ConfigurableClass``."""
        return cls(inst_data=inst_data, **config_value)

    def has_table(self, table_name: str) -> bool:
        """Whether a table exists; asked of the database until it does."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    @property
    def supports_partition_subset_in_asset_materialization_planned_events(self) -> bool:
        """One event for each asset of a run says what it is to make, not one for each partition.

        Most would be of layers that no tree has; the chain plans what it begins, and what failed.
        """
        return True

    def _store_asset_check_evaluation_planned(
        self, event: EventLogEntry, event_id: int | None
    ) -> None:
        """Pass over the plan of a check on many partitions; its results are stored all the same.

        The original adds a row for each of them, and each names all partitions of the run.
        """
        planned: Any = event.dagster_event and event.dagster_event.event_specific_data
        if planned is None or planned.partitions_subset is None:
            super()._store_asset_check_evaluation_planned(event, event_id)

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event in its run's database and in the index, with one transaction for each."""
        with self._together():
            super().store_event(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store all events or, where one cannot be stored, none."""
        with self._together():
            for event in events:
                super().store_event(event)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """One transaction per database for all that this thread does meanwhile."""
        with self._db_lock, ExitStack() as ends:
            self._transactions.begun, self._transactions.ends = {}, ends
            try:
                yield
            finally:
                self._transactions.ends = None

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        begun, ends = self._transactions.begun, self._transactions.ends
        if ends is None:
            with self._db_lock, self._engine(shard).connect() as connection, connection.begin():
                yield connection
        else:
            if shard not in begun:
                begun[shard] = ends.enter_context(self._engine(shard).connect())
                ends.enter_context(begun[shard].begin())
            yield begun[shard]

    def _engine(self, shard: str) -> Engine:
        engine = self._engines.get(shard)
        if engine is None:
            engine = sa.create_engine(
                self.conn_string_for_shard(shard), connect_args={"timeout": BUSY_SECONDS}
            )
            sa.event.listen(engine, "connect", _sync_at_checkpoints)
            if shard not in self._initialized_dbs:
                self._initdb(engine, for_index_shard=shard == INDEX_SHARD_NAME)
                self._initialized_dbs.add(shard)
            self._engines[shard] = engine
        self._engines.move_to_end(shard)
        while len(self._engines) > OPEN_SHARDS:
            _, oldest = self._engines.popitem(last=False)
            oldest.dispose()
        return engine

    def _initdb(self, engine: Engine, for_index_shard: bool = False) -> None:
        """Make a run's database as a copy of an empty one, where no other process is at it.

        The original reads Dagster's migrations from disk several times for each run. What is there
        already, as the index is, is no template: a copy would hold all its events.
        """
        name = None if for_index_shard else engine.url.database
        path = Path(name) if name else None
        if path is None or path.exists():
            super()._initdb(engine, for_index_shard)
        elif not self._copy_empty(path):
            super()._initdb(engine)
            self._empty = self._empty or _in_memory(path)

    def _copy_empty(self, path: Path) -> bool:
        """Whether ``path`` was made now; a link appears whole, and never over another's file."""
        if self._empty is None or path.exists():
            return False
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            with closing(sqlite3.connect(part)) as fresh:
                self._empty.backup(fresh)
                fresh.execute("PRAGMA journal_mode=WAL")
            os.link(part, path)
        except (OSError, sqlite3.OperationalError):
            # Another process was first, the file system has no links, or the disk is full: the
            # original is slower, and says what is wrong.
            return False
        finally:
            part.unlink(missing_ok=True)
        return True

    def dispose(self) -> None:
        """Close everything."""
        if self._empty is not None:
            self._empty.close()
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
        super().dispose()


class _Transactions(threading.local):
    """Of one thread: the connections in which it began one, by shard, and what will end them.

    ``ends`` is None while each statement has a transaction of its own.
    """

    def __init__(self) -> None:
        self.begun: dict[str, Connection] = {}
        self.ends: ExitStack | None = None


def _in_memory(path: Path) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", check_same_thread=False)
    with closing(sqlite3.connect(path)) as made:
        made.backup(copy)
    return copy


def _sync_at_checkpoints(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA synchronous=NORMAL")
