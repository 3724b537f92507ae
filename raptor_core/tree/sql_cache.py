"""The cache of unfinished work in tables of SQL: whatever the database, the same statements.

``kept`` holds each text and each vector once, by key; ``wanted`` says which unfinished trees need
it. A row that no tree wants stays until one that wanted it goes. Several processes may work in one
database at once: each call is one transaction.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

import numpy as np

from raptor_core.vectors import Vectors

Row = dict[str, Any]
"""Values of a statement's parameters."""

SCHEMA = """
create table if not exists kept (
    key text primary key, text {blob}, vector {blob}, seal text not null
);
create table if not exists wanted (
    corpus text not null, tree text not null, key text not null, primary key (corpus, tree, key)
);
create index if not exists wanted_by_key on wanted (key);
"""

FIND = "select key, text, vector, seal from kept where key in ({list})"
KEEP = """
insert into kept (key, text, vector, seal) values (:key, :text, :vector, :seal)
on conflict (key) do update
set text = excluded.text, vector = excluded.vector, seal = excluded.seal
where kept.seal <> excluded.seal
or kept.text <> excluded.text or kept.vector <> excluded.vector
"""
WANT = "insert into wanted (corpus, tree, key) values (:corpus, :tree, :key) on conflict do nothing"
DISCARD = "delete from kept where key in ({list})"
FORGET = """
delete from kept where key in (
    select key from wanted where corpus = :corpus and tree in ({list})
) and not exists (
    select 1 from wanted where wanted.key = kept.key
    and not (wanted.corpus = :corpus and wanted.tree in ({list}))
)
"""
UNWANT = "delete from wanted where corpus = :corpus and tree in ({list})"
UNFINISHED = "select distinct tree from wanted where corpus = :corpus order by tree"


_UTF8 = ("utf-8", "surrogatepass")
"""Text is kept as bytes: databases refuse some that a model may write."""


class Database(Protocol):
    """An open database. In statements ``{list}`` is a query for the values of ``:list``."""

    def read(self, statement: str, values: Row) -> list[tuple[Any, ...]]:
        """Rows of a query."""

    def write(self, statements: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Each statement for each of its rows, all in one transaction."""

    def close(self) -> None:
        """Release it."""


class SqlCache:
    """A ``NodeCache``; ``_connect`` is the subclass's. Threads may share it: calls take turns.

    Args:
        corpus: whose trees these are; trees of other corpora may have the same names.
    """

    def __init__(self, corpus: str = "") -> None:
        self._corpus = corpus
        self._turn = threading.RLock()
        self._depth = 0
        self._database: Database | None = None

    def _connect(self, *, to_write: bool) -> Database | None:
        """The database; None where there is none yet, and it is only to be read."""
        raise NotImplementedError

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``. A row that is not what was written counts as unknown."""
        return {
            key: np.frombuffer(vector, dtype="<f4").astype(np.float32)
            for key, _, vector in self._found(embedding_keys)
            if vector is not None
        }

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``. A row that is not what was written counts as unknown."""
        return {
            key: text.decode(*_UTF8)
            for key, text, _ in self._found(content_keys)
            if text is not None
        }

    def _found(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes | None, bytes | None]]:
        for key, *values, seal in self._read(FIND, list=_listed(keys)):
            text, vector = (None if value is None else bytes(value) for value in values)
            if seal == _seal(key, text or vector or b""):
                yield key, text, vector

    def want(self, wanted: Iterable[tuple[str, str]]) -> None:
        """See ``NodeCache.want``."""
        pairs, corpus = sorted(set(wanted)), self._corpus
        self._write([{"corpus": corpus, "tree": tree, "key": key} for tree, key in pairs], WANT)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """See ``NodeCache.keep_texts``; they survive a loss of power from now on."""
        self._write([_row(key, texts[key].encode(*_UTF8), None) for key in sorted(texts)], KEEP)

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """See ``NodeCache.keep_vectors``; as ``keep_texts``."""
        arrays = ((key, np.asarray(vectors[key], dtype="<f4")) for key in sorted(vectors))
        self._write([_row(key, None, array.tobytes()) for key, array in arrays], KEEP)

    def discard(self, keys: Iterable[str]) -> None:
        """See ``NodeCache.discard``."""
        self._write([{"list": _listed(keys)}], DISCARD)

    def forget(self, trees: Collection[str]) -> None:
        """See ``NodeCache.forget``."""
        gone = sorted(set(self.unfinished()) & set(trees))
        rows = [{"corpus": self._corpus, "list": _listed(gone)}] if gone else []
        self._write(rows, FORGET, UNWANT)

    def unfinished(self) -> list[str]:
        """See ``NodeCache.unfinished``."""
        return [tree for (tree,) in self._read(UNFINISHED, corpus=self._corpus)]

    def _read(self, statement: str, **values: str) -> list[tuple[Any, ...]]:
        with self._opened(to_write=False) as database:
            return [] if database is None else database.read(statement, values)

    def _write(self, rows: Sequence[Row], *statements: str) -> None:
        """Each statement for each row, all in one transaction; nothing without a row."""
        if rows:
            with self._opened(to_write=True) as database:
                if database is not None:
                    database.write([(statement, rows) for statement in statements])

    @contextmanager
    def _opened(self, *, to_write: bool) -> Iterator[Database | None]:
        with self._turn, self:
            if self._database is None:
                self._database = self._connect(to_write=to_write)
            yield self._database

    def __enter__(self) -> Self:
        with self._turn:
            self._depth += 1
        return self

    def __exit__(self, *_error: object) -> None:
        with self._turn:
            self._depth -= 1
            if not self._depth and self._database is not None:
                database, self._database = self._database, None
                database.close()


def _listed(values: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(values)))


def _row(key: str, text: bytes | None, vector: bytes | None) -> Row:
    return {"key": key, "text": text, "vector": vector, "seal": _seal(key, text or vector or b"")}


def _seal(key: str, value: bytes) -> str:
    """Digest of a row: what tells that the disk changed it."""
    return hashlib.sha256(key.encode() + b"\0" + value).hexdigest()[:32]
