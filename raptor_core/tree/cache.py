"""The cache of unfinished work, and the interface for vectors and texts that exist already.

``docs/adr/0008`` explains when the cache forgets a key. Published work is in ``raptor_core.store``.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from raptor_core.disk import translate_disk_errors
from raptor_core.errors import RaptorError, StoreError
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    import sqlalchemy as sa


class KnownContent(Protocol):
    """Interface to vectors and texts that exist already, such as those in a ``VectorStore``."""

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Return the existing vectors by embedding key."""

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Return the existing summary texts by content key."""


class ChainedKnownContent:
    """Several ``KnownContent`` as one; the value of a key comes from the first one that has it."""

    def __init__(self, *sources: KnownContent) -> None:
        self._sources = sources

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``KnownContent.vectors``."""
        vectors: dict[str, Vectors] = {}
        keys = set(embedding_keys)
        for source in self._sources:
            vectors |= source.vectors(keys - vectors.keys())
        return vectors

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``KnownContent.texts``."""
        texts: dict[str, str] = {}
        keys = set(content_keys)
        for source in self._sources:
            texts |= source.texts(keys - texts.keys())
        return texts


FILE = "cache.sqlite"
WAIT_SECONDS = 30.0
"""Maximum wait for other processes that write to the file."""
_SETTINGS = ("pragma secure_delete=on", "pragma synchronous=full")
"""Let SQLite overwrite deleted rows, and write rows to the disk before a call returns."""
_TABLES = (
    "create table if not exists raptor_kept (key text primary key, text text, vector {blob})",
    """create table if not exists raptor_wanted (
    corpus text not null, tree text not null, key text not null, primary key (corpus, tree, key)
)""",
    "create index if not exists raptor_wanted_by_key on raptor_wanted (key)",
)
_NEW = ("pragma auto_vacuum=full", *(table.format(blob="blob") for table in _TABLES))
"""Statements for a new SQLite file, which returns free pages to the disk."""
_FIND = "select key, text, vector from raptor_kept where key in ({list})"
_KEEP = """
insert into raptor_kept (key, text, vector) values (:key, :text, :vector)
on conflict (key) do update set text = excluded.text, vector = excluded.vector
"""
_WANT = """
insert into raptor_wanted (corpus, tree, key) values (:corpus, :tree, :key) on conflict do nothing
"""
_DISCARD = "delete from raptor_kept where key in ({list})"
_FORGET = """
delete from raptor_kept where key in (
    select key from raptor_wanted where corpus = :corpus and tree in ({list})
) and not exists (
    select 1 from raptor_wanted where raptor_wanted.key = raptor_kept.key
    and not (raptor_wanted.corpus = :corpus and raptor_wanted.tree in ({list}))
)
"""
_UNWANT = "delete from raptor_wanted where corpus = :corpus and tree in ({list})"
_UNFINISHED = "select distinct tree from raptor_wanted where corpus = :corpus order by tree"
_COUNT_TEXTS = """
select count(*) from raptor_kept
where text is not null and key in (select key from raptor_wanted where corpus = :corpus)
"""
_LISTS = {
    "sqlite": "select value from json_each(:list)",
    "postgresql": "select json_array_elements_text(cast(:list as json))",
}
"""Query for the values of the JSON array ``:list``, by SQL dialect."""
_LOCK = "select pg_advisory_xact_lock(7270702)"
"""Statement that lets only one process at a time write to PostgreSQL, as SQLite does by itself."""

Row = dict[str, Any]
"""Parameters of a statement by name."""


class NodeCache:
    """The vectors and summaries of a corpus that are not published yet; threads may share it.

    A tree first records which keys it *wants*. Every value is on disk when a call returns.

    Args:
        place: folder of an SQLite file, which is created with the first value, or the address of a
            PostgreSQL database. None keeps everything in memory.
        corpus: name of the corpus, because trees of two corpora may have the same name.
        explain: converts an error of PostgreSQL to the one to raise.
    """

    def __init__(
        self,
        place: Path | str | None = None,
        corpus: str = "",
        explain: Callable[[Exception], RaptorError] | None = None,
    ) -> None:
        self._path = place / FILE if isinstance(place, Path) else None
        self._address = place if isinstance(place, str) else ""
        self._corpus = corpus
        self._explain = explain or self._explain_sqlite
        self._has_values = False
        self._lock = threading.RLock()

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``KnownContent.vectors``."""
        rows = self._read(_FIND, list=_as_list(embedding_keys))
        return {
            key: np.frombuffer(vector, dtype="<f4").astype(np.float32)
            for key, _, vector in rows
            if vector is not None
        }

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``KnownContent.texts``."""
        rows = self._read(_FIND, list=_as_list(content_keys))
        return {key: text for key, text, _ in rows if text is not None}

    def record_needed_keys(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Record which trees need which keys, as pairs of tree and key; repeats have no effect."""
        distinct = sorted(set(pairs))
        rows = [{"corpus": self._corpus, "tree": tree, "key": key} for tree, key in distinct]
        self._write(rows, _WANT)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Keep summaries by content key; replace other texts of the same key.

        A text that cannot be stored is not kept, because every later build would fail on it.
        """
        storable = [key for key in sorted(texts) if _is_storable(texts[key])]
        self._write([{"key": key, "text": texts[key], "vector": None} for key in storable], _KEEP)

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors by embedding key."""
        arrays = ((key, np.asarray(vectors[key], dtype="<f4")) for key in sorted(vectors))
        self._write([{"key": key, "text": None, "vector": a.tobytes()} for key, a in arrays], _KEEP)

    def discard(self, keys: Iterable[str]) -> None:
        """Remove values that turned out to be unusable."""
        self._write([{"list": _as_list(keys)}], _DISCARD)

    def forget_trees(self, trees: Collection[str]) -> None:
        """Remove keys that only these trees wanted."""
        names = sorted(set(self.unfinished_trees()) & set(trees))
        rows = [{"corpus": self._corpus, "list": _as_list(names)}] if names else []
        self._write(rows, _FORGET, _UNWANT)

    def unfinished_trees(self) -> list[str]:
        """Return the sorted names of the trees that want any key."""
        if self._path is None:
            return sorted(tree for (tree,) in self._read(_UNFINISHED, corpus=self._corpus))
        if not self._path.exists():
            return []
        try:  # SQLAlchemy would add a quarter of a second to each plan
            with closing(sqlite3.connect(self._path, WAIT_SECONDS)) as connection:
                # A process may have died before it made the tables.
                is_made = connection.execute("pragma schema_version").fetchone()[0]
                values = {"corpus": self._corpus}
                found = connection.execute(_UNFINISHED, values).fetchall() if is_made else []
        except sqlite3.Error as error:
            raise self._explain(error) from error
        return sorted(tree for (tree,) in found)

    def count_wanted_summaries(self) -> int:
        """Return the number of kept summaries that unfinished trees want."""
        return sum(count for (count,) in self._read(_COUNT_TEXTS, corpus=self._corpus))

    def _read(self, statement: str, **values: str) -> Sequence[Any]:
        """Return the rows of a query; open nothing if nothing was written yet."""
        if not self._address and not (self._path.exists() if self._path else self._has_values):
            return []
        with self._transaction() as connection:
            return connection.execute(self._prepare_statement(statement), values).fetchall()

    def _write(self, rows: Sequence[Row], *statements: str) -> None:
        """Execute each statement for all rows in one transaction; do nothing without rows."""
        if not rows:
            return
        if self._path:
            with translate_disk_errors(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
        self._has_values = True
        with self._transaction() as connection:
            if self._address:
                connection.exec_driver_sql(_LOCK)
            for statement in statements:
                connection.execute(self._prepare_statement(statement), list(rows))

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        from sqlalchemy.exc import DBAPIError

        with self._lock:
            try:
                with self._engine.begin() as connection:
                    yield connection
            except DBAPIError as error:
                raise self._explain(error) from error

    def _prepare_statement(self, statement: str) -> sa.TextClause:
        import sqlalchemy as sa

        return sa.text(statement.format(list=_LISTS[self._engine.dialect.name]))

    @cached_property
    def _engine(self) -> sa.Engine:
        """Engine that opens a connection for each call, because the file may be moved between."""
        import sqlalchemy as sa

        if self._address:
            return _postgres_engine(self._address)
        engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(self._path or ":memory:")),
            poolclass=sa.NullPool if self._path else sa.StaticPool,
            connect_args={"timeout": WAIT_SECONDS, "check_same_thread": False},
        )

        @sa.event.listens_for(engine, "connect")
        def _prepare(connection: Any, _record: object) -> None:
            is_new = not connection.execute("pragma schema_version").fetchone()[0]
            for statement in (*_SETTINGS, *(_NEW if is_new else ())):
                connection.execute(statement)

        return engine

    def _explain_sqlite(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path}: SQLite failed: {getattr(error, 'orig', error)}. Free space if the disk "
            "is full, make the folder writable for this user if it is not, end the process that "
            "uses it if it is locked, and repeat. If the file is damaged, move it away: it has "
            "unfinished work only, which is then made again"
        )


def _postgres_engine(address: str) -> sa.Engine:
    """Return an engine whose connections notice if the server is gone."""
    import sqlalchemy as sa

    engine = sa.create_engine(
        address,
        poolclass=sa.NullPool,
        connect_args={"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10},
        executemany_mode="values_plus_batch",
    )
    with engine.begin() as connection:
        connection.exec_driver_sql(_LOCK)
        for statement in _TABLES:
            connection.exec_driver_sql(statement.format(blob="bytea"))
    return engine


def _as_list(values: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(values)))


def _is_storable(text: str) -> bool:
    """Return whether every store can store a text, which must be valid Unicode without NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
