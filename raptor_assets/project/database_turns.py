"""Turns in PostgreSQL: advisory locks of a connection that a run keeps to its end.

A run also holds one for itself, until its process ends or begins another run: so any machine can
tell whether it is alive.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import dagster as dg

from raptor_assets.project.waiting import POLL_SECONDS, WaitingTurn, lock_number
from raptor_core.errors import RecordsError

KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
_SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
}
"""A machine that went down has lost its turns after a minute, on both sides of the connection."""

_HOLDER = """
select a.application_name from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = :key
"""


def living_runs(instance: dg.DagsterInstance, run_ids: Collection[str]) -> set[str]:
    """Those of the runs whose process holds its lock, on any machine; PostgreSQL only."""
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        return {run_id for run_id in run_ids if _holder(connection, _run_key(run_id))}


class DatabaseTurn(WaitingTurn):
    """Advisory locks of a connection of the run's own; a proxy must not share it among clients."""

    def __init__(
        self, instance: dg.DagsterInstance, run_id: str, tell: Callable[[str], None]
    ) -> None:
        super().__init__(tell)
        self._taken: list[int] = []
        name = f"raptor run {run_id[:8]} on {socket.gethostname()[:24]}:{os.getpid()}"
        with _lost("cannot begin a turn"):
            self._connection = _connect(instance, name)
            while not self._lock(_run_key(run_id)):  # a process that had it ends just now
                time.sleep(POLL_SECONDS)

    def _key(self, partition: str) -> int:
        return lock_number("partition", partition)

    def _try(self, key: int) -> bool:
        with _lost("cannot wait for a turn"):
            found = self._lock(key)
        if found:
            self._taken.append(key)
        return found

    def _lock(self, key: int) -> bool:
        return bool(self._ask("select pg_try_advisory_lock(:key)", key=key))

    def _told_holder(self, key: int) -> str:
        with _lost("cannot wait for a turn"):
            return _holder(self._connection, key) or "a run that ends just now"

    def _release(self) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        taken, self._taken = self._taken, []
        with suppress(SQLAlchemyError):  # a connection that is lost has given them back
            for key in taken:
                self._ask("select pg_advisory_unlock(:key)", key=key)

    def require(self) -> None:
        """See ``raptor_assets.process.Turn``."""
        with _lost("the turn at these partitions was lost"):
            self._ask("select 1")

    def close(self) -> None:
        """End the connection, and with it all locks; again is allowed."""
        self._connection.close()

    def _ask(self, statement: str, **values: Any) -> Any:
        from sqlalchemy import text

        return self._connection.execute(text(statement), values).scalar()


def _connect(instance: dg.DagsterInstance, name: str) -> Any:
    """A connection of its own, that says who it is and notices a machine that is gone."""
    from dagster_postgres.utils import create_pg_engine
    from sqlalchemy import text
    from sqlalchemy.pool import NullPool

    storage: Any = instance.event_log_storage
    engine = create_pg_engine(
        storage.postgres_url,
        storage._token_provider,  # noqa: SLF001 - as ``keep_connections`` does
        isolation_level="AUTOCOMMIT",
        poolclass=NullPool,
        connect_args={"application_name": name, **KEEPALIVES},
    )
    connection = engine.connect()
    for setting, value in _SERVER_KEEPALIVES.items():
        connection.execute(text(f"set {setting} = {value}"))
    return connection


@contextmanager
def _lost(what: str) -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        told = str(getattr(error, "orig", None) or error).strip()
        line = told.splitlines()[0] if told else "the connection was cut"
        raise RecordsError(
            f"{what}, because Dagster's database does not answer: {line}. Another run may be at "
            "them now. Start the database if it is down, and run again: what was published stays, "
            "and what is finished is kept"
        ) from error


def _holder(connection: Any, key: int) -> str:
    """Who holds a lock; empty for nobody."""
    from sqlalchemy import text

    return str(connection.execute(text(_HOLDER), {"key": key}).scalar() or "")


def _run_key(run_id: str) -> int:
    return lock_number("run", run_id)
