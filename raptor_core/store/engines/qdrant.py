"""Points of one collection on a server, behind qdrant-client.

The options of the collection are in ``layout``, the retries in ``retries``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from qdrant_client import QdrantClient, models

from raptor_core.store.engines.base import (
    DENSE,
    LEXICAL,
    NOTHING,
    READ_POINTS,
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
    Upsert,
    idf_condition,
    named_vectors,
    number_path,
    payload_selection,
    read_point,
)
from raptor_core.store.engines.layout import CollectionLayout
from raptor_core.store.engines.retries import CollectionPlace
from raptor_core.store.lexical import SparseVector


class ClientEngine(Engine):
    """Points of a collection behind a qdrant-client. Threads may share the client of a server."""

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        place: CollectionPlace,
        layout: CollectionLayout,
        indexed: Iterable[str] = (),
    ) -> None:
        """Wrap a client.

        Args:
            client: the client.
            collection: name of the collection.
            place: its location, for messages.
            layout: options of the collection.
            indexed: fields that already have an index on the server.
        """
        self._client = client
        self._collection = collection
        self._place = place
        self._layout = layout
        self._indexed = set(indexed)
        self._params = layout.search_params

    def apply(self, operations: Sequence[Operation]) -> None:
        """See ``Engine``; operations share as few requests as the server's limit allows."""
        self._create_number_indexes(operations)
        for request in split_into_requests(operations):
            updates = [_convert_operation(operation) for operation in request]
            with self._place.translate_errors():
                self._client.batch_update_points(self._collection, updates, wait=True)

    def fetch(self, ids: Sequence[str], fields: Fields) -> list[Point]:
        """See ``Engine``."""
        records: list[Point] = []
        for at in range(0, len(ids), READ_POINTS):
            part = list(ids[at : at + READ_POINTS])
            with self._place.translate_errors():
                points = self._client.retrieve(self._collection, part, payload_selection(fields))
            records += map(read_point, points)
        return records

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """See ``Engine``."""
        options: dict[str, Any] = {
            "with_payload": payload_selection(fields),
            "with_vectors": [DENSE] if dense else False,
        }
        chosen = _convert_condition(self._indexed_only(condition))
        records: list[Point] = []
        offset: Any = None
        while True:
            with self._place.translate_errors():
                points, offset = self._client.scroll(
                    self._collection, chosen, READ_POINTS, offset=offset, **options
                )
            records += map(read_point, points)
            if offset is None:
                return records

    def search(self, requests: Sequence[SearchRequest], fields: Fields) -> list[list[ScoredPoint]]:
        """See ``Engine``; all searches are sent in one request."""
        queries = [self._convert_search(request, fields) for request in requests]
        with self._place.translate_errors():
            answers = self._client.query_batch_points(self._collection, queries)
        return [
            [ScoredPoint(str(p.id), p.payload or {}, p.score) for p in a.points] for a in answers
        ]

    def _convert_search(self, request: SearchRequest, fields: Fields) -> models.QueryRequest:
        query, condition, limit, is_exact = request
        if isinstance(query, SparseVector):
            # By default a server counts all points, even deleted ones until it compacts them.
            corpus = models.IdfCorpusParams(corpus=_convert_condition(idf_condition(condition)))
            vector, using, params = _convert_sparse(query), LEXICAL, models.SearchParams(idf=corpus)
        else:
            vector, using, params = query.tolist(), DENSE, self._params
            if is_exact:
                params = models.SearchParams(exact=True)
        return models.QueryRequest(
            query=vector,
            using=using,
            filter=_convert_condition(self._indexed_only(condition)),
            limit=limit,
            params=params,
            with_payload=payload_selection(fields),
        )

    def count(self, condition: Condition) -> int:
        """See ``Engine``."""
        chosen = _convert_condition(self._indexed_only(condition))
        with self._place.translate_errors():
            return self._client.count(self._collection, chosen, exact=True).count

    def _create_number_indexes(self, operations: Sequence[Operation]) -> None:
        """Create the index of each numeric field before the first point with that field."""
        upserts = (operation for operation in operations if isinstance(operation, Upsert))
        names = {n for each in upserts for p in each.points for n in p.payload.get("numbers", ())}
        for field in sorted(set(map(number_path, names)) - self._indexed):
            with self._place.translate_errors():
                self._layout.create_range_index(self._client, self._collection, field)
            self._indexed.add(field)

    def _indexed_only(self, condition: Condition) -> Condition:
        """Return the condition without ranges of fields that no point has.

        A strict server rejects such a range because the field has no index.
        """
        each = (*condition.matches, *condition.excluded)
        ranges = {match.field for match in each if isinstance(match, Between)}
        if ranges - self._indexed:  # another process may have written the first
            with self._place.translate_errors():
                self._indexed |= {*self._client.get_collection(self._collection).payload_schema}
        absent = ranges - self._indexed
        matches = tuple(NOTHING if m.field in absent else m for m in condition.matches)
        return replace(
            condition,
            matches=matches,
            excluded=tuple(m for m in condition.excluded if m.field not in absent),
        )

    def optimize(self) -> None:
        """Do nothing, because a server optimizes by itself."""

    def close(self) -> None:
        """Close the client."""
        with self._place.translate_errors():
            self._client.close()


