"""Qdrant Edge, the engine of a Qdrant server in this process: one directory is one shard.

Edge has no collections, aliases or transactions: these are in ``folder.py`` and ``journal.py``. Its
log is off. The journal and a flush after each publication protect the same data, and the log
doubles the time to open and keeps removed text. Edge raises bare ``Exception``, and a Rust panic as
a ``BaseException``, so both are caught here, around its calls alone.

Only live nodes have vectors, so a search need not filter by state. Reading a payload takes ten
times as long as scoring its point. So a search returns ids, the outlines that rank them are in a
separate file (``outlines.py``), and only the payloads of results are read.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
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
    Between,
    Condition,
    Engine,
    Fields,
    Match,
    Point,
    Scored,
    ScoredRow,
    Search,
    SearchRequest,
    named_vectors,
    ranked,
)
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import Candidates, OutlineFile
from raptor_core.store.payload import Payload, damaged

KEYS = "keys"
REST = "rest"
ALONE = ("embedding_key", "mark", "numbers")
"""Each value costs time to pass to the engine, and each index costs time to write and to open. So
``keys`` holds the filtered fields as "field=value" under one index, ``rest`` holds the payload as
JSON, and the fields that are read without the others are stored separately."""

_FILTERED = (*KEYWORD_FIELDS, "layer")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def pack(payload: Payload) -> Payload:
    """Return the stored fields of a payload."""
    packed: Payload = {name: payload[name] for name in ALONE if name in payload}
    packed[KEYS] = [key for name in _FILTERED for key in _payload_keys(payload, name)]
    packed[REST] = _ENCODER.encode(payload)
    return packed


def _payload_keys(payload: Payload, field: str) -> list[str]:
    value = payload.get(field, [])
    return [f"{field}={v}" for v in (value if isinstance(value, list) else (value,))]


def stored_fields(fields: Fields) -> list[str]:
    """Return the stored fields that hold these fields of a payload; None means all fields."""
    return list(fields) if fields is not None and set(fields) <= set(ALONE) else [REST]


def unpack(stored: Payload) -> Payload:
    """Return the fields that were read of a payload; none where it is damaged."""
    if REST not in stored:
        return stored
    try:
        payload = json.loads(stored[REST])
    except (TypeError, ValueError):
        return {}
    return payload if isinstance(payload, dict) else {}


UPDATE_POINTS = 2000
"""Points per operation, which limits the vectors that are lists of numbers at a time."""

SCROLL_POINTS = 10_000

VACUUM_POINTS = 100
ERASED_POINTS = 5_000
"""Number of points up to which ``optimize`` erases the bytes of every deleted one. It takes 0.2 s
for a small store, and grows with the segments that held them."""

SEALED_KB = 8_000
"""Size of a segment's vectors from which ``optimize`` seals it: 5,000 of 384 dimensions. Files of a
sealed segment are mapped, not read: 30,000 nodes open in 30 ms of CPU, and in 240 ms unsealed. A
graph (``m`` is 0) took minutes to build and missed most of the nearest among random vectors. Now a
search compares every vector: 25 ms for 100,000, and it misses none."""

SEGMENTS = 5
"""Number of segments up to which ``optimize`` merges none. Each takes 10 ms to open. With fewer,
each sealing rewrites the large one."""


@contextmanager
def engine_errors(path: Path, action: str, remedy: str) -> Iterator[None]:
    """Raise the engine's errors as a StoreError that names the path, the action and the remedy."""
    try:
        yield
    except StoreError:
        raise
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise StoreError(
            f"{path}: Qdrant Edge failed to {action}: {error}. Free space if the disk is full; if "
            f"its files are damaged, {remedy}: texts come from the tables"
        ) from error


def _configure(n_dims: int, *, erasing: bool = False) -> Any:
    """Return the options of a shard; an erasing one rewrites each segment with deleted points."""
    on_disk = edge.Memory.Cold
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=n_dims, distance=edge.Distance.Cosine)},
        sparse_vectors={
            LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=on_disk)
        },
        wal_enabled=False,
        id_tracker_memory=on_disk,
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        optimizers=edge.EdgeOptimizersConfig(
            deleted_threshold=0.0 if erasing else None,
            vacuum_min_vector_number=1 if erasing else VACUUM_POINTS,
            indexing_threshold=SEALED_KB,
            default_segment_number=SEGMENTS,
        ),
    )


def create_shard(path: Path, n_dims: int) -> None:
    """Create an empty shard with its vectors and indexes in the empty directory ``path``."""
    with engine_errors(path, "create a shard", f"move {path} away and build again"):
        shard = edge.EdgeShard.create(str(path), _configure(n_dims))
        schema = edge.KeywordIndexParams(enable_hnsw=False, memory=edge.Memory.Cold)
        shard.update(edge.UpdateOperation.create_field_index(KEYS, schema))
        shard.flush()
        shard.close()


