"""An engine over qdrant-client: its local mode and a server answer the same calls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.store.conditions import MANIFEST
from raptor_core.store.engine import (
    DENSE,
    LEXICAL,
    Batch,
    Condition,
    Match,
    Point,
    Question,
    Record,
    Scored,
)
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import OUTLINED, Found, outlined
from raptor_core.store.payload import Payload
from raptor_core.store.ranking import just_under, ranked
from raptor_core.store.reasons import reason, remedy
from raptor_core.store.retries import is_refusal

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

    from raptor_core.store.layout import Layout

SCROLL_POINTS = 1000
AGREE_SECONDS = 10.0
"""How long a copy that lags is waited for."""

DEAD_SECONDS = 10.0
"""How long a copy that did not answer is taken for dead: a question to all waits for it."""

_POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Place:
    """Where the collection is, for messages: a path or URL, what to do, what never to show.

    ``key`` names a server's key, never its value.
    """

    name: str
    remedy: str
    secret: str | None = None
    key: str = ""

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what qdrant-client raises into a StoreError that names the place."""
        import sqlite3

        import grpc
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException

        # The client asserts that an answer has a result, and local mode raises ValueError.
        local = (sqlite3.Error, OSError, ValueError, AssertionError)
        try:
            yield
        except (ApiException, QdrantException, grpc.RpcError, *local) as error:
            kind = StoreRefusedError if is_refusal(error) else StoreError
            helps = remedy(error, self.key) or self.remedy
            raise kind(f"{self.name}: {self._reason(error)}; {helps}") from None

    def _reason(self, error: Exception) -> str:
        said = reason(error)
        return (said.replace(self.secret, "***") if self.secret else said)[:500]


class Search(NamedTuple):
    """One search: at most ``limit`` points that score ``least`` or more, where that is given."""

    question: Question
    limit: int
    least: float | None = None


