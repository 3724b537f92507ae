"""Qdrant Edge: the server's own engine in this process; a directory is one shard.

The engine has no collections, aliases or transactions; ``home.py`` and ``journal.py`` give it
those. Its own log is off: the journal and the flush of every publication protect what it would
protect, and it doubles the time to open and keeps removed text. The engine raises bare
``Exception``, and a Rust panic as a ``BaseException``, so both are caught here, and only around
its calls.

Only live nodes have vectors here (``staging.py``), so a search need not filter by state.

Reading a payload takes ten times as long as scoring its point, so a search asks for ids alone, and
candidates that were read stay in memory: nobody else can write while this process has the shard
open. Their nodes are made, and held against their digests, when they are asked for. A payload is
read whole, since the engine takes longer to pick a field of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from raptor_core.store.candidates import Candidate, Scored
from raptor_core.store.conditions import LIVE
from raptor_core.store.edge_shard import engine_errors
from raptor_core.store.engine import (
    DENSE,
    LEXICAL,
    Batch,
    Condition,
    Match,
    Payload,
    Point,
    Record,
)
from raptor_core.store.files import check_space
from raptor_core.store.lexical import Sparse
from raptor_core.store.packing import (
    KEYS,
    match_keys,
    pack,
    stored_fields,
    unpack,
    unpack_agreed,
    unpack_candidate,
)
from raptor_core.store.payload import damaged
from raptor_core.vectors import Vectors

UPDATE_POINTS = 2000
"""Points per operation, so that one record of the engine's log stays small."""

SCROLL_POINTS = 10_000
BYTES_PER_POINT = 8192

REMEMBERED = 1 << 15
"""Candidates that are kept as they were read: about 60 MB."""