class EdgeEngine(Engine):
    """Open shard of Qdrant Edge."""

    def __init__(self, path: Path, remedy: str) -> None:
        """Open the shard in the directory ``path``; ``remedy`` ends messages about its damage."""
        self._path = path
        self._remedy = remedy
        self._outlines = OutlineFile(path, self._live_payloads)
        with self._errors("open the shard"):
            self._shard: Any = edge.EdgeShard.load(str(path))

    def _errors(self, action: str) -> AbstractContextManager[None]:
        return engine_errors(self._path, action, self._remedy)

    def apply(self, batch: Batch) -> None:
        """See ``Engine``."""
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

    def fetch(self, ids: Sequence[str], *, dense: bool = False) -> list[Point]:
        """Return the points that exist among ``ids``, with their whole payloads."""
        with self._errors(f"read {len(ids)} points"):
            points = self._shard.retrieve(list(ids), [REST], [DENSE] if dense else False)
        return [_record(point) for point in points]

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """See ``PointReader``."""
        by_id = condition.ids is not None and condition == Condition((LIVE,), condition.ids)
        if condition.ids is not None and by_id and fields is None:
            records = self.fetch(condition.ids, dense=dense)
            return [record for record in records if record.payload.get("state", "live") == "live"]
        records = []
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
                points, offset = self._shard.scroll(request)
            records += [_record(point) for point in points]
            if offset is None:
                return records

    def search(self, requests: Sequence[SearchRequest], limit: int) -> list[list[Scored]]:
        """See ``PointReader``. One call scores the points, and another reads their payloads."""
        rows = self._ranked(requests, limit)
        names = {number: str(UUID(int=number)) for row in rows for number, _ in row}
        payloads = {record.id: record.payload for record in self.fetch(list(names.values()))}
        for name, payload in payloads.items():
            if payload.get("node_id") != name:
                raise damaged({**payload, "node_id": name})
        return [[Scored(payloads[names[number]], score) for number, score in row] for row in rows]

    def outlines(self, requests: Sequence[SearchRequest], limit: int) -> list[Candidates]:
        """See ``PointReader``."""
        rows = self._ranked(requests, limit)
        numbers = [number for row in rows for number, _ in row]
        outlines, missing = self._outlines.find(numbers)
        if missing:
            name = str(UUID(int=missing[0]))
            (record,) = self.fetch([name])
            raise damaged({**record.payload, "node_id": name})
        scores = np.array([score for row in rows for _, score in row], dtype=np.float64)
        ends = np.cumsum([len(row) for row in rows])
        parts = [np.arange(end - len(row), end) for row, end in zip(rows, ends, strict=True)]
        return [Candidates(outlines.take(part), scores[part]) for part in parts]

    def _live_payloads(self) -> Iterator[Payload]:
        """Yield the payloads of live points that have their point's id."""
        for record in self.scroll(Condition((LIVE,)), None):
            if record.payload.get("node_id") == record.id:
                yield record.payload

    def _ranked(self, requests: Sequence[SearchRequest], limit: int) -> list[list[ScoredRow]]:
        """Return ids, as numbers, and scores."""

        def query(searches: Sequence[Search]) -> list[list[ScoredRow]]:
            queries = list(map(self._query, searches))
            with self._errors("search"):
                rows = self._shard.query_batch(edge.QueryBatchRequest(queries))
            return [[(point.id.int, point.score) for point in row] for row in rows]

        return ranked(query, requests, limit)

    def _query(self, search: Search) -> Any:
        """Return one search for ids.

        It names all points as the corpus of IDF: by default the engine counts deleted points until
        it compacts them.
        """
        request = search.request
        matches = tuple(match for match in request.condition.matches if match != LIVE)
        condition = replace(request.condition, matches=matches)
        nearest, params = edge.Query.Nearest, None
        if isinstance(request.query, Sparse):
            query = nearest(_sparse(request.query), using=LEXICAL)
            params = edge.SearchParams(idf=edge.IdfParams(corpus=edge.Filter()))
        else:
            query = nearest(request.query.tolist(), using=DENSE)
            params = edge.SearchParams(exact=True) if request.is_exact else None
        return edge.QueryRequest(
            limit=search.limit,
            query=query,
            filter=None if condition == Condition() else self._filter(condition),
            score_threshold=search.threshold,
            params=params,
        )

    def _filter(self, condition: Condition) -> Any:
        must: list[Any] = list(map(_field_condition, condition.matches))
        excluded: list[Any] = list(map(_field_condition, condition.excluded))
        if condition.ids is not None:
            must.append(edge.HasIdCondition(set(condition.ids)))
        if condition.excluded_ids:
            excluded.append(edge.HasIdCondition(set(condition.excluded_ids)))
        return edge.Filter(must=must, must_not=excluded)

    def count(self, condition: Condition) -> int:
        """See ``PointReader``."""
        request = edge.CountRequest(exact=True, filter=self._filter(condition))
        with self._errors("count"):
            return int(self._shard.count(request))

    def flush(self) -> None:
        """Write everything to disk."""
        with self._errors("flush"):
            self._shard.flush()

    def optimize(self) -> None:
        """Seal large segments, and rewrite those with many deleted points; in small stores, all."""
        erase = self.count(Condition()) <= ERASED_POINTS
        with self._errors("optimize"):
            if erase:
                self._load(erasing=True)
            self._shard.optimize()
            if erase:
                self._load(erasing=False)

    def _load(self, *, erasing: bool) -> None:
        """Open the shard again with other options, which the engine keeps on disk."""
        config = json.loads((self._path / "edge_config.json").read_bytes())
        self._shard.close()
        options = _configure(config["vectors"][DENSE]["size"], erasing=erasing)
        self._shard = edge.EdgeShard.load(str(self._path), options)

    def close(self) -> None:
        """See ``Engine``."""
        with self._errors("close"):
            self._shard.close()
        self._outlines.save()


def _field_condition(match: Match | Between) -> Any:
    if isinstance(match, Between):
        return edge.FieldCondition(key=match.field, range=edge.RangeFloat(**dict(match.bounds)))
    keys = [f"{match.field}={value}" for value in match.values]
    value = edge.MatchValue(keys[0]) if len(keys) == 1 else edge.MatchAny(keys)
    return edge.FieldCondition(key=KEYS, match=value)


def _sparse(sparse: Sparse) -> Any:
    return edge.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _record(point: Any) -> Point:
    vector = (point.vector or {}).get(DENSE)
    dense = None if vector is None else np.asarray(vector, dtype=np.float32)
    return Point(str(point.id), unpack(point.payload or {}), dense)
