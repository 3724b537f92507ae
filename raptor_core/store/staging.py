"""Staged points of embedded engines: a SQLite file beside the engine.

Staged points come and go with every build. In the engine each would be indexed, searched past and
deleted again, and engines rewrite their files when a fifth is deleted: staging and clearing away
cost more than publishing. Here a row costs microseconds, and the engine holds what is published.

What is staged is a cache of unpublished work. A process that dies loses no finished call to
``apply``; a loss of power may lose the last ones (``synchronous=NORMAL``), and never damages the
file. Removed rows are overwritten with zeros.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from raptor_core.errors import StoreError
from raptor_core.store.engine import Point, Record
from raptor_core.store.files import check_space
from raptor_core.store.payload import Payload

_COLUMNS = ("tree", "content_key", "embedding_key", "digest")
"""Payload fields with a column: what staged points are looked up and compared by."""

_SETTINGS = """
pragma locking_mode=exclusive; pragma journal_mode=wal;
pragma synchronous=normal; pragma secure_delete=on;
"""

_SCHEMA = f"""
create table if not exists staged (
    id text primary key, {", ".join(f"{name} text not null" for name in _COLUMNS)},
    payload text not null, dense blob
) without rowid;
create index if not exists by_tree on staged (tree);
create index if not exists by_content on staged (content_key);
create index if not exists by_embedding on staged (embedding_key);
"""

_VALUES = 900
"""Values in one statement; old versions of SQLite take 999."""


class StagedPoints:
    """The file; it is made when something is staged first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: sqlite3.Connection | None = None

    def _existing(self) -> sqlite3.Connection | None:
        if self._made is None and not self._path.exists():
            return None
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        if self._made is None:
            # The store's lock and turns keep others out, so SQLite need not.
            made = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            try:
                made.executescript(_SETTINGS + _SCHEMA)
            except BaseException:
                made.close()
                raise
            self._made = made
        return self._made

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: SQLite failed to {doing}: {error}. Free space if the disk is full; "
                "if the file is damaged, remove it: it holds unpublished work only"
            ) from error

    def write(self, points: Sequence[Point]) -> None:
        """Insert or replace, all or nothing.

        Raises:
            StoreError: no space, or the disk refuses.
        """
        rows = [
            (
                point.id,
                *(point.payload[name] for name in _COLUMNS),
                json.dumps(point.payload),
                None if point.dense is None else np.asarray(point.dense, dtype="<f4").tobytes(),
            )
            for point in points
        ]
        check_space(self._path.parent, sum(len(row[-2]) + len(row[-1] or b"") for row in rows))
        marks = ", ".join("?" * (len(_COLUMNS) + 3))
        with self._errors(f"stage {len(points)} points"):
            connection = self._connect()
            connection.execute("begin")
            with connection:
                connection.executemany(f"insert or replace into staged values ({marks})", rows)  # noqa: S608

    def delete(self, ids: Sequence[str]) -> set[str]:
        """Remove what exists among ``ids``; what that was."""
        with self._errors(f"remove {len(ids)} points"):
            connection = self._existing()
            if connection is None:
                return set()
            found = {row[0] for row in _select(connection, "id", "id", ids)}
            connection.execute("begin")
            with connection:
                connection.executemany("delete from staged where id = ?", [(i,) for i in found])
        return found

    def read(
        self, field: str | None, values: Sequence[str], fields: Sequence[str] | None, *, dense: bool
    ) -> list[Record]:
        """Points whose ``field`` (a column) is one of ``values``; None for all points."""
        whole = fields is None or not set(fields) <= {*_COLUMNS, "state", "embedded"}
        payload = "payload" if whole else "null"
        vector = "dense" if dense else "null"
        columns = f"id, {', '.join(_COLUMNS)}, dense is not null, {payload}, {vector}"
        with self._errors("read what is staged"):
            connection = self._existing()
            rows = [] if connection is None else _select(connection, columns, field, values)
        return [_record(row, fields) for row in rows]

    def flush(self) -> None:
        """Write what was changed to the file itself, durably."""
        with self._errors("flush"):
            if self._made is not None:
                self._made.execute("pragma wal_checkpoint(truncate)").fetchall()

    def compact(self) -> None:
        """Give free pages back when nothing is staged."""
        with self._errors("compact"):
            connection = self._existing()
            if connection and not connection.execute("select 1 from staged limit 1").fetchone():
                connection.execute("vacuum")

    def close(self) -> None:
        """Release the file."""
        made, self._made = self._made, None
        if made is not None:
            with self._errors("close"):
                made.close()


def _select(
    connection: sqlite3.Connection, columns: str, field: str | None, values: Sequence[str]
) -> list[tuple[Any, ...]]:
    if field is None:
        return connection.execute(f"select {columns} from staged").fetchall()  # noqa: S608
    rows: list[tuple[Any, ...]] = []
    for at in range(0, len(values), _VALUES):
        part = list(values[at : at + _VALUES])
        marks = ", ".join("?" * len(part))
        query = f"select {columns} from staged where {field} in ({marks})"  # noqa: S608
        with closing(connection.execute(query, part)) as cursor:
            rows += cursor.fetchall()
    return rows


def _record(row: tuple[Any, ...], fields: Sequence[str] | None) -> Record:
    point_id, *values, embedded, text, blob = row
    payload: Payload = (
        {**dict(zip(_COLUMNS, values, strict=True)), "state": "staged", "embedded": bool(embedded)}
        if text is None
        else json.loads(text)
    )
    if fields is not None:
        payload = {name: payload[name] for name in fields if name in payload}
    dense = None if blob is None else np.frombuffer(blob, dtype="<f4").astype(np.float32)
    return Record(point_id, payload, dense)
