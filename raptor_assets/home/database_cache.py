"""The cache of unfinished work in PostgreSQL, for runs on many machines (docs/adr/0008)."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import dagster as dg

from raptor_assets.home.records import database_explained, separate_engine
from raptor_core.tree.sql_cache import SCHEMA, Database, Row, SqlCache

_SCHEMA = "raptor"  # schema of the tables, next to Dagster's
_USE_SCHEMA = f"set local search_path = {_SCHEMA}"
"""Statement before each transaction, since poolers drop the settings of a connection."""

_LOCK = "select pg_advisory_xact_lock(7270702)"
"""Lock of writers, which take turns as in SQLite: so no entry is forgotten while it is used."""

_LIST = "select json_array_elements_text(cast(:list as json))"
_ROWS = 200  # rows that are sent at once


class DatabaseCache(SqlCache):
    """``NodeCache`` in the database of Dagster's records; see ``SqlCache``."""

    def __init__(self, instance: dg.DagsterInstance, corpus: str) -> None:
        super().__init__(corpus)
        self._instance = instance

    def _connect(self, *, to_write: bool) -> Database:  # noqa: ARG002 - there is always one
        with _explained("opened"):
            return _Postgres(separate_engine(self._instance).raw_connection())


class _Postgres:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._driver = connection.driver_connection  # of psycopg2: ``with`` is a transaction
        tables = f"create schema if not exists {_SCHEMA}; {SCHEMA.format(blob='bytea')}"
        with self._driver, self._driver.cursor() as cursor:
            cursor.execute(f"{_USE_SCHEMA}; select to_regclass('wanted_by_key')")
            if cursor.fetchone()[0] is None:
                cursor.execute(_LOCK)
                cursor.execute(tables)

    def read(self, statement: str, values: Row) -> list[tuple[Any, ...]]:
        """See ``Database.read``."""
        with _explained("read"), self._driver, self._driver.cursor() as cursor:
            cursor.execute(f"{_USE_SCHEMA}; {_prepared(statement)}", values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def write(self, statements: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """See ``Database.write``."""
        from psycopg2.extras import execute_batch

        with _explained("written"), self._driver, self._driver.cursor() as cursor:
            cursor.execute(f"{_USE_SCHEMA}; {_LOCK}")
            for statement, rows in statements:
                execute_batch(cursor, _prepared(statement), rows, page_size=_ROWS)

    def close(self) -> None:
        """See ``Database.close``."""
        self._connection.close()


def _prepared(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement.format(list=_LIST))


def _explained(doing: str) -> AbstractContextManager[None]:
    return database_explained(f"the cache of unfinished work cannot be {doing}:")
