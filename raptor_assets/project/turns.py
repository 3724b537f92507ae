"""Turns at partitions: locks in PostgreSQL where it keeps Dagster's records, else in files.

A lock of the database belongs to the connection that took it, and a lock of a file to the process:
both go when a run ends, however it ends, and no clock is asked. In PostgreSQL a run also holds a
lock for itself, until its process ends or begins another run: so any machine can tell whether it
is alive.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import dagster as dg
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from raptor_assets.project.records import (
    database_told,
    is_postgres,
    keep_connections,
    own_engine,
)
from raptor_core.disk import disk_errors, file_lock
from raptor_core.identity import digest

_POLL_SECONDS = 0.25

_SLOTS = 256
"""Files for all partitions: two that share one wait for each other, which costs only time."""

_OF_THE_SERVER = {
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
    "idle_in_transaction_session_timeout": 0,
}
"""As ``records.KEEPALIVES``, on the server's side of a connection that may be idle for long."""

_HOLDER = """
select a.application_name from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = :key
"""


_log = logging.getLogger(__name__)

_of_thread = threading.local()
"""The turn that the latest run of a thread was given."""


def begin_turn(
    folder: Path, instance: dg.DagsterInstance, run_id: str, tell: Callable[[str], None]
) -> Turn:
    """The turn of a run in this process.

    What this thread's run before it still holds is given back.

    Args:
        folder: of the locks, where no database keeps them.
        tell: told when it waits, and for whom.
    """
    before: Turn | None = getattr(_of_thread, "turn", None)
    if before is not None:
        before.close()
    turn: Turn
    if is_postgres(instance):
        keep_connections(instance)  # to the end of the process: a run logs many events
        turn = _DatabaseTurn(instance, run_id, tell)
    else:
        turn = Turn(folder, tell)
    _of_thread.turn = turn
    return turn


class Turn:
    """Takes locks in one order, so that no two runs wait for each other: those of files in a home.

    ``tell`` is told when it waits.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._files = ExitStack()

    @contextmanager
    def take(self, partitions: Collection[str]) -> Iterator[None]:
        """Wait until no other run has one of these, and keep them to the end of the context."""
        try:
            for key, name in sorted({self._key(name): name for name in partitions}.items()):
                self._wait(key, name)
            yield
        finally:
            self._release()

    def require(self) -> None:
        """Refuse to go on when what was taken was lost; a file's lock goes with the process only.

        Raises:
            RecordsError: the database that kept it was restarted, or the network was cut.
        """

    def close(self) -> None:
        """Give everything back; again is allowed."""
        self._release()

    def _wait(self, key: int, name: str) -> None:
        told = False
        while not self._try(key):
            if not told:
                message = f"partition {name!r}: waiting for {self._told_holder(key)} to end"
                self._tell(message)
                _log.warning(message)
                told = True
            time.sleep(_POLL_SECONDS)

    def _key(self, partition: str) -> int:
        """The number of a partition's lock."""
        return _lock_number(partition) % _SLOTS

    def _try(self, key: int) -> bool:
        """Whether the lock was taken now."""
        path = self._folder / f"{key:02x}.lock"
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            return self._files.enter_context(file_lock(path))

    def _told_holder(self, key: int) -> str:  # noqa: ARG002 - a file does not say who holds it
        """Who has the lock, for people."""
        return "another run on this home"

    def _release(self) -> None:
        """Give all locks of partitions back."""
        self._files.close()


def _lock_number(*parts: str) -> int:
    """A number of 64 bits, with sign, as the database's locks have them."""
    return int.from_bytes(bytes.fromhex(digest("turn", *parts)[:16]), "big", signed=True)


class _DatabaseTurn(Turn):
    """Advisory locks of a connection of the run's own.

    Where a pooler stands between, such as PgBouncer by transaction, a transaction that stays open
    keeps others from the connection. It holds no snapshot; a pooler ends the connection with it.
    """

    def __init__(
        self, instance: dg.DagsterInstance, run_id: str, tell: Callable[[str], None]
    ) -> None:
        self._tell = tell
        self._taken: list[int] = []
        name = f"raptor run {run_id[:8]} on {socket.gethostname()[:24]}:{os.getpid()}"
        with _lost("cannot begin a turn"):
            engine = own_engine(instance, isolation_level="AUTOCOMMIT", application_name=name)
            self._connection = engine.connect()
            given: Any = self._connection.connection
            if given.get_backend_pid() != self._ask("select pg_backend_pid()"):  # a pooler's own
                self._connection.exec_driver_sql("begin")
            for setting, value in _OF_THE_SERVER.items():
                self._connection.exec_driver_sql(f"set {setting} = {value}")
            key = _lock_number("run", run_id)
            while not self._lock(key):  # a process that had it ends just now
                time.sleep(_POLL_SECONDS)

    def _key(self, partition: str) -> int:
        return _lock_number("partition", partition)

    def _try(self, key: int) -> bool:
        with _lost("cannot wait for a turn"):
            is_taken = self._lock(key)
        if is_taken:
            self._taken.append(key)
        return is_taken

    def _lock(self, key: int) -> bool:
        return bool(self._ask("select pg_try_advisory_lock(:key)", key=key))

    def _told_holder(self, key: int) -> str:
        with _lost("cannot wait for a turn"):
            return _holder(self._connection, key) or "a run that ends just now"

    def _release(self) -> None:
        taken, self._taken = self._taken, []
        with suppress(SQLAlchemyError):  # a connection that is lost has given them back
            for key in taken:
                self._ask("select pg_advisory_unlock(:key)", key=key)

    def require(self) -> None:
        """See ``Turn.require``."""
        with _lost("the turn at these partitions was lost"):
            self._ask("select 1")

    def close(self) -> None:
        """End the connection, and with it all locks; again is allowed."""
        self._connection.close()

    def _ask(self, statement: str, **values: Any) -> Any:
        return self._connection.execute(text(statement), values).scalar()


def _lost(what: str) -> AbstractContextManager[None]:
    return database_told(f"{what}, and another run may be at them now.")


def _holder(connection: Any, key: int) -> str:
    """Who holds a lock; empty for nobody."""
    return str(connection.execute(text(_HOLDER), {"key": key}).scalar() or "")


def living_runs(instance: dg.DagsterInstance, run_ids: Collection[str]) -> set[str]:
    """Those of the runs whose process holds its lock, on any machine; PostgreSQL only."""
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        return {run_id for run_id in run_ids if _holder(connection, _lock_number("run", run_id))}
