"""Points of one collection behind qdrant-client: in its local mode, or on a server.

Local mode searches exactly, in Python, in memory or in a directory (SQLite) where Edge has no
wheel; it suits some thousands of points and has no payload indexes. It uses Dot distance for the
embedders' unit vectors: Cosine divides by the norm again, which changes last bits, and a rebuild
must read the same vectors that were stored. Trees on a server have versions: see ``server.py``.
"""

import json
import pickle
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    DENSE,
    LEXICAL,
    READ_POINTS,
    Batch,
    Between,
    Condition,
    Engine,
    Fields,
    Match,
    Point,
    PointReader,
    Scored,
    Search,
    SearchRequest,
    named_vectors,
    ranked,
)
from raptor_core.store.engines.layout import Layout
from raptor_core.store.engines.retries import Place, code
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import OUTLINED, Candidates, outlined
from raptor_core.store.payload import Payload

AGREE_SECONDS = 10.0
"""Longest wait for a copy that lags."""

DEAD_SECONDS = 10.0
"""How long a copy that did not answer counts as dead, since a read of all copies waits for it."""

_POLL_SECONDS = 0.005

Row = tuple[str, float, Payload]
"""Id, score and payload of a point."""


class QuerySearch(PointReader):
    """Searches that rank the points of ``query``, which a subclass defines."""

    def query(self, searches: Sequence[Search], fields: Fields) -> list[list[Row]]:
        """Return the best points of each search."""
        raise NotImplementedError

    def search(self, requests: Sequence[SearchRequest], limit: int) -> list[list[Scored]]:
        """See ``PointReader``."""
        rows = ranked(lambda searches: self.query(searches, None), requests, limit)
        return [[Scored(payload, score) for _, score, payload in row] for row in rows]

    def outlines(self, requests: Sequence[SearchRequest], limit: int) -> list[Candidates]:
        """See ``PointReader``."""
        rows = ranked(lambda searches: self.query(searches, OUTLINED), requests, limit)
        return [outlined((payload, score) for _, score, payload in row) for row in rows]


