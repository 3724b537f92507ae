"""Turns at partitions: locks in PostgreSQL if it keeps Dagster's records, else in files.

Locks end with the connection or the process of a run, without any clock. In PostgreSQL a run also
holds a lock for itself, which shows to any machine that its process lives.
"""

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
    database_explained,
    is_postgres,
    keep_connections,
    separate_engine,
)
from raptor_core.disk import disk_errors, file_lock
from raptor_core.identity import digest

_POLL_SECONDS = 0.25

_SLOTS = 256  # lock files for all partitions, which share them
_OF_THE_SERVER = {
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
    "idle_in_transaction_session_timeout": 0,
}
"""Settings like ``records.KEEPALIVES``, on the server's side of a connection that may idle."""

_HOLDER = """
select a.application_name from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = :key
"""

_log = logging.getLogger(__name__)

_of_thread = threading.local()  # turn of the latest run of a thread


def begin_turn(
    folder: Path, instance: dg.DagsterInstance, run_id: str, warn: Callable[[str], None]
) -> "Turn":
    """Begin the turn of a run and end this thread's last one; ``warn`` says when it waits."""
    previous: Turn | None = getattr(_of_thread, "turn", None)
    if previous is not None:
        previous.close()
    turn: Turn
    if is_postgres(instance):
        keep_connections(instance)  # to the end of the process, since a run logs many events
        turn = _DatabaseTurn(instance, run_id, warn)
    else:
        turn = Turn(folder, warn)
    _of_thread.turn = turn
    return turn


class Turn:
    """Turn of a run by lock files, taken in one order, so that no two runs wait for each other."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._warn = warn
        self._files = ExitStack()

    @contextmanager
    def take(self, partitions: Collection[str]) -> Iterator[None]:
        """Wait for the locks of these partitions, and keep them to the end of the context."""
        try:
            for key, name in sorted({self._key(name): name for name in partitions}.items()):
                self._wait(key, name)
            yield
        finally:
            self._release()

    def require(self) -> None:
        """Raise a RecordsError if locks were lost with their database; files never lose them."""

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        self._release()

    def _wait(self, key: int, name: str) -> None:
        has_warned = False
        while not self._try(key):
            if not has_warned:
                message = f"partition {name!r}: waiting for {self._describe_holder(key)} to end"
                self._warn(message)
                _log.warning(message)
                has_warned = True
            time.sleep(_POLL_SECONDS)

    def _key(self, partition: str) -> int:
        return _lock_number(partition) % _SLOTS

    def _try(self, key: int) -> bool:
        path = self._folder / f"{key:02x}.lock"
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            return self._files.enter_context(file_lock(path))

    def _describe_holder(self, key: int) -> str:  # noqa: ARG002 - a file does not name its holder
        return "another run on this home"

    def _release(self) -> None:
        self._files.close()


def _lock_number(*parts: str) -> int:
    """Return a signed number of 64 bits, as the database's locks have them."""
    return int.from_bytes(bytes.fromhex(digest("turn", *parts)[:16]), "big", signed=True)


class _DatabaseTurn(Turn):
    """Turn by advisory locks of a separate connection of the run.

    With a pooler by transaction, such as PgBouncer, an open transaction without a snapshot keeps
    the connection for this run.
    """

    def __init__(
        self, instance: dg.DagsterInstance, run_id: str, warn: Callable[[str], None]
    ) -> None:
        self._warn = warn
        self._locks: list[int] = []
        name = f"raptor run {run_id[:8]} on {socket.gethostname()[:24]}:{os.getpid()}"
        with _explained("cannot begin a turn"):
            engine = separate_engine(instance, isolation_level="AUTOCOMMIT", application_name=name)
            self._connection = engine.connect()
            driver: Any = self._connection.connection
            if driver.get_backend_pid() != self._ask("select pg_backend_pid()"):  # a pooler's
                self._connection.exec_driver_sql("begin")
            for setting, value in _OF_THE_SERVER.items():
                self._connection.exec_driver_sql(f"set {setting} = {value}")
            key = _lock_number("run", run_id)
            while not self._lock(key):  # the process that had it is ending
                time.sleep(_POLL_SECONDS)

    def _key(self, partition: str) -> int:
        return _lock_number("partition", partition)

    def _try(self, key: int) -> bool:
        with _explained("cannot wait for a turn"):
            is_locked = self._lock(key)
        if is_locked:
            self._locks.append(key)
        return is_locked

    def _lock(self, key: int) -> bool:
        return bool(self._ask("select pg_try_advisory_lock(:key)", key=key))

    def _describe_holder(self, key: int) -> str:
        with _explained("cannot wait for a turn"):
            return _holder(self._connection, key) or "a run that ends just now"

    def _release(self) -> None:
        locks, self._locks = self._locks, []
        with suppress(SQLAlchemyError):  # a lost connection has released them
            for key in locks:
                self._ask("select pg_advisory_unlock(:key)", key=key)

    def require(self) -> None:
        """See ``Turn.require``."""
        with _explained("the turn at these partitions was lost"):
            self._ask("select 1")

    def close(self) -> None:
        """End the connection, and with it all locks; a second call does nothing."""
        self._connection.close()

    def _ask(self, statement: str, **values: Any) -> Any:
        return self._connection.execute(text(statement), values).scalar()


def _explained(failure: str) -> AbstractContextManager[None]:
    return database_explained(f"{failure}, and another run may be at them now.")


def _holder(connection: Any, key: int) -> str:
    """Return the name of the run that holds a lock, "" if it is free."""
    return str(connection.execute(text(_HOLDER), {"key": key}).scalar() or "")


def living_runs(instance: dg.DagsterInstance, run_ids: Collection[str]) -> set[str]:
    """Return the runs whose process holds its lock, on any machine; PostgreSQL only."""
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        return {run_id for run_id in run_ids if _holder(connection, _lock_number("run", run_id))}