class EdgeEngine:
    """An open shard."""

    def __init__(self, path: Path) -> None:
        import qdrant_edge

        self._edge: Any = qdrant_edge
        self._path = path
        self._read: dict[int, Candidate] = {}
        with engine_errors(path, "open the shard"):
            self._shard: Any = self._edge.EdgeShard.load(str(path))

    def apply(self, batch: Batch) -> None:
        """Write and delete, in this order."""
        self._read.clear()
        check_space(self._path, len(batch.upserts) * BYTES_PER_POINT)
        update = self._edge.UpdateOperation
        with engine_errors(self._path, f"write {len(batch.upserts)} points"):
            for at in range(0, len(batch.upserts), UPDATE_POINTS):
                points = [self._point(p) for p in batch.upserts[at : at + UPDATE_POINTS]]
                self._shard.update(update.upsert_points(points))
            if batch.deletes:
                self._shard.update(update.delete_points(list(batch.deletes)))

    def _point(self, point: Point) -> Any:
        vector: dict[str, Any] = {}
        if point.dense is not None:
            vector[DENSE] = point.dense.tolist()
        if point.lexical is not None:
            vector[LEXICAL] = self._sparse(point.lexical)
        return self._edge.Point(id=point.id, vector=vector, payload=pack(point.payload))

    def _sparse(self, sparse: Sparse) -> Any:
        return self._edge.SparseVector(indices=sparse.indices, values=sparse.values)

    def fetch(self, ids: Sequence[str], fields: Sequence[str], *, dense: bool) -> list[Record]:
        """The points that exist among ``ids``."""
        vectors = [DENSE] if dense else False
        with engine_errors(self._path, f"read {len(ids)} points"):
            found = self._shard.retrieve(list(ids), stored_fields(fields), vectors)
        return [_record(point) for point in found]

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Record]:
        """All points that match."""
        records: list[Record] = []
        offset = None
        while True:
            request = self._edge.ScrollRequest(
                offset=offset,
                limit=SCROLL_POINTS,
                filter=self._filter(condition),
                with_payload=stored_fields(fields),
                with_vector=[DENSE] if dense else False,
            )
            with engine_errors(self._path, "list points"):
                found, offset = self._shard.scroll(request)
            records += [_record(point) for point in found]
            if offset is None:
                return records

    def inspect(self, ids: Sequence[str]) -> list[Record]:
        """The points that exist among ``ids``, whole, with both vectors."""
        with engine_errors(self._path, f"read {len(ids)} points"):
            found = self._shard.retrieve(list(ids), True, [DENSE, LEXICAL])
            return [_record(point, unpack_agreed) for point in found]

    def index_scores(self, query: Sparse, /) -> dict[str, float] | None:
        """Score of every point by the lexical index.

        Over a corpus without points the IDF of every word is log 2.
        """
        nothing = self._filter(Condition((Match("state", ("nothing",)),)))
        params = self._edge.SearchParams(idf=self._edge.IdfParams(corpus=nothing))
        request = self._edge.QueryRequest(
            limit=max(1, self.count(Condition())),
            query=self._edge.Query.Nearest(self._sparse(query), using=LEXICAL),
            params=params,
        )
        with engine_errors(self._path, "search"):
            (row,) = self._shard.query_batch(self._edge.QueryBatchRequest([request]))
        return {str(point.id): point.score / math.log(2) for point in row}

    def search(self, vectors: Vectors, limit: int, condition: Condition) -> list[list[Scored]]:
        """Nearest points to each row, in one call."""
        rows = [row.tolist() for row in vectors]
        return self._query(rows, DENSE, limit, condition, None)

    def search_lexical(
        self, queries: Sequence[Sparse], limit: int, condition: Condition
    ) -> list[list[Scored]]:
        """Best points for each sparse query, in one call.

        IDF is asked for over an explicit corpus, all points, because by default the engine goes
        on counting deleted points until it compacts them.
        """
        everything = self._edge.IdfParams(corpus=self._edge.Filter())
        params = self._edge.SearchParams(idf=everything)
        return self._query([self._sparse(q) for q in queries], LEXICAL, limit, condition, params)

    def _query(
        self, queries: list[Any], using: str, limit: int, condition: Condition, params: Any
    ) -> list[list[Scored]]:
        matches = tuple(match for match in condition.matches if match != LIVE)
        narrowed = Condition(matches, condition.ids)
        requests = [
            self._edge.QueryRequest(
                limit=limit,
                query=self._edge.Query.Nearest(query, using=using),
                filter=self._filter(narrowed),
                params=params,
            )
            for query in queries
        ]
        with engine_errors(self._path, "search"):
            rows = self._shard.query_batch(self._edge.QueryBatchRequest(requests))
        found = [[(point.id, point.score) for point in row] for row in rows]
        known = self._candidates({name.int: name for row in found for name, _ in row})
        return [[Scored(known[name.int], score) for name, score in row] for row in found]

    def _candidates(self, ids: dict[int, UUID]) -> dict[int, Candidate]:
        """Live points by the number of their ids: read, or remembered."""
        if len(self._read) > REMEMBERED:
            self._read.clear()
        unread = [ids[number] for number in ids if number not in self._read]
        if unread:
            with engine_errors(self._path, f"read {len(unread)} points"):
                points = self._shard.retrieve(unread, True, False)
            for point in points:
                stored = point.payload
                candidate = unpack_candidate(stored)
                if str(name := point.id) != candidate.id:
                    raise damaged({**unpack(stored), "node_id": name})
                self._read[name.int] = candidate
        return self._read

    def _filter(self, condition: Condition) -> Any:
        must: list[Any] = []
        for match in condition.matches:
            keys = match_keys(match)
            value = self._edge.MatchValue(keys[0]) if len(keys) == 1 else self._edge.MatchAny(keys)
            must.append(self._edge.FieldCondition(key=KEYS, match=value))
        if condition.ids is not None:
            must.append(self._edge.HasIdCondition(set(condition.ids)))
        return self._edge.Filter(must=must)

    def count(self, condition: Condition) -> int:
        """Number of points that match."""
        request = self._edge.CountRequest(exact=True, filter=self._filter(condition))
        with engine_errors(self._path, "count"):
            return int(self._shard.count(request))

    def flush(self) -> None:
        """Write everything to disk."""
        with engine_errors(self._path, "flush"):
            self._shard.flush()

    def optimize(self) -> None:
        """Seal large segments and rewrite those with many deleted points."""
        with engine_errors(self._path, "optimize"):
            self._shard.optimize()

    def close(self) -> None:
        """Flush and release the directory."""
        with engine_errors(self._path, "close"):
            self._shard.close()


def _record(point: Any, unpacked: Callable[[Payload], Payload] = unpack) -> Record:
    vectors = point.vector or {}
    vector, words = vectors.get(DENSE), vectors.get(LEXICAL)
    dense = None if vector is None else np.asarray(vector, dtype=np.float32)
    lexical = None if words is None else Sparse(tuple(words.indices), tuple(words.values))
    return Record(str(point.id), unpacked(point.payload or {}), dense, lexical)