class ClientEngine(QuerySearch, Engine):
    """Points of a collection behind a qdrant-client."""

    def __init__(
        self, client: QdrantClient, collection: str, place: Place, layout: Layout | None = None
    ) -> None:
        """Wrap a client; ``layout`` has a server's options, None is local mode, which is exact."""
        self._client = client
        self._collection = collection
        self._place = place
        self._consistency = layout.consistency() if layout else {}
        self._params = layout.search_params() if layout else None
        self._has_graph = layout is not None
        self._has_copies = layout is not None and layout.has_copies
        self._dead_until = 0.0
        self._part_bytes: int | None = None
        self.where = place.name

    def apply(self, batch: Batch) -> None:
        """See ``Engine``; a batch takes as few requests as a server accepts."""
        self._update(batch)

    def replace(self, points: Sequence[Point], publications: Sequence[str]) -> None:
        """Write points that are new, or whose stored point is of one of these publications."""
        only = _filter(Condition((Match("publication", tuple(publications)),)))
        self._update(Batch(tuple(points)), only)

    def finish(self, ids: Sequence[str], publication: str, manifests: Sequence[str]) -> None:
        """Delete obsolete points, then a publication's manifests of dropped trees.

        Its other manifests forget the obsolete points.
        """
        match, names = Match("publication", (publication,)), tuple(manifests)
        dropped = _filter(Condition((match, Match("state", ("dropped",))), names))
        forget = models.DeletePayload(keys=["gone"], filter=_filter(Condition((match,), names)))
        self._update(
            Batch(deletes=tuple(ids)),
            None,
            models.DeleteOperation(delete=models.FilterSelector(filter=dropped)),
            models.DeletePayloadOperation(delete_payload=forget),
        )

    def _update(self, batch: Batch, only: models.Filter | None = None, *operations: Any) -> None:
        """Apply a batch, then the operations; existing points change ``only`` where they match.

        One node of a cluster orders the requests, and a second node when the first is dead.
        """
        with self._place.errors():
            parts = [*split(batch, self._part_bytes)] or [Batch()]
            while parts:
                part = parts.pop(0)
                updates = [*_operations(part, only), *(() if parts else operations)]
                if not updates:
                    continue
                try:
                    self._client.batch_update_points(
                        self._collection, updates, wait=True, ordering=models.WriteOrdering.MEDIUM
                    )
                except UnexpectedResponse as error:
                    parts = [*self._smaller(part, error), *parts]

    def _smaller(self, part: Batch, error: UnexpectedResponse) -> list[Batch]:
        """Return halves of a part that was too large for a proxy, and keep this limit for later."""
        n_bytes = sum(map(point_bytes, part.upserts)) + _ID_BYTES * len(part.deletes)
        halves = [*split(part, n_bytes // 2)]
        if code(error) != "413" or len(halves) < 2:
            raise error
        self._part_bytes = n_bytes // 2
        return halves

    def fetch(self, ids: Sequence[str], fields: Fields, *, dense: bool) -> list[Point]:
        """Return the points that exist among ``ids``.

        Where copies must agree, a point that is being written is read again until they do.
        """
        options = _read_options(fields, [DENSE] if dense else [])
        points = self._retrieve(ids, options | self._consistency)
        deadline = time.monotonic() + AGREE_SECONDS
        while self._consistency and time.monotonic() < deadline:
            known = {record.id for record in points}
            missing = [point_id for point_id in ids if point_id not in known]
            existing = [record.id for record in self._retrieve(missing, _read_options((), []))]
            if not existing:
                break
            points += self._retrieve(existing, options | self._consistency)
        return points

    def fetch_agreed(self, ids: Sequence[str], fields: Sequence[str]) -> list[Point]:
        """Return points that were just written, once all live copies agree on them."""
        if not self._has_copies:
            return self.fetch(ids, fields, dense=False)
        options = _read_options(fields, [])
        deadline = time.monotonic() + AGREE_SECONDS
        while True:
            try:
                kind = models.ReadConsistencyType.QUORUM
                client = self._client
                if time.monotonic() >= self._dead_until:
                    kind = models.ReadConsistencyType.ALL
                    client = getattr(client, "bare", client)
                points = self._retrieve(ids, options | {"consistency": kind}, client)
            except StoreError:
                if time.monotonic() < self._dead_until:
                    raise
                self._dead_until = time.monotonic() + DEAD_SECONDS
                continue
            if len(points) == len(ids) or time.monotonic() > deadline:
                return points
            time.sleep(_POLL_SECONDS)

    def lexical_vectors(self, ids: Sequence[str]) -> list[Sparse | None]:
        """Return the lexical vectors of the points that exist among ``ids``."""
        options = _read_options((), [LEXICAL]) | self._consistency
        return [record.lexical for record in self._retrieve(ids, options)]

    def _retrieve(
        self, ids: Sequence[str], options: Mapping[str, Any], client: QdrantClient | None = None
    ) -> list[Point]:
        points: list[Any] = []
        with self._place.errors():
            for at in range(0, len(ids), READ_POINTS):
                part = list(ids[at : at + READ_POINTS])
                points += (client or self._client).retrieve(self._collection, part, **options)
        return [_record(point) for point in points]

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """See ``PointReader``.

        Where copies must agree, points that are being written are missing. Manifests change in
        place, so they are read until the copies agree.
        """
        states = condition.values("state")
        if not self._consistency or states is None or "live" in states:
            options = _read_options(fields, [DENSE] if dense else [])
            return self._scroll(condition, options | self._consistency)
        ids = [record.id for record in self._scroll(condition, _read_options((), []))]
        records = self.fetch(ids, None if fields is None else (*fields, "state"), dense=dense)
        return [record for record in records if record.payload["state"] in states]

    def _scroll(self, condition: Condition, options: Mapping[str, Any]) -> list[Point]:
        records: list[Point] = []
        offset: Any = None
        while True:
            with self._place.errors():
                points, offset = self._client.scroll(
                    self._collection, _filter(condition), READ_POINTS, offset=offset, **options
                )
            records += map(_record, points)
            if offset is None:
                return records

    def query(self, searches: Sequence[Search], fields: Fields) -> list[list[Row]]:
        """Return the best points of each search, in one request."""
        payload = True if fields is None else list(fields) or False
        requests = [self._request(search, payload) for search in searches]
        with self._place.errors():
            answers = self._client.query_batch_points(
                self._collection, requests, **self._consistency
            )
        return [[(str(p.id), p.score, p.payload or {}) for p in a.points] for a in answers]

    def _request(self, search: Search, payload: Any) -> models.QueryRequest:
        query, condition, is_exact = search.request
        if isinstance(query, Sparse):
            vector, using, params = _sparse(query), LEXICAL, None
        else:
            vector, using, params = query.tolist(), DENSE, self._params
            if is_exact and self._has_graph:
                params = models.SearchParams(exact=True)
        return models.QueryRequest(
            query=vector,
            using=using,
            filter=_filter(condition),
            limit=search.limit,
            score_threshold=search.threshold,
            params=params,
            with_payload=payload,
        )

    def count(self, condition: Condition) -> int:
        """See ``PointReader``."""
        if self._consistency:  # the client's count has no such argument
            return len(self.scroll(condition, ()))
        with self._place.errors():
            return self._client.count(self._collection, _filter(condition), exact=True).count

    def close(self) -> None:
        """Close the client."""
        with self._place.errors():
            self._client.close()


def _read_options(fields: Fields, vectors: list[str]) -> dict[str, Any]:
    """Return the arguments that select payload fields, all for None, and vectors."""
    return {
        "with_payload": True if fields is None else list(fields),
        "with_vectors": vectors or False,
    }


def _operations(batch: Batch, only: models.Filter | None) -> list[Any]:
    operations: list[Any] = []
    if batch.upserts:
        points = [
            models.PointStruct(id=p.id, vector=named_vectors(p, _sparse), payload=p.payload)
            for p in batch.upserts
        ]
        written = models.PointsList(points=points, update_filter=only)
        operations.append(models.UpsertOperation(upsert=written))
    if batch.deletes:
        ids = models.PointIdsList(points=list(batch.deletes))
        operations.append(models.DeleteOperation(delete=ids))
    return operations


def _sparse(sparse: Sparse) -> models.SparseVector:
    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _filter(condition: Condition) -> models.Filter:
    must = _conditions(condition.matches, condition.ids)
    hidden = [
        *_conditions(condition.hidden, condition.hidden_ids or None),
        *_conditions(condition.excluded, condition.excluded_ids or None),
    ]
    return models.Filter(must=must or None, must_not=hidden or None)


def _conditions(matches: Sequence[Match | Between], ids: Sequence[str] | None) -> list[Any]:
    conditions: list[Any] = list(map(_field_condition, matches))
    return conditions if ids is None else [*conditions, models.HasIdCondition(has_id=list(ids))]


def _field_condition(match: Match | Between) -> models.FieldCondition:
    if isinstance(match, Between):
        return models.FieldCondition(key=match.field, range=models.Range(**dict(match.bounds)))
    return models.FieldCondition(key=match.field, match=_match(match))


def _match(match: Match) -> Any:
    if len(match.values) == 1:
        return models.MatchValue(value=match.values[0])
    return models.MatchAny(any=list(match.values))


def _record(point: Any) -> Point:
    vectors = point.vector if isinstance(point.vector, dict) else {}
    vector, words = vectors.get(DENSE), vectors.get(LEXICAL)
    dense = None if vector is None else np.asarray(vector, dtype=np.float32)
    lexical = None if words is None else Sparse(tuple(words.indices), tuple(words.values))
    return Point(str(point.id), point.payload or {}, dense, lexical)


PART_BYTES = 16 * 2**20
"""Estimated size of the largest request: half of a server's default limit."""

_NUMBER_BYTES = 24
_ID_BYTES = 40


def split(batch: Batch, limit_bytes: int | None = None) -> Iterator[Batch]:
    """Yield the points, then the deletions, in parts; a point over the limit is one by itself."""
    limit = limit_bytes or PART_BYTES
    start, size = 0, 0
    for at, point in enumerate(batch.upserts):
        n_bytes = point_bytes(point)
        if at > start and size + n_bytes > limit:
            yield Batch(batch.upserts[start:at])
            start, size = at, 0
        size += n_bytes
    if batch.upserts:
        yield Batch(batch.upserts[start:])
    n_ids = max(1, limit // _ID_BYTES)
    for at in range(0, len(batch.deletes), n_ids):
        yield Batch(deletes=batch.deletes[at : at + n_ids])


def point_bytes(point: Point) -> int:
    """Return an upper bound of the size of a point as JSON."""
    n_numbers = 0 if point.dense is None else len(point.dense)
    if point.lexical is not None:
        n_numbers += 2 * len(point.lexical.indices)
    return n_numbers * _NUMBER_BYTES + len(json.dumps(point.payload)) + 2 * _ID_BYTES


LOCAL_COLLECTION = "nodes"
_PICKLED = frozenset(
    ("qdrant_client.http.models.models", name) for name in ("PointStruct", "SparseVector")
)
"""Classes in the points that local mode stores as pickles."""


class _PointUnpickler(pickle.Unpickler):
    """Reader of stored points that refuses other classes, since files may be from a stranger."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PICKLED:
            raise ValueError(f"a stored point names {module}.{name}, which local mode does not")
        return super().find_class(module, name)


def check_local(path: Path) -> None:
    """Read all points as local mode does, but refuse damaged points and code that they name."""
    for file in sorted(path.glob("collection/**/*.sqlite")):
        with closing(sqlite3.connect(file)) as points:  # not read-only: it may have to roll back
            for key, point in points.execute("select id, point from points"):
                try:
                    _PointUnpickler(BytesIO(point)).load()
                except (pickle.UnpicklingError, EOFError, LookupError, TypeError) as error:
                    raise ValueError(f"the point {key!r} is damaged: {error}") from error


def open_local(path: Path | None, n_dims: int | None = None, remedy: str = "") -> ClientEngine:
    """Open the collection of local mode in a directory, or in memory for None.

    ``n_dims`` are those of a new collection; None opens an existing one. ``remedy`` ends messages
    about damaged files.
    """
    remedy = f"free space if the disk is full; if it is damaged, {remedy or 'build again'}"
    place = Place("memory" if path is None else str(path), remedy)
    with place.errors():
        if path is not None:
            check_local(path)
        # Calls take turns, and the client's check of threads leaves a connection open.
        options: dict[str, Any] = {"force_disable_check_same_thread": True}
        options |= {"location": ":memory:"} if path is None else {"path": str(path)}
        client = QdrantClient(**options)
        if n_dims is not None:
            dense = models.VectorParams(size=n_dims, distance=models.Distance.DOT)
            lexical = models.SparseVectorParams(modifier=models.Modifier.IDF)
            client.create_collection(
                LOCAL_COLLECTION,
                vectors_config={DENSE: dense},
                sparse_vectors_config={LEXICAL: lexical},
            )
        elif not client.collection_exists(LOCAL_COLLECTION):
            client.close()
            raise ValueError("it holds no collection of this program")
    return ClientEngine(client, LOCAL_COLLECTION, place)
