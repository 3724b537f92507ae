"""Qdrant Edge: the server's own engine in this process; a directory is one shard.

The engine has no collections, aliases or transactions; ``folder.py`` and ``journal.py`` give it
those. Its own log is off: the journal and the flush of every publication protect what it would
protect, and it doubles the time to open and keeps removed text. The engine raises bare
``Exception``, and a Rust panic as a ``BaseException``, so both are caught here, and only around
its calls.

Only live nodes have vectors here, so a search need not filter by state.

Reading a payload takes ten times as long as scoring its point, so a search asks for ids alone. What
ranks them is in a file of its own (``outlines.py``); payloads are read of what is returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    DENSE,
    KEYWORD_FIELDS,
    LEXICAL,
    LIVE,
    Batch,
    Condition,
    Point,
    Question,
    Scored,
    just_under,
    named_vectors,
    ranked,
)
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import Candidates, OutlineFile
from raptor_core.store.payload import Payload, damaged

Read = TypeVar("Read")

KEYS = "keys"
REST = "rest"
ALONE = ("embedding_key", "mark")
"""Every value costs time to hand over to the engine, and every index time to write and to open. So
``keys`` holds what is filtered, as "field=value" under one index, ``rest`` the whole payload as
JSON, and the fields that are read alone stand beside them."""

_FILTERED = (*KEYWORD_FIELDS, "layer")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def pack(payload: Payload) -> Payload:
    """The fields that are stored for a payload."""
    packed: Payload = {name: payload[name] for name in ALONE if name in payload}
    packed[KEYS] = [key for name in _FILTERED for key in _payload_keys(payload, name)]
    packed[REST] = _ENCODER.encode(payload)
    return packed


def _payload_keys(payload: Payload, field: str) -> list[str]:
    value = payload.get(field, [])
    return [f"{field}={v}" for v in (value if isinstance(value, list) else (value,))]


def stored_fields(fields: Sequence[str] | None) -> list[str]:
    """Stored fields that hold the given fields of a payload, None for all of it."""
    return list(fields) if fields is not None and set(fields) <= set(ALONE) else [REST]


def unpack(stored: Payload) -> Payload:
    """The payload, or what was read of it; empty where it is damaged, which its reader refuses."""
    if REST not in stored:
        return stored
    try:
        payload = json.loads(stored[REST])
    except (TypeError, ValueError):
        return {}
    return payload if isinstance(payload, dict) else {}


UPDATE_POINTS = 2000
"""Points per operation: so many vectors are lists of numbers at a time."""

SCROLL_POINTS = 10_000

VACUUM_POINTS = 100
SEALED_KB = 8_000
"""Vectors of a segment from which ``optimize`` seals it: 5,000 of 384 dimensions. The files of a
sealed segment are mapped where an open one is read into memory, so opening does not grow with the
corpus: 30,000 nodes open in 30 ms of CPU sealed and in 240 as they were written. There is no graph
(``m`` is 0): a search looks at every vector, which takes 25 ms at 100,000 and misses nothing, where
a graph took minutes to build and missed most of the nearest of random vectors."""

SEGMENTS = 5
"""Segments up to which ``optimize`` merges none: each takes 10 ms to open, and with fewer the large
one is written again at every sealing."""


@contextmanager
def engine_errors(path: Path, doing: str, remedy: str) -> Iterator[None]:
    """Raise what the engine raises as a StoreError that names the place and the remedy."""
    try:
        yield
    except StoreError:
        raise
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise StoreError(
            f"{path}: Qdrant Edge failed to {doing}: {error}. Free space if the disk is full; if "
            f"its files are damaged, {remedy}: texts come from the tables"
        ) from error


def create_shard(path: Path, n_dims: int) -> None:
    """Make an empty shard with its vectors and indexes in the empty directory ``path``."""
    cold = edge.Memory.Cold
    config = edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=n_dims, distance=edge.Distance.Cosine)},
        sparse_vectors={
            LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=cold)
        },
        wal_enabled=False,
        id_tracker_memory=cold,
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        optimizers=edge.EdgeOptimizersConfig(
            vacuum_min_vector_number=VACUUM_POINTS,
            indexing_threshold=SEALED_KB,
            default_segment_number=SEGMENTS,
        ),
    )
    with engine_errors(path, "create a shard", f"move {path} away and build again"):
        shard = edge.EdgeShard.create(str(path), config)
        schema = edge.KeywordIndexParams(enable_hnsw=False, memory=cold)
        shard.update(edge.UpdateOperation.create_field_index(KEYS, schema))
        shard.flush()
        shard.close()


class EdgeEngine:
    """An open shard."""

    def __init__(self, path: Path, remedy: str) -> None:
        """Open the shard in the directory ``path``; ``remedy`` ends messages about its damage."""
        self._path = path
        self._remedy = remedy
        self._outlines = OutlineFile(path, self._live_payloads)
        with self._errors("open the shard"):
            self._shard: Any = edge.EdgeShard.load(str(path))

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return engine_errors(self._path, doing, self._remedy)

    def apply(self, batch: Batch) -> None:
        """Write and delete, in this order."""
        self._outlines.withdraw(is_new=self.count(Condition()) == 0)
        update = edge.UpdateOperation
        try:
            with self._errors(f"write {len(batch.upserts)} points"):
                for at in range(0, len(batch.upserts), UPDATE_POINTS):
                    points = [
                        edge.Point(p.id, named_vectors(p, _sparse), pack(p.payload))
                        for p in batch.upserts[at : at + UPDATE_POINTS]
                    ]
                    self._shard.update(update.upsert_points(points))
                if batch.deletes:
                    self._shard.update(update.delete_points(list(batch.deletes)))
        except BaseException:
            self._outlines.forget()
            raise
        live = (p.payload for p in batch.upserts if p.payload["state"] == "live")
        self._outlines.change(batch.deletes, live)

    def read_consistently(self, read: Callable[[EdgeEngine], Read]) -> Read:
        """Return the result of ``read``; no other thread publishes meanwhile."""
        return read(self)

    def fetch(self, ids: Sequence[str], *, dense: bool = False) -> list[Point]:
        """The points that exist among ``ids``, with their whole payloads."""
        with self._errors(f"read {len(ids)} points"):
            found = self._shard.retrieve(list(ids), [REST], [DENSE] if dense else False)
        return [_record(point) for point in found]

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """All points that match."""
        if condition.ids is not None and condition.matches == (LIVE,) and fields is None:
            found = self.fetch(condition.ids, dense=dense)
            return [record for record in found if record.payload.get("state", "live") == "live"]
        records: list[Point] = []
        offset = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=SCROLL_POINTS,
                filter=self._filter(condition),
                with_payload=stored_fields(fields),
                with_vector=[DENSE] if dense else False,
            )
            with self._errors("list points"):
                found, offset = self._shard.scroll(request)
            records += [_record(point) for point in found]
            if offset is None:
                return records

    def search(self, questions: Sequence[Question], limit: int) -> list[list[Scored]]:
        """Best points for each question, in one call, and their payloads in another."""
        rows = self._ranked(questions, limit)
        names = {number: str(UUID(int=number)) for row in rows for number, _ in row}
        payloads = {record.id: record.payload for record in self.fetch(list(names.values()))}
        for name, payload in payloads.items():
            if payload.get("node_id") != name:
                raise damaged({**payload, "node_id": name})
        return [[Scored(payloads[names[number]], score) for number, score in row] for row in rows]

    def outlines(self, questions: Sequence[Question], limit: int) -> list[Candidates]:
        """What ``search`` finds, to be ranked."""
        rows = self._ranked(questions, limit)
        numbers = [number for row in rows for number, _ in row]
        found, lacking = self._outlines.find(numbers)
        if lacking:
            name = str(UUID(int=lacking[0]))
            (record,) = self.fetch([name])
            raise damaged({**record.payload, "node_id": name})
        scores = np.array([score for row in rows for _, score in row], dtype=np.float64)
        ends = np.cumsum([len(row) for row in rows])
        parts = [np.arange(end - len(row), end) for row, end in zip(rows, ends, strict=True)]
        return [Candidates(found.take(part), scores[part]) for part in parts]

    def _live_payloads(self) -> Iterator[Payload]:
        """Of points that are what their ids say."""
        for record in self.scroll(Condition((LIVE,)), None):
            if record.payload.get("node_id") == record.id:
                yield record.payload

    def _ranked(self, questions: Sequence[Question], limit: int) -> list[list[tuple[int, float]]]:
        """Ids, as numbers, and scores."""

        def ask(least: Mapping[int, float | None], n: int) -> list[list[tuple[int, float]]]:
            requests = [
                self._request(questions[row], n, just_under(score)) for row, score in least.items()
            ]
            with self._errors("search"):
                rows = self._shard.query_batch(edge.QueryBatchRequest(requests))
            return [[(point.id.int, point.score) for point in row] for row in rows]

        return ranked(ask, len(questions), limit)

    def _request(self, question: Question, limit: int, least: float | None) -> Any:
        """One search, for ids alone; all that has vectors here is live.

        IDF is asked for over an explicit corpus, all points, because by default the engine goes on
        counting deleted points until it compacts them.
        """
        matches = tuple(match for match in question.condition.matches if match != LIVE)
        narrowed = Condition(matches, question.condition.ids)
        nearest, params = edge.Query.Nearest, None
        if isinstance(question.asked, Sparse):
            query = nearest(_sparse(question.asked), using=LEXICAL)
            params = edge.SearchParams(idf=edge.IdfParams(corpus=edge.Filter()))
        else:
            query = nearest(question.asked.tolist(), using=DENSE)
            params = edge.SearchParams(exact=True) if question.is_exact else None
        return edge.QueryRequest(
            limit=limit,
            query=query,
            filter=None if narrowed == Condition() else self._filter(narrowed),
            score_threshold=least,
            params=params,
        )

    def _filter(self, condition: Condition) -> Any:
        must: list[Any] = []
        for match in condition.matches:
            keys = [f"{match.field}={value}" for value in match.values]
            value = edge.MatchValue(keys[0]) if len(keys) == 1 else edge.MatchAny(keys)
            must.append(edge.FieldCondition(key=KEYS, match=value))
        if condition.ids is not None:
            must.append(edge.HasIdCondition(set(condition.ids)))
        return edge.Filter(must=must)

    def count(self, condition: Condition) -> int:
        """Number of points that match."""
        request = edge.CountRequest(exact=True, filter=self._filter(condition))
        with self._errors("count"):
            return int(self._shard.count(request))

    def flush(self) -> None:
        """Write everything to disk."""
        with self._errors("flush"):
            self._shard.flush()

    def optimize(self) -> None:
        """Seal large segments and rewrite those with many deleted points."""
        with self._errors("optimize"):
            self._shard.optimize()

    def close(self) -> None:
        """Flush and release the directory."""
        with self._errors("close"):
            self._shard.close()
        self._outlines.save()


def _sparse(sparse: Sparse) -> Any:
    return edge.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _record(point: Any) -> Point:
    vector = (point.vector or {}).get(DENSE)
    dense = None if vector is None else np.asarray(vector, dtype=np.float32)
    return Point(str(point.id), unpack(point.payload or {}), dense)
