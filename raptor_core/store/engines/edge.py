"""Qdrant Edge, the engine of a Qdrant server in this process; one directory is one shard.

``folder.py`` creates the directory. The write-ahead log is off: each publication ends with a flush,
and the log doubles the time to open a shard and keeps removed text. Edge raises bare ``Exception``,
and Rust panics as ``BaseException``, so both are caught here, around its calls only.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from raptor_core.disk import check_free_space
from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    DENSE,
    KEYWORD_FIELDS,
    LEXICAL,
    Between,
    Condition,
    Delete,
    Engine,
    Fields,
    Match,
    Operation,
    Point,
    ScoredPoint,
    SearchRequest,
    SetLive,
    SetReaders,
    idf_condition,
    named_vectors,
    payload_selection,
    read_point,
)
from raptor_core.store.lexical import SparseVector

UPDATE_POINTS = 2000
"""Points per operation, which limits the vectors that are lists of numbers at a time."""

SKIPPED_NUMBERS = 1000
"""Number of operations to skip after opening, the most between two flushes; it takes 3 ms."""

WRITTEN_BYTES = 20_000
"""Disk space that writing a point may take, including its share of a new segment."""

SCROLL_POINTS = 10_000

VACUUM_POINTS = 100
ERASED_POINTS = 5_000
"""Number of points up to which ``optimize`` erases the bytes of every deleted point. This takes
0.2 s for a small store, and grows with the segments that contained them."""

SEALED_KB = 8_000
"""Size of a segment's vectors from which ``optimize`` seals it: 5,000 vectors of 384 dimensions.
Files of sealed segments are mapped instead of read: 30,000 nodes open in 30 ms of CPU time,
unsealed in 240 ms. There is no search graph (``m`` is 0): it took minutes to build and missed most
of the
nearest among random vectors. A search compares every vector: 25 ms for 100,000, and exact."""

SEGMENTS = 5
"""Number of segments up to which ``optimize`` merges none. Each takes 10 ms to open. With a lower
number, each sealing would rewrite the large segment."""


@contextmanager
def translate_engine_errors(path: Path, action: str, remedy: str) -> Iterator[None]:
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
            f"its files are damaged, {remedy}: the texts come from the tables"
        ) from error


def _shard_options(n_dims: int, *, erasing: bool) -> Any:
    """Return the options of a shard; ``erasing`` rewrites each segment with deleted points."""
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
    """Create an empty shard, with its vectors and indexes, in the empty directory ``path``."""
    keyword = edge.KeywordIndexParams(enable_hnsw=False, memory=edge.Memory.Cold)
    layer = edge.IntegerIndexParams(
        lookup=True, range=False, enable_hnsw=False, memory=edge.Memory.Cold
    )
    with translate_engine_errors(path, "create a shard", f"move {path} away and build again"):
        shard = edge.EdgeShard.create(str(path), _shard_options(n_dims, erasing=True))
        for field in KEYWORD_FIELDS:
            shard.update(edge.UpdateOperation.create_field_index(field, keyword))
        shard.update(edge.UpdateOperation.create_field_index("layer", layer))
        shard.flush()
        shard.close()


class EdgeEngine(Engine):
    """Open shard of Qdrant Edge."""

    def __init__(self, path: Path, remedy: str) -> None:
        """Open the shard in the directory ``path``; ``remedy`` ends messages about damage."""
        self._path = path
        self._remedy = remedy
        self._is_ahead = False
        with self._translate_errors("open the shard"):
            self._shard: Any = edge.EdgeShard.load(str(path))

    def _translate_errors(self, action: str) -> AbstractContextManager[None]:
        return translate_engine_errors(self._path, action, self._remedy)

    def apply(self, operations: Sequence[Operation]) -> None:
        """See ``Engine``."""
        if not operations:
            return
        check_free_space(
            self._path, WRITTEN_BYTES * sum(len(operation[0]) for operation in operations)
        )
        with self._translate_errors("write points"):
            if not self._is_ahead:
                self._skip_operation_numbers()
            updates = (
                update for operation in operations for update in _convert_operation(operation)
            )
            for number, update in enumerate(updates):
                self._shard.update(update)
                if not self._is_ahead or number % SKIPPED_NUMBERS == SKIPPED_NUMBERS - 1:
                    self._shard.flush()  # the segment's number is now above any that was used
                    self._is_ahead = True
            self._shard.flush()

    def _skip_operation_numbers(self) -> None:
        """Raise the shard's operation number above that of a process that died during a flush.

        The engine ignores an operation on a point that has a later number. A dead process may leave
        such points, because a segment's own number is written after them.
        """
        for _ in range(SKIPPED_NUMBERS):
            self._shard.update(edge.UpdateOperation.delete_points([str(UUID(int=0))]))

    def fetch(self, ids: Sequence[str], fields: Fields) -> list[Point]:
        """See ``Engine``."""
        with self._translate_errors(f"read {len(ids)} points"):
            points = self._shard.retrieve(list(ids), payload_selection(fields), False)
        return list(map(read_point, points))

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """See ``Engine``."""
        records: list[Point] = []
        offset = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=SCROLL_POINTS,
                filter=_convert_condition(condition),
                with_payload=payload_selection(fields),
                with_vector=[DENSE] if dense else False,
            )
            with self._translate_errors("list points"):
                points, offset = self._shard.scroll(request)
            records += map(read_point, points)
            if offset is None:
                return records

    def search(self, requests: Sequence[SearchRequest], fields: Fields) -> list[list[ScoredPoint]]:
        """See ``Engine``."""
        queries = [_convert_search(request, fields) for request in requests]
        with self._translate_errors("search"):
            rows = self._shard.query_batch(edge.QueryBatchRequest(queries))
        return [[ScoredPoint(str(p.id), p.payload or {}, p.score) for p in row] for row in rows]

    def count(self, condition: Condition) -> int:
        """See ``Engine``."""
        request = edge.CountRequest(exact=True, filter=_convert_condition(condition))
        with self._translate_errors("count"):
            return int(self._shard.count(request))

    def optimize(self) -> None:
        """Seal large segments, and rewrite those with many deleted points; in small stores, all."""
        erasing = self.count(Condition()) <= ERASED_POINTS
        with self._translate_errors("optimize"):
            self._set_erasing_and_reopen(erasing)
            self._shard.optimize()

    def _set_erasing_and_reopen(self, erasing: bool) -> None:
        """Set whether ``optimize`` erases all deleted points; a change reopens the shard."""
        config = json.loads((self._path / "edge_config.json").read_bytes())
        options = _shard_options(config["vectors"][DENSE]["size"], erasing=erasing)
        if config["optimizers"]["deleted_threshold"] != options.optimizers.deleted_threshold:
            self._shard.close()
            self._shard = edge.EdgeShard.load(str(self._path), options)

    def close(self) -> None:
        """See ``Engine``."""
        with self._translate_errors("close"):
            self._shard.close()


def _convert_operation(operation: Operation) -> Iterator[Any]:
    """Convert an operation for the engine, a large one in parts."""
    if isinstance(operation, Delete):
        yield edge.UpdateOperation.delete_points(list(operation.ids))
        return
    if isinstance(operation, SetLive):
        yield edge.UpdateOperation.set_payload(list(operation.ids), {"state": "live"})
        return
    if isinstance(operation, SetReaders):
        readers = {"readers": list(operation.readers)}
        yield edge.UpdateOperation.set_payload(list(operation.ids), readers)
        return
    for at in range(0, len(operation.points), UPDATE_POINTS):
        part = operation.points[at : at + UPDATE_POINTS]
        points = [edge.Point(p.id, named_vectors(p, _convert_sparse), p.payload) for p in part]
        yield edge.UpdateOperation.upsert_points(points)


def _convert_search(request: SearchRequest, fields: Fields) -> Any:
    """Convert a search for the engine.

    It restricts IDF to the nodes that count: by default the engine counts all points, even deleted
    ones until it compacts them.
    """
    params = None
    if isinstance(request.query, SparseVector):
        query = edge.Query.Nearest(_convert_sparse(request.query), using=LEXICAL)
        corpus = _convert_condition(idf_condition(request.condition))
        params = edge.SearchParams(idf=edge.IdfParams(corpus=corpus))
    else:
        query = edge.Query.Nearest(request.query.tolist(), using=DENSE)
        params = edge.SearchParams(exact=True) if request.is_exact else None
    return edge.QueryRequest(
        limit=request.limit,
        query=query,
        filter=_convert_condition(request.condition),
        params=params,
        with_payload=payload_selection(fields),
    )


def _convert_condition(condition: Condition) -> Any:
    return edge.Filter(
        must=list(map(_convert_match, condition.matches)),
        must_not=list(map(_convert_match, condition.excluded)),
    )


def _convert_match(match: Match | Between) -> Any:
    if isinstance(match, Between):
        return edge.FieldCondition(key=match.field, range=edge.RangeFloat(**dict(match.bounds)))
    if len(match.values) == 1:
        return edge.FieldCondition(key=match.field, match=edge.MatchValue(match.values[0]))
    values: Any = list(match.values)
    return edge.FieldCondition(key=match.field, match=edge.MatchAny(values))


def _convert_sparse(sparse: SparseVector) -> Any:
    return edge.SparseVector(indices=list(sparse.indices), values=list(sparse.values))
