"""The cache of unfinished work in PostgreSQL, for runs on many machines (docs/adr/0008)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import dagster as dg

from raptor_assets.project.records import database_told, own_engine
from raptor_core.tree.sql_cache import SCHEMA, Database, Row, SqlCache

_SCHEMA = "raptor"
"""Of the tables; Dagster's own are beside it."""

_HERE = f"set local search_path = {_SCHEMA}"
"""Before each transaction, since a pooler such as PgBouncer takes no settings with a connection."""

_ALONE = "select pg_advisory_xact_lock(7270702)"
"""Writers take turns, as they do in SQLite: what a tree wants is then never forgotten with another
tree at the same moment, and tables are made once."""

_LIST = "select json_array_elements_text(cast(:list as json))"
_ROWS = 200
"""Rows that are sent at once."""


class DatabaseCache(SqlCache):
    """A ``NodeCache`` beside Dagster's records; see ``SqlCache``."""

    def __init__(self, instance: dg.DagsterInstance, corpus: str) -> None:
        super().__init__(corpus)
        self._instance = instance

    def _connect(self, *, to_write: bool) -> Database:  # noqa: ARG002 - there is always one
        with _told("opened"):
            return _Postgres(own_engine(self._instance).raw_connection())


class _Postgres:
    """See ``Database``."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._driver = connection.driver_connection  # of psycopg2: ``with`` is a transaction
        made = f"create schema if not exists {_SCHEMA}; {SCHEMA.format(blob='bytea')}"
        with self._driver, self._driver.cursor() as cursor:
            cursor.execute(f"{_HERE}; select to_regclass('wanted_by_key')")
            if cursor.fetchone()[0] is None:
                cursor.execute(_ALONE)
                cursor.execute(made)

    def read(self, statement: str, values: Row) -> list[tuple[Any, ...]]:
        """See ``Database.read``."""
        with _told("read"), self._driver, self._driver.cursor() as cursor:
            cursor.execute(f"{_HERE}; {_prepared(statement)}", values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def write(self, statements: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """See ``Database.write``."""
        from psycopg2.extras import execute_batch

        with _told("written"), self._driver, self._driver.cursor() as cursor:
            cursor.execute(f"{_HERE}; {_ALONE}")
            for statement, rows in statements:
                execute_batch(cursor, _prepared(statement), rows, page_size=_ROWS)

    def close(self) -> None:
        """See ``Database.close``."""
        self._connection.close()


def _prepared(statement: str) -> str:
    """The statement as psycopg2 takes it."""
    return re.sub(r":(\w+)", r"%(\1)s", statement.format(list=_LIST))


def _told(doing: str) -> AbstractContextManager[None]:
    return database_told(f"the cache of unfinished work cannot be {doing}:")
