"""Interface between the store and its engines, without types of a vendor.

The rules of publishing and forgetting are in ``VectorStore``. The engines are Qdrant Edge
(``edge.py``) and a server behind qdrant-client (``qdrant.py``). All store the same points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from raptor_core.documents.base import EVERYONE
from raptor_core.errors import StoreMismatchError
from raptor_core.store.base import StoreIdentity, Where
from raptor_core.store.facts import (
    UNKNOWN,
    hash_filter_value,
    matching_texts,
    normalize_folder,
    number_field,
    read_bounds,
    to_items,
)
from raptor_core.store.lexical import SparseVector
from raptor_core.store.payload import Payload
from raptor_core.vectors import Vectors

DENSE = "dense"
LEXICAL = "lexical"

KEYWORD_FIELDS = (
    "node_id",
    "tree",
    "state",
    "documents",
    "content_key",
    "embedding_key",
    "facts",
    "readers",
)
"""Payload fields with a keyword index. ``layer`` has an integer index; each numeric field gets a
range index when it is first written."""

LINKED_FIELDS = ("tree", "documents", "facts", "readers")
"""Fields for which the search graph gets separate links, so that narrow filters stay fast."""

READ_POINTS = 1000
"""Most points in one read, and most keys in a filter; larger ones are not faster."""

Fields = Sequence[str] | None
"""Payload fields to read; None reads all."""

QueryVector = Vectors | SparseVector
"""Query that scores points by the inner product with their vector: a unit vector of shape
``(n_dims,)``, or terms, each weighted by its IDF over the nodes of ``idf_condition``."""


class SearchRequest(NamedTuple):
    """Search for the best ``limit`` points by ``query`` among those that meet the condition.

    ``is_exact`` compares every such point instead of searching the graph over the vectors.
    """

    query: QueryVector
    condition: Condition
    limit: int
    is_exact: bool = False


class ScoredPoint(NamedTuple):
    """Point that a search returned, with its score; higher is more similar."""

    id: str
    payload: Payload
    score: float


@dataclass(frozen=True, slots=True)
class Point:
    """Point as written or read; ``dense`` has shape ``(n_dims,)``."""

    id: str
    payload: Payload
    dense: Vectors | None = None
    lexical: SparseVector | None = None


def named_vectors(point: Point, sparse: Callable[[SparseVector], Any]) -> dict[str, Any]:
    """Return the vectors of a point by name; ``sparse`` converts its sparse vector."""
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    if point.lexical is not None:
        vectors[LEXICAL] = sparse(point.lexical)
    return vectors


def read_point(record: Any) -> Point:
    """Convert an engine's record to a point."""
    vector = (record.vector or {}).get(DENSE)
    dense = None if vector is None else np.asarray(vector, dtype=np.float32)
    return Point(str(record.id), record.payload or {}, dense)


def payload_selection(fields: Fields) -> list[str] | bool:
    """Return an engine's selection of payload fields; True is all, False none."""
    return True if fields is None else list(fields) or False


class Upsert(NamedTuple):
    """Operation that writes points; a point of the same id is replaced."""

    points: tuple[Point, ...]


class Delete(NamedTuple):
    """Operation that deletes points; ids without a point are allowed."""

    ids: tuple[str, ...]


class SetLive(NamedTuple):
    """Operation that makes staged points live and changes nothing else about them."""

    ids: tuple[str, ...]


class SetReaders(NamedTuple):
    """Operation that sets the readers of points and changes nothing else about them."""

    ids: tuple[str, ...]
    readers: tuple[str, ...]


Operation = Upsert | SetLive | SetReaders | Delete


@dataclass(frozen=True, slots=True)
class Match:
    """Condition that ``field`` (or one of its elements, for an array) equals one of ``values``."""

    field: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """Condition that a number of ``field``, or one of its elements, is within all bounds."""

    field: str
    bounds: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """Filter on points: all ``matches`` and none of ``excluded`` must be true."""

    matches: tuple[Match | Between, ...] = ()
    excluded: tuple[Match | Between, ...] = ()


