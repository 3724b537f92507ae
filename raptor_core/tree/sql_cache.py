"""Cache of unfinished work in SQL tables, by the same statements for every database.

``docs/adr/0008`` explains ``kept`` and ``wanted``. ``sqlite_cache`` is the database of a home,
``raptor_assets.home.database_cache`` that of many machines.
"""

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

import numpy as np

from raptor_core.vectors import Vectors

Row = dict[str, Any]
"""Parameters of a statement by name."""

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
COUNT_TEXTS = """
select count(*) from kept
where text is not null and key in (select key from wanted where corpus = :corpus)
"""
UNFINISHED = "select distinct tree from wanted where corpus = :corpus order by tree"


def _is_storable(text: bytes) -> bool:
    """Return whether a text is valid UTF-8 without NUL, which every store takes."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in text


class Database(Protocol):
    """Open database; ``{list}`` in a statement is a query for the values of ``:list``."""

    def read(self, statement: str, values: Row) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def write(self, statements: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Execute each statement for each of its rows, all in one transaction."""

    def close(self) -> None:
        """Close the connection."""


class SqlCache:
    """``NodeCache`` over a database that a subclass opens, for one corpus; threads may share it."""

    def __init__(self, corpus: str = "") -> None:
        self._corpus = corpus
        self._lock = threading.RLock()
        self._depth = 0
        self._database: Database | None = None

    def _connect(self, *, to_write: bool) -> Database | None:
        """Open the database; return None to a reader if there is none yet."""
        raise NotImplementedError

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """See ``Known.vectors``; a row that the disk changed counts as unknown."""
        return {
            key: np.frombuffer(vector, dtype="<f4").astype(np.float32)
            for key, _, vector in self._find(embedding_keys)
            if vector is not None
        }

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """See ``Known.texts``; a row that the disk changed, or no store takes, is unknown."""
        rows = [(key, text) for key, text, _ in self._find(content_keys) if text is not None]
        return {key: text.decode() for key, text in rows if _is_storable(text)}

    def _find(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes | None, bytes | None]]:
        for key, *values, seal in self._read(FIND, list=_as_list(keys)):
            text, vector = (None if value is None else bytes(value) for value in values)
            if seal == _seal(key, text or vector or b""):
                yield key, text, vector

    def want(self, pairs: Iterable[tuple[str, str]]) -> None:
        """See ``NodeCache.want``."""
        corpus, distinct = self._corpus, sorted(set(pairs))
        self._write([{"corpus": corpus, "tree": tree, "key": key} for tree, key in distinct], WANT)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """See ``NodeCache.keep_texts``; the texts survive a loss of power.

        A text that no store takes would fail each later build, so it is not kept.
        """
        encoded = {key: texts[key].encode("utf-8", "surrogatepass") for key in sorted(texts)}
        kept = [_row(key, text, None) for key, text in encoded.items() if _is_storable(text)]
        self._write(kept, KEEP)

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """See ``NodeCache.keep_vectors``; the vectors survive a loss of power."""
        arrays = ((key, np.asarray(vectors[key], dtype="<f4")) for key in sorted(vectors))
        self._write([_row(key, None, array.tobytes()) for key, array in arrays], KEEP)

    def discard(self, keys: Iterable[str]) -> None:
        """See ``NodeCache.discard``."""
        self._write([{"list": _as_list(keys)}], DISCARD)

    def forget(self, trees: Collection[str]) -> None:
        """See ``NodeCache.forget``."""
        names = sorted(set(self.unfinished()) & set(trees))
        rows = [{"corpus": self._corpus, "list": _as_list(names)}] if names else []
        self._write(rows, FORGET, UNWANT)

    def unfinished(self) -> list[str]:
        """See ``NodeCache.unfinished``."""
        return [tree for (tree,) in self._read(UNFINISHED, corpus=self._corpus)]

    def count_texts(self) -> int:
        """See ``NodeCache.count_texts``."""
        return sum(count for (count,) in self._read(COUNT_TEXTS, corpus=self._corpus))

    def _read(self, statement: str, **values: str) -> list[tuple[Any, ...]]:
        with self._opened(to_write=False) as database:
            return [] if database is None else database.read(statement, values)

    def _write(self, rows: Sequence[Row], *statements: str) -> None:
        """Execute each statement for each row in one transaction; do nothing without rows."""
        if rows:
            with self._opened(to_write=True) as database:
                if database is not None:
                    database.write([(statement, rows) for statement in statements])

    @contextmanager
    def _opened(self, *, to_write: bool) -> Iterator[Database | None]:
        with self._lock, self:
            if self._database is None:
                self._database = self._connect(to_write=to_write)
            yield self._database

    def __enter__(self) -> Self:
        with self._lock:
            self._depth += 1
        return self

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth and self._database is not None:
                database, self._database = self._database, None
                database.close()


def _as_list(values: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(values)))


def _row(key: str, text: bytes | None, vector: bytes | None) -> Row:
    return {"key": key, "text": text, "vector": vector, "seal": _seal(key, text or vector or b"")}


def _seal(key: str, value: bytes) -> str:
    """Return the digest of a row, by which a damaged row is found."""
    return hashlib.sha256(key.encode() + b"\0" + value).hexdigest()[:32]
