"""An engine over qdrant-client: its local mode and a server answer the same calls.

Local mode searches exactly and in Python, in memory or in a directory (SQLite) where Edge has no
wheel: made for some thousands of points. Its Dot distance is used for the unit vectors that
embedders yield, because under Cosine it divides by the norm once more and changes last bits, and a
rebuild from stored vectors must see the very same ones. It has no payload indexes.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    DENSE,
    LEXICAL,
    READ_POINTS,
    Batch,
    Condition,
    Match,
    Point,
    Question,
    Scored,
    just_under,
    named_vectors,
    ranked,
)
from raptor_core.store.engines.layout import Layout
from raptor_core.store.engines.retries import Place, code
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import OUTLINED, Candidates, outlined
from raptor_core.store.payload import Payload

AGREE_SECONDS = 10.0
"""How long a copy that lags is waited for."""

DEAD_SECONDS = 10.0
"""How long a copy that did not answer is taken for dead: a question to all waits for it."""

_POLL_SECONDS = 0.005

Row = tuple[str, float, Payload]
"""Id, score and payload of a point."""

Look = tuple[tuple[str, str], ...]
"""Ids of manifests, and the ``birth`` that each should have."""

Read = TypeVar("Read")

UNSCORED = 2.0**20
"""Score of a manifest that was looked at, over every other; one more where it is as it should."""


class Search(NamedTuple):
    """One search: at most ``limit`` points that score ``least`` or more, where that is given.

    Where it is to ``look`` at manifests, they come besides, as they are once the points are found.
    """

    question: Question
    limit: int
    least: float | None = None
    look: Look = ()


class QuerySearch:
    """Searches that rank the points of ``query``, which a subclass defines."""

    def query(self, searches: Sequence[Search], fields: Sequence[str] | None) -> list[list[Row]]:
        """Return the best points of each search; ``fields`` None reads whole payloads."""
        raise NotImplementedError

    def search(self, questions: Sequence[Question], limit: int) -> list[list[Scored]]:
        """Return the best points of each search, with their payloads."""
        rows = self._ranked(questions, limit, None)
        return [[Scored(payload, score) for _, score, payload in row] for row in rows]

    def outlines(self, questions: Sequence[Question], limit: int) -> list[Candidates]:
        """Return the outlines of the points that ``search`` returns."""
        rows = self._ranked(questions, limit, OUTLINED)
        return [outlined((payload, score) for _, score, payload in row) for row in rows]

    def _ranked(
        self, questions: Sequence[Question], limit: int, fields: Sequence[str] | None
    ) -> list[list[Row]]:
        def ask(least: Mapping[int, float | None], n: int) -> list[list[Any]]:
            searches = [Search(questions[row], n, score) for row, score in least.items()]
            return self.query(searches, fields)

        return ranked(ask, len(questions), limit)


class ClientEngine(QuerySearch):
    """One collection behind a qdrant-client."""

    def __init__(
        self, client: QdrantClient, collection: str, place: Place, layout: Layout | None = None
    ) -> None:
        """``layout`` says how a server is to search; None for local mode, which is exact."""
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
        """Write and delete, in this order, with as few requests as a server takes."""
        self._update(batch)

    def replace(self, points: Sequence[Point], publications: Sequence[str]) -> None:
        """Write points where they are new, or are of one of these publications."""
        only = _filter(Condition((Match("publication", tuple(publications)),)))
        self._update(Batch(tuple(points)), only)

    def settle(self, ids: Sequence[str], publication: str, manifests: Sequence[str]) -> None:
        """Delete points; then manifests of a publication go, or forget what it left over."""
        own = Match("publication", (publication,))
        dropped = Condition((own, Match("state", ("dropped",))), tuple(manifests))
        stays = _filter(Condition((own,), tuple(manifests)))
        forget = models.DeletePayload(keys=["gone"], filter=stays)
        self._update(
            Batch(deletes=tuple(ids)),
            None,
            models.DeleteOperation(delete=models.FilterSelector(filter=_filter(dropped))),
            models.DeletePayloadOperation(delete_payload=forget),
        )

    def _update(self, batch: Batch, only: models.Filter | None = None, *then: Any) -> None:
        """Apply the batch, points that exist ``only`` where they match, and then operations.

        Of a cluster one node orders the requests, and another when that one is dead.
        """
        with self._place.errors():
            parts = [*split(batch, self._part_bytes)] or [Batch()]
            while parts:
                part = parts.pop(0)
                if not (operations := _operations(part, only) + list(() if parts else then)):
                    continue
                try:
                    self._client.batch_update_points(
                        self._collection,
                        operations,
                        wait=True,
                        ordering=models.WriteOrdering.MEDIUM,
                    )
                except UnexpectedResponse as error:
                    parts = [*self._smaller(part, error), *parts]

    def _smaller(self, part: Batch, error: UnexpectedResponse) -> list[Batch]:
        """Halves of a part that was too large for a proxy before the server, and so for now on."""
        n_bytes = sum(map(point_bytes, part.upserts)) + _ID_BYTES * len(part.deletes)
        halves = [*split(part, n_bytes // 2)]
        if code(error) != "413" or len(halves) < 2:
            raise error
        self._part_bytes = n_bytes // 2
        return halves

    def fetch(
        self, ids: Sequence[str], fields: Sequence[str] | None, *, dense: bool
    ) -> list[Point]:
        """The points that exist among ``ids``; ``fields`` None gives the whole payload.

        Where copies must agree, one that is just being written is asked for until they do.
        """
        wanted = _wanted(fields, [DENSE] if dense else [])
        found = self._retrieve(ids, wanted | self._consistency)
        give_up = time.monotonic() + AGREE_SECONDS
        while self._consistency and time.monotonic() < give_up:
            known = {record.id for record in found}
            lacking = [point_id for point_id in ids if point_id not in known]
            some = [record.id for record in self._retrieve(lacking, _wanted((), []))]
            if not some:
                break
            found += self._retrieve(some, wanted | self._consistency)
        return found

    def agreed(self, ids: Sequence[str], fields: Sequence[str]) -> list[Point]:
        """Points that were written, once all copies that live have them alike."""
        if not self._has_copies:
            return self.fetch(ids, fields, dense=False)
        wanted = _wanted(fields, [])
        give_up = time.monotonic() + AGREE_SECONDS
        while True:
            try:
                kind = models.ReadConsistencyType.QUORUM
                client = self._client
                if time.monotonic() >= self._dead_until:
                    kind = models.ReadConsistencyType.ALL
                    client = getattr(client, "bare", client)
                found = self._retrieve(ids, wanted | {"consistency": kind}, client)
            except StoreError:
                if time.monotonic() < self._dead_until:
                    raise
                self._dead_until = time.monotonic() + DEAD_SECONDS
                continue
            if len(found) == len(ids) or time.monotonic() > give_up:
                return found
            time.sleep(_POLL_SECONDS)

    def words(self, ids: Sequence[str]) -> list[Sparse | None]:
        """Of the points that exist among ``ids``."""
        wanted = _wanted((), [LEXICAL]) | self._consistency
        return [record.lexical for record in self._retrieve(ids, wanted)]

    def _retrieve(
        self, ids: Sequence[str], wanted: Mapping[str, Any], client: QdrantClient | None = None
    ) -> list[Point]:
        found: list[Any] = []
        with self._place.errors():
            for at in range(0, len(ids), READ_POINTS):
                part = list(ids[at : at + READ_POINTS])
                found += (client or self._client).retrieve(self._collection, part, **wanted)
        return [_record(point) for point in found]

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """All points that match; ``fields`` None gives the whole payload.

        Where copies must agree, points that are just being written are missing, but for manifests,
        which change in place.
        """
        states = next((m.values for m in condition.matches if m.field == "state"), None)
        if not self._consistency or states is None or "live" in states:
            return self._scrolled(
                condition, _wanted(fields, [DENSE] if dense else []) | self._consistency
            )
        ids = [record.id for record in self._scrolled(condition, _wanted((), []))]
        found = self.fetch(ids, None if fields is None else (*fields, "state"), dense=dense)
        return [record for record in found if record.payload["state"] in states]

    def _scrolled(self, condition: Condition, wanted: Mapping[str, Any]) -> list[Point]:
        records: list[Point] = []
        offset: Any = None
        while True:
            with self._place.errors():
                found, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=_filter(condition),
                    limit=READ_POINTS,
                    offset=offset,
                    **wanted,
                )
            records += map(_record, found)
            if offset is None:
                return records

    def query(self, searches: Sequence[Search], fields: Sequence[str] | None) -> list[list[Row]]:
        """The best points of each search, in one request; ``fields`` None gives whole payloads."""
        payload = True if fields is None else list(fields) or False
        requests = [self._request(search, payload) for search in searches]
        with self._place.errors():
            answers = self._client.query_batch_points(
                self._collection, requests, **self._consistency
            )
        return [[(str(p.id), p.score, p.payload or {}) for p in a.points] for a in answers]

    def _request(self, search: Search, payload: Any) -> models.QueryRequest:
        asked, condition, is_exact = search.question
        if isinstance(asked, Sparse):
            query, using, params = _sparse(asked), LEXICAL, None
        else:
            query, using, params = asked.tolist(), DENSE, self._params
            if is_exact and self._has_graph:
                params = models.SearchParams(exact=True)
        found = {
            "query": query,
            "using": using,
            "filter": _filter(condition),
            "limit": search.limit,
            "score_threshold": just_under(search.least),
            "params": params,
        }
        if search.look:
            return _looking(found, search.look)
        return models.QueryRequest(**found, with_payload=payload)

    def read(self, condition: Condition, limit: int, look: Look) -> list[Row]:
        """Whole payloads of points that match, in any order, and manifests as a search has them."""
        found = {"filter": _filter(condition), "limit": limit}
        with self._place.errors():
            (answer,) = self._client.query_batch_points(self._collection, [_looking(found, look)])
        return [(str(p.id), p.score, p.payload or {}) for p in answer.points]

    @cached_property
    def can_check(self) -> bool:
        """Whether a request for points can check manifests: one copy of one shard answers.

        A shard runs prefetches before it scores them, so it reads the manifests after the points.
        """
        if self._consistency:
            return False
        with self._place.errors():
            return self._client.get_collection(self._collection).config.params.shard_number == 1

    def read_consistently(self, read: Callable[[ClientEngine], Read]) -> Read:
        """Return the result of ``read``; no other thread publishes meanwhile."""
        return read(self)

    def count(self, condition: Condition) -> int:
        """Number of points that match."""
        if self._consistency:  # which the client's count does not take
            return len(self.scroll(condition, ()))
        with self._place.errors():
            answer = self._client.count(
                self._collection, count_filter=_filter(condition), exact=True
            )
        return answer.count

    def flush(self) -> None:
        """Nothing to do: a write that was waited for is in the log (or in SQLite)."""

    def optimize(self) -> None:
        """Nothing to do: a server does it in the background, local mode searches exactly."""

    def close(self) -> None:
        """Close the client."""
        with self._place.errors():
            self._client.close()


def _looking(found: Mapping[str, Any], look: Look) -> models.QueryRequest:
    """A request for points that looks at manifests when it has them: it prefetches them first.

    A server does so in each shard by itself, so there may be but one.
    """
    ids, births = zip(*look, strict=True)
    manifests = models.Prefetch(filter=_filter(Condition(ids=ids)), limit=len(ids))
    stands = models.FieldCondition(key="birth", match=models.MatchAny(any=list(births)))
    score = models.SumExpression(sum=["$score[0]", stands])
    return models.QueryRequest(
        prefetch=[models.Prefetch(**found), manifests],
        query=models.FormulaQuery(formula=score, defaults={"$score[0]": UNSCORED}),
        limit=found["limit"] + len(ids),
        with_payload=models.PayloadSelectorExclude(exclude=["manifest", "mark", "terms"]),
    )


def _wanted(fields: Sequence[str] | None, vectors: list[str]) -> dict[str, Any]:
    """What is read of points: fields of the payload, or all, and vectors."""
    return {
        "with_payload": True if fields is None else list(fields),
        "with_vectors": vectors or False,
    }


def _operations(batch: Batch, only: models.Filter | None) -> list[Any]:
    found: list[Any] = []
    if batch.upserts:
        points = [
            models.PointStruct(id=p.id, vector=named_vectors(p, _sparse), payload=p.payload)
            for p in batch.upserts
        ]
        written = models.PointsList(points=points, update_filter=only)
        found.append(models.UpsertOperation(upsert=written))
    if batch.deletes:
        ids = models.PointIdsList(points=list(batch.deletes))
        found.append(models.DeleteOperation(delete=ids))
    return found


def _sparse(sparse: Sparse) -> models.SparseVector:
    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _filter(condition: Condition) -> models.Filter:
    must = _conditions(condition.matches, condition.ids)
    hidden = _conditions(condition.hidden, condition.hidden_ids or None)
    return models.Filter(must=must or None, must_not=hidden or None)


def _conditions(matches: Sequence[Match], ids: Sequence[str] | None) -> list[Any]:
    found: list[Any] = [models.FieldCondition(key=m.field, match=_match(m)) for m in matches]
    if ids is not None:
        found.append(models.HasIdCondition(has_id=list(ids)))
    return found


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
"""Largest request that is sent, as estimated: half of what a server takes by default."""

_NUMBER_BYTES = 24
_ID_BYTES = 40


def split(batch: Batch, limit_bytes: int | None = None) -> Iterator[Batch]:
    """The batch in parts, to be applied in this order.

    First comes all that is written, then what is deleted. A point over the limit has a part of its
    own.
    """
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
    """Bytes of a point as JSON, at the most."""
    n_numbers = 0 if point.dense is None else len(point.dense)
    if point.lexical is not None:
        n_numbers += 2 * len(point.lexical.indices)
    return n_numbers * _NUMBER_BYTES + len(json.dumps(point.payload)) + 2 * _ID_BYTES


LOCAL_COLLECTION = "nodes"
_PICKLED = frozenset(
    ("qdrant_client.http.models.models", name) for name in ("PointStruct", "SparseVector")
)
"""Classes in what local mode stores: it pickles points."""


class _PointUnpickler(pickle.Unpickler):
    """Reader of stored points that runs nothing else: a file may come from elsewhere."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PICKLED:
            raise ValueError(f"a stored point names {module}.{name}, which local mode does not")
        return super().find_class(module, name)