class Engine(Protocol):
    """Collection of points. Every failure is a StoreError that names the place."""

    def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in this order; they are durable and readable when it returns.

        This is not a transaction: if the process or the engine dies, only some of them are applied.
        """

    def fetch(self, ids: Sequence[str], fields: Fields) -> list[Point]:
        """Return the points that exist among ``ids``, without vectors."""

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """Return all points that match, in any order."""

    def search(self, requests: Sequence[SearchRequest], fields: Fields) -> list[list[ScoredPoint]]:
        """Return the best points of each request, in any order."""

    def count(self, condition: Condition) -> int:
        """Return the exact number of points that match."""

    def optimize(self) -> None:
        """Build search indexes and remove deleted data, if the engine does not do so by itself."""

    def close(self) -> None:
        """Release the engine; closing twice is allowed."""


EVERYWHERE = Where()
"""Filter that matches every live node."""

LIVE = Match("state", ("live",))
NOTHING = Match("node_id", ("",))
MANIFEST = Match("state", ("manifest",))


def live_condition(where: Where, rights: Sequence[Match] = ()) -> Condition | None:
    """Return the condition for live nodes that match; None if nothing can match."""
    matches = (LIVE, *rights, *_match_conditions(where))
    if not all(m.values for m in matches if isinstance(m, Match)):
        return None
    excluded = _excluded_conditions(where.exclude) if where.exclude is not None else ()
    return Condition(matches, tuple(m for m in excluded if isinstance(m, Between) or m.values))


def idf_condition(condition: Condition) -> Condition:
    """Return the condition for the nodes that IDF counts: live, and readable by the caller.

    Otherwise scores would reveal how many of the other nodes contain a word.
    """
    return Condition(tuple(m for m in condition.matches if m.field in ("state", "readers")))


def _match_conditions(where: Where) -> Iterator[Match | Between]:
    """Yield the conditions that every matching node meets."""
    yield from _plain_matches(where)
    if where.documents is not None:
        yield _filter_hash_match("document", where.documents)
    if where.folders is not None:
        yield _filter_hash_match("folder", map(normalize_folder, where.folders))
    if where.readers is not None:
        yield readable_condition(where.readers)
    for key, accepted in where.metadata.items():
        if isinstance(accepted, Mapping):
            yield _filter_hash_match("key", (key,))
        yield from _value_condition(key, accepted)


def readable_condition(readers: Sequence[str]) -> Match:
    """Return the condition that one of these readers may read a node; never true without any."""
    names = (*readers, EVERYONE) if readers else ()
    return Match("readers", tuple(dict.fromkeys(names)))


def _excluded_conditions(exclude: Where) -> Iterator[Match | Between]:
    """Yield the conditions that no matching node meets: values of any of its known leaves."""
    unknown = hash_filter_value("some", UNKNOWN)
    yield from _plain_matches(exclude)
    if exclude.documents is not None:
        yield Match("documents", tuple(dict.fromkeys(exclude.documents)))
    if exclude.folders:
        folders = _filter_hash_match("some folder", map(normalize_folder, exclude.folders))
        yield replace(folders, values=(*folders.values, unknown))
    for key, accepted in exclude.metadata.items():
        yield Match("facts", (hash_filter_value("some", key), unknown))
        if accepted == {}:
            yield _filter_hash_match("key", (key,))
        yield from _value_condition(key, accepted)


def _plain_matches(where: Where) -> Iterator[Match]:
    fields = {"tree": where.trees, "layer": where.layers, "documents": where.covers}
    fields["node_id"] = where.ids
    for name, values in fields.items():
        if values is not None:
            yield Match(name, tuple(dict.fromkeys(values)))


def _value_condition(key: str, accepted: Any) -> Iterator[Match | Between]:
    """Yield the condition on the values of a key, or on a range."""
    if not isinstance(accepted, Mapping):
        known = (text for value in to_items(accepted) for text in matching_texts(value))
        yield Match(
            "facts", tuple(dict.fromkeys(hash_filter_value("value", key, text) for text in known))
        )
    elif accepted:
        kind, bounds = read_bounds(key, accepted)
        yield Between(number_path(number_field(key, kind)), tuple(sorted(bounds.items())))


def number_path(field: str) -> str:
    """Return the payload path of the field that ``number_field`` names."""
    return f"numbers.{field}"


def _filter_hash_match(kind: str, values: Iterable[str]) -> Match:
    return Match("facts", tuple(dict.fromkeys(hash_filter_value(kind, value) for value in values)))


def normalize_queries(vectors: Vectors, identity: StoreIdentity) -> Vectors:
    """Normalize rows to norm 1 as float32 (a zero row stays 0); raise if their length is wrong."""
    queries = np.asarray(vectors, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[1] != identity.n_dims:
        raise StoreMismatchError(
            f"store {identity.corpus!r} contains vectors of {identity.n_dims} dimensions "
            f"({identity.embedder_model}); the query has shape {queries.shape}"
        )
    norms = np.linalg.norm(queries, axis=1, keepdims=True)
    units: Vectors = (queries / np.where(norms > 0, norms, 1)).astype(np.float32)
    return units