class ClientEngine:
    """One collection behind a qdrant-client."""

    def __init__(
        self, client: QdrantClient, collection: str, place: Place, layout: Layout | None = None
    ) -> None:
        """``layout`` says how a server is to read; None for local mode."""
        self._client = client
        self._collection = collection
        self._place = place
        self._consistency = layout.consistency() if layout else {}
        self._params = layout.search_params() if layout else None
        self._has_graph = layout is not None
        self.has_copies = layout is not None and layout.has_copies
        self._dead_until = 0.0

    def apply(self, batch: Batch) -> None:
        """Write and delete in one request, so that a server applies them in this order.

        Of a cluster one node orders them, and another when that one is dead.
        """
        from qdrant_client import models

        operations: list[Any] = []
        if batch.upserts:
            points = models.PointsList(points=[_point(point) for point in batch.upserts])
            operations.append(models.UpsertOperation(upsert=points))
        if batch.deletes:
            ids = models.PointIdsList(points=list(batch.deletes))
            operations.append(models.DeleteOperation(delete=ids))
        self._update(operations)

    def replace(self, points: Sequence[Point], publications: Sequence[str]) -> None:
        """Write points where they are new, or are of one of these publications."""
        from qdrant_client import models

        written = models.PointsList(
            points=[_point(point) for point in points],
            update_filter=_filter(Condition((Match("publication", tuple(publications)),))),
        )
        self._update([models.UpsertOperation(upsert=written)])

    def remove(self, batch: Batch, publication: str, ids: Sequence[str]) -> None:
        """Delete points as ``batch`` says, then those of ``ids`` that are of a publication."""
        from qdrant_client import models

        chosen = _filter(Condition((Match("publication", (publication,)),), tuple(ids)))
        operations: list[Any] = [
            models.DeleteOperation(delete=models.PointIdsList(points=list(batch.deletes))),
            models.DeleteOperation(delete=models.FilterSelector(filter=chosen)),
        ]
        some = (bool(batch.deletes), bool(ids))
        self._update([one for one, is_any in zip(operations, some, strict=True) if is_any])

    def _update(self, operations: Sequence[Any]) -> None:
        """Apply operations in their order, in one request."""
        from qdrant_client import models

        if not operations:
            return
        with self._place.errors():
            self._client.batch_update_points(
                self._collection, operations, wait=True, ordering=models.WriteOrdering.MEDIUM
            )

    def fetch(
        self, ids: Sequence[str], fields: Sequence[str] | None, *, dense: bool
    ) -> list[Record]:
        """The points that exist among ``ids``; ``fields`` None gives the whole payload.

        Where copies must agree, one that is just being written is asked for until they do.
        """
        payload, vectors = True if fields is None else list(fields), [DENSE] if dense else False
        found = self._retrieve(self._client, ids, payload, vectors, self._consistency)
        give_up = time.monotonic() + AGREE_SECONDS
        while self._consistency and time.monotonic() < give_up:
            known = {record.id for record in found}
            lacking = [point_id for point_id in ids if point_id not in known]
            some = self._retrieve(self._client, lacking, [], False, {}) if lacking else []
            if not some:
                break
            lacking = [record.id for record in some]
            found += self._retrieve(self._client, lacking, payload, vectors, self._consistency)
        return found

    def agreed(self, ids: Sequence[str], fields: Sequence[str]) -> list[Record]:
        """Points that were written, once all copies that live have them alike."""
        from qdrant_client import models

        if not self.has_copies:
            return self.fetch(ids, fields, dense=False)
        every = {"consistency": models.ReadConsistencyType.ALL}
        quorum = {"consistency": models.ReadConsistencyType.QUORUM}
        bare: QdrantClient = getattr(self._client, "bare", self._client)
        give_up = time.monotonic() + AGREE_SECONDS
        while True:
            if time.monotonic() < self._dead_until:
                found = self._retrieve(self._client, ids, list(fields), False, quorum)
            else:
                try:
                    found = self._retrieve(bare, ids, list(fields), False, every)
                except StoreError:  # a copy is dead
                    self._dead_until = time.monotonic() + DEAD_SECONDS
                    continue
            if len(found) == len(ids) or time.monotonic() > give_up:
                return found
            time.sleep(_POLL_SECONDS)

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Record]:
        """All points that match.

        Where copies must agree, points that are just being written are missing, but for manifests,
        which change in place.
        """
        if self._consistency and MANIFEST in condition.matches:
            found = self._scrolled(condition, (), {}, dense=False)
            wanted = None if fields is None else (*fields, "state")
            manifests = self.fetch([record.id for record in found], wanted, dense=dense)
            return [one for one in manifests if one.payload["state"] in MANIFEST.values]
        return self._scrolled(condition, fields, self._consistency, dense=dense)

    def _scrolled(
        self,
        condition: Condition,
        fields: Sequence[str] | None,
        consistency: Mapping[str, Any],
        *,
        dense: bool,
    ) -> list[Record]:
        records: list[Record] = []
        offset: Any = None
        while True:
            with self._place.errors():
                found, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=_filter(condition),
                    limit=SCROLL_POINTS,
                    offset=offset,
                    with_payload=True if fields is None else list(fields),
                    with_vectors=[DENSE] if dense else False,
                    **consistency,
                )
            records += map(_record, found)
            if offset is None:
                return records

    def inspect(self, ids: Sequence[str]) -> list[Record]:
        """The points that exist among ``ids``, whole, with both vectors."""
        vectors = [DENSE, LEXICAL]
        return self._retrieve(self._client, ids, True, vectors, self._consistency)

    def _retrieve(
        self,
        client: QdrantClient,
        ids: Sequence[str],
        fields: Any,
        vectors: Any,
        consistency: Mapping[str, Any],
    ) -> list[Record]:
        with self._place.errors():
            found = client.retrieve(
                self._collection,
                list(ids),
                with_payload=fields,
                with_vectors=vectors,
                **consistency,
            )
        return [_record(point) for point in found]

    def search(self, questions: Sequence[Question], limit: int) -> list[list[Scored]]:
        """Best points for each question, in one request."""
        rows = self._ranked(questions, limit, None)
        return [[Scored(payload, score) for _, score, payload in row] for row in rows]

    def outlines(self, questions: Sequence[Question], limit: int) -> list[Found]:
        """What ``search`` finds, to be ranked."""
        rows = self._ranked(questions, limit, OUTLINED)
        return [outlined((payload, score) for _, score, payload in row) for row in rows]

    def _ranked(
        self, questions: Sequence[Question], limit: int, fields: Sequence[str] | None
    ) -> list[list[Any]]:
        def ask(least: Mapping[int, float | None], n: int) -> list[list[Any]]:
            searches = [Search(questions[row], n, score) for row, score in least.items()]
            return self.query(searches, fields)

        return ranked(ask, len(questions), limit)

    def query(
        self, searches: Sequence[Search], fields: Sequence[str] | None
    ) -> list[list[tuple[str, float, Payload]]]:
        """Id, score and payload of the best points of each search, in one request.

        ``fields`` None gives whole payloads.
        """
        payload = True if fields is None else list(fields)
        requests = [self._request(search, payload) for search in searches]
        with self._place.errors():
            answers = self._client.query_batch_points(
                self._collection, requests, **self._consistency
            )
        return [[(str(p.id), p.score, p.payload or {}) for p in a.points] for a in answers]

    def _request(self, search: Search, payload: Any) -> models.QueryRequest:
        from qdrant_client import models

        asked, condition, is_exact = search.question
        if isinstance(asked, Sparse):
            query, using, params = _sparse(asked), LEXICAL, None
        else:
            query, using, params = asked.tolist(), DENSE, self._params
            if is_exact and self._has_graph:
                params = models.SearchParams(exact=True)
        return models.QueryRequest(
            query=query,
            using=using,
            filter=_filter(condition),
            limit=search.limit,
            score_threshold=just_under(search.least),
            with_payload=payload,
            params=params,
        )

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


def _point(point: Point) -> models.PointStruct:
    from qdrant_client import models

    vector: dict[str, Any] = {}
    if point.dense is not None:
        vector[DENSE] = point.dense.tolist()
    if point.lexical is not None:
        vector[LEXICAL] = _sparse(point.lexical)
    return models.PointStruct(id=point.id, vector=vector, payload=point.payload)


def _sparse(sparse: Sparse) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _filter(condition: Condition) -> models.Filter | None:
    from qdrant_client import models

    must = _conditions(condition.matches, condition.ids)
    hidden = _conditions(condition.hidden, condition.hidden_ids or None)
    if not must and not hidden:
        return None
    return models.Filter(must=must or None, must_not=hidden or None)


def _conditions(matches: Sequence[Match], ids: Sequence[str] | None) -> list[Any]:
    from qdrant_client import models

    found: list[Any] = [
        models.FieldCondition(key=match.field, match=_match(match)) for match in matches
    ]
    if ids is not None:
        found.append(models.HasIdCondition(has_id=list(ids)))
    return found


def _match(match: Match) -> Any:
    from qdrant_client import models

    if len(match.values) == 1:
        return models.MatchValue(value=match.values[0])
    return models.MatchAny(any=list(match.values))


def _record(point: Any) -> Record:
    vectors = point.vector if isinstance(point.vector, dict) else {}
    vector, words = vectors.get(DENSE), vectors.get(LEXICAL)
    dense = None if vector is None else np.asarray(vector, dtype=np.float32)
    lexical = None if words is None else Sparse(tuple(words.indices), tuple(words.values))
    return Record(str(point.id), point.payload or {}, dense, lexical)