def _convert_operation(operation: Operation) -> Any:
    if isinstance(operation, Delete):
        ids = models.PointIdsList(points=list(operation.ids))
        return models.DeleteOperation(delete=ids)
    if isinstance(operation, SetLive):
        live = models.SetPayload(payload={"state": "live"}, points=list(operation.ids))
        return models.SetPayloadOperation(set_payload=live)
    if isinstance(operation, SetReaders):
        values = {"readers": list(operation.readers)}
        readers = models.SetPayload(payload=values, points=list(operation.ids))
        return models.SetPayloadOperation(set_payload=readers)
    points = [
        models.PointStruct(id=p.id, vector=named_vectors(p, _convert_sparse), payload=p.payload)
        for p in operation.points
    ]
    return models.UpsertOperation(upsert=models.PointsList(points=points))


def _convert_sparse(sparse: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _convert_condition(condition: Condition) -> models.Filter:
    return models.Filter(
        must=list(map(_convert_match, condition.matches)) or None,
        must_not=list(map(_convert_match, condition.excluded)) or None,
    )


def _convert_match(match: Match | Between) -> models.FieldCondition:
    if isinstance(match, Between):
        return models.FieldCondition(key=match.field, range=models.Range(**dict(match.bounds)))
    if len(match.values) == 1:
        value: Any = models.MatchValue(value=match.values[0])
    else:
        value = models.MatchAny(any=list(match.values))
    return models.FieldCondition(key=match.field, match=value)


REQUEST_BYTES = 16 * 2**20
"""Estimated size of the largest request: half of a server's default limit."""

_NUMBER_BYTES = 24
_ID_BYTES = 40
_FIELDS_BYTES = 1000  # names and short values of a payload


def split_into_requests(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Group the operations, in order, into requests of at most ``REQUEST_BYTES``.

    A larger point is sent in a request of its own.
    """
    request: list[Operation] = []
    size = 0
    for operation in operations:
        rows: Sequence[Any] = operation[0]
        start = 0
        for at, row in enumerate(rows):
            n_bytes = estimate_point_bytes(row) if isinstance(operation, Upsert) else _ID_BYTES
            if size and size + n_bytes > REQUEST_BYTES:
                yield [
                    *request,
                    *([_restrict_to_rows(operation, rows[start:at])] if at > start else []),
                ]
                request, size, start = [], 0, at
            size += n_bytes
        request.append(_restrict_to_rows(operation, rows[start:]))
    if request:
        yield request


def _restrict_to_rows(operation: Operation, rows: Sequence[Any]) -> Any:
    """Return the operation restricted to some of its points or ids."""
    return type(operation)(tuple(rows), *operation[1:])


def estimate_point_bytes(point: Point) -> int:
    """Estimate the size of a point as JSON, in bytes."""
    n_numbers = 0 if point.dense is None else len(point.dense)
    if point.lexical is not None:
        n_numbers += 2 * len(point.lexical.indices)
    return n_numbers * _NUMBER_BYTES + len(str(point.payload).encode()) + _FIELDS_BYTES