def check_local(path: Path) -> None:
    """Read all points under ``path`` as local mode will, and run no code that they name.

    Raises:
        ValueError: a point is none, or would run code.
        sqlite3.Error: a file is damaged.
    """
    for file in sorted(path.glob("collection/**/*.sqlite")):
        with closing(sqlite3.connect(file)) as points:  # not read-only: it may have to roll back
            for key, point in points.execute("select id, point from points"):
                try:
                    _PointUnpickler(BytesIO(point)).load()
                except (pickle.UnpicklingError, EOFError, LookupError, TypeError) as error:
                    raise ValueError(f"the point {key!r} is damaged: {error}") from error


def open_local(path: Path | None, n_dims: int | None = None, remedy: str = "") -> ClientEngine:
    """Open the collection of local mode in a directory, or make it.

    Args:
        path: the directory; None for a collection in memory.
        n_dims: dimensions of a new collection; None opens one that is there.
        remedy: what to do where its files are damaged.
    """
    remedy = f"free space if the disk is full; if it is damaged, {remedy or 'build again'}"
    place = Place("memory" if path is None else str(path), remedy)
    with place.errors():
        if path is not None:
            check_local(path)
        client = QdrantClient(
            ":memory:" if path is None else None,
            path=None if path is None else str(path),
            # Calls take turns. Asked whether threads may, it leaves a connection open besides.
            force_disable_check_same_thread=True,
        )
        if n_dims is not None:
            client.create_collection(
                LOCAL_COLLECTION,
                vectors_config={
                    DENSE: models.VectorParams(size=n_dims, distance=models.Distance.DOT)
                },
                sparse_vectors_config={
                    LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)
                },
            )
        elif not client.collection_exists(LOCAL_COLLECTION):
            client.close()
            raise ValueError("it holds no collection of ours")
    return ClientEngine(client, LOCAL_COLLECTION, place)
