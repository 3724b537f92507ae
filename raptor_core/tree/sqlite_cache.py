"""Cache of unfinished work in a home: one SQLite file for all its processes.

Each transaction is on disk when it returns, and deleted rows are overwritten with zeros, as
``docs/adr/0008`` decides. The statements are in ``sql_cache``.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from raptor_core.disk import check_space, disk_errors, file_lock
from raptor_core.errors import StoreError
from raptor_core.tree.sql_cache import SCHEMA, Database, Row, SqlCache

FILE = "cache.sqlite"
WAIT_SECONDS = 30.0
"""Longest wait for other processes that write."""

_MAKE = f"""
pragma auto_vacuum=incremental; pragma journal_mode=wal;
begin; {SCHEMA.format(blob="blob")} commit;
"""
_SETTINGS = "pragma synchronous=full; pragma secure_delete=on"
_LIST = "select value from json_each(:list)"


class SqliteCache(SqlCache):
    """``NodeCache`` in a folder; its file is created with the first value."""

    def __init__(self, folder: Path, corpus: str = "") -> None:
        super().__init__(corpus)
        self._folder = folder

    def _connect(self, *, to_write: bool) -> Database | None:
        path = self._folder / FILE
        if not to_write:
            if not path.exists():
                return None
            if not os.access(self._folder, os.W_OK):
                return _Sqlite(path, "?immutable=1")
        with disk_errors(path):
            self._folder.mkdir(parents=True, exist_ok=True)
        with _exclusive(path):
            database = _Sqlite(path)
            try:
                database.prepare()
            except BaseException:
                database.close()
                raise
        return database


class _Sqlite:
    """See ``Database``."""

    def __init__(self, path: Path, options: str = "") -> None:
        self._path = path
        with self._errors("open it"):
            # ``SqlCache`` serializes threads, and ``write`` begins transactions.
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}{options}",
                uri=True,
                timeout=WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )

    def prepare(self) -> None:
        """Create missing tables."""
        with self._errors("make its tables"):
            if not self._connection.execute("pragma schema_version").fetchone()[0]:
                self._connection.executescript(_MAKE)
            self._connection.executescript(_SETTINGS)

    def read(self, statement: str, values: Row) -> list[tuple[Any, ...]]:
        """See ``Database.read``."""
        with self._errors("read"):
            return self._connection.execute(statement.format(list=_LIST), values).fetchall()

    def write(self, statements: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """See ``Database.write``."""
        n_bytes = sum(len(v or "") for _, rows in statements for row in rows for v in row.values())
        check_space(self._path.parent, n_bytes)
        with self._errors("write"):
            self._connection.execute("begin immediate")
            with self._connection:
                for statement, rows in statements:
                    self._connection.executemany(statement.format(list=_LIST), rows)
            if self._connection.execute("pragma freelist_count").fetchone()[0]:
                # ``execute`` would stop after the first page
                self._connection.executescript("pragma incremental_vacuum")

    def close(self) -> None:
        """See ``Database.close``."""
        with self._errors("close it"):
            self._connection.close()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: SQLite failed to {doing}: {error}. Free space if the disk is full, "
                "make the folder writable for this user if it is not, end the process that holds "
                "it if it is locked, and repeat. If the file is damaged, move it away: it holds "
                "unfinished work only, which is then made again"
            ) from error


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Keep other processes from creating the same tables."""
    file = path.with_suffix(".lock")
    with disk_errors(path), file_lock(file, WAIT_SECONDS) as is_free:
        if not is_free:
            raise StoreError(
                f"{file}: another process has been opening the cache of unfinished work "
                f"for {WAIT_SECONDS:g} s; end it, and repeat"
            )
        yield
