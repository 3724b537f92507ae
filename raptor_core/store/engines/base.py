"""Interface between the store and its engines, without types of a vendor.

The rules of publishing and forgetting are in ``VectorStore``. The engines are Edge (``edge.py``),
local mode (``qdrant.py``) and a server (``server.py``).
"""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from raptor_core.errors import StoreMismatchError
from raptor_core.store.base import StoreIdentity, Where
from raptor_core.store.facts import (
    UNKNOWN,
    fact,
    folder_of,
    items,
    number_field,
    read_bounds,
    texts,
)
from raptor_core.store.lexical import Sparse
from raptor_core.store.payload import Payload
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from raptor_core.store.outlines import Candidates

DENSE = "dense"
LEXICAL = "lexical"

KEYWORD_FIELDS = ("tree", "state", "documents", "content_key", "embedding_key", "facts")
"""Payload fields with a keyword index; ``layer`` has an integer index."""

READ_POINTS = 1000
"""Largest number of points in one read, and of keys in a filter; longer filters gain nothing."""

LINKED_FIELDS = ("tree", "documents", "facts")
"""Fields for which the graph gets separate links, so that narrow filters stay fast."""

Fields = Sequence[str] | None
"""Payload fields to read; None reads all."""

QueryVector = Vectors | Sparse
"""Query that scores points by the inner product with their vector: a unit vector of shape
``(n_dims,)``, or terms, each weighted by its IDF."""


class SearchRequest(NamedTuple):
    """Search for the best points by ``query`` among those that meet the condition.

    ``is_exact`` compares every such point instead of following the graph over the vectors.
    """

    query: QueryVector
    condition: Condition
    is_exact: bool = False


class Search(NamedTuple):
    """Search for at most ``limit`` points of score ``min_score`` or more; None is any score."""

    request: SearchRequest
    limit: int
    min_score: float | None = None

    @property
    def threshold(self) -> float | None:
        """Greatest float32 under ``min_score``, since engines exclude their threshold."""
        least, lower = self.min_score, np.float32(-np.inf)
        return None if least is None else float(np.nextafter(np.float32(least), lower))


class Scored(NamedTuple):
    """Payload of a point that a search returned, and its score; higher is more similar."""

    payload: Payload
    score: float


@dataclass(frozen=True, slots=True)
class Point:
    """Point as written or read; ``dense`` has shape ``(n_dims,)``."""

    id: str
    payload: Payload
    dense: Vectors | None = None
    lexical: Sparse | None = None


def named_vectors(point: Point, sparse: Callable[[Sparse], Any]) -> dict[str, Any]:
    """Return the vectors of a point by name; ``sparse`` makes an engine's sparse vector."""
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    if point.lexical is not None:
        vectors[LEXICAL] = sparse(point.lexical)
    return vectors


@dataclass(frozen=True, slots=True)
class Batch:
    """Points to write, then ids to delete; applying it twice is the same as once.

    ``replaces`` names the trees that it changes, each with the ``mark`` of its manifest, or None
    without one. A server refuses a tree whose mark differs by then.
    """

    upserts: tuple[Point, ...] = ()
    deletes: tuple[str, ...] = ()
    replaces: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """``field`` (or one of its elements, for an array) equals one of ``values``, each once."""

    field: str
    values: tuple[str | int, ...]


_COMPARISONS = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


@dataclass(frozen=True, slots=True)
class Between:
    """A number of ``field``, or one of its elements, is within all bounds; see ``BOUNDS``."""

    field: str
    bounds: tuple[tuple[str, float], ...]

    def includes(self, number: float) -> bool:
        """Return whether a number is within all bounds."""
        return all(_COMPARISONS[name](number, bound) for name, bound in self.bounds)


@dataclass(frozen=True, slots=True)
class Condition:
    """Filter on points: every match holds, and the id is among ``ids`` unless these are None.

    No point matches one of ``excluded`` or has one of ``excluded_ids``. Servers also take matches
    and ids of hidden points.
    """

    matches: tuple[Match | Between, ...] = ()
    ids: tuple[str, ...] | None = None
    excluded: tuple[Match | Between, ...] = ()
    excluded_ids: tuple[str, ...] = ()
    hidden: tuple[Match, ...] = ()
    hidden_ids: tuple[str, ...] = ()

    def values(self, field: str) -> tuple[str | int, ...] | None:
        """Return the values that a field may have; None without a match of this field."""
        matches = (match for match in self.matches if isinstance(match, Match))
        return next((match.values for match in matches if match.field == field), None)


Read = TypeVar("Read")


class PointReader(Protocol):
    """Reads of points. Every failure is a StoreError that names the place."""

    def read_consistently(self, read: Callable[[PointReader], Read]) -> Read:
        """Return the result of ``read``, whose reader returns one version of each tree.

        ``read`` is called again where a tree that it read was published meanwhile. Only a server
        has other publishers at the same time.
        """
        return read(self)

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """Return all points that match, in any order."""

    def search(self, requests: Sequence[SearchRequest], limit: int) -> list[list[Scored]]:
        """Return the best points of each request in the order of ``ranked``."""

    def outlines(self, requests: Sequence[SearchRequest], limit: int) -> list[Candidates]:
        """Return the outlines of the points that ``search`` returns, for ranking."""

    def count(self, condition: Condition) -> int:
        """Return the exact number of points that match."""


class Engine(PointReader, Protocol):
    """Collection of points."""

    def apply(self, batch: Batch) -> None:
        """Write and delete, in this order; the changes are readable when it returns."""

    def flush(self) -> None:
        """Make applied batches survive a loss of power, where ``apply`` does not."""
        return

    def optimize(self) -> None:
        """Build search indexes and remove deleted data, where the engine does not by itself."""
        return

    def close(self) -> None:
        """Release the engine; closing twice is allowed."""


EVERYWHERE = Where()
"""Filter that every live node passes."""

LIVE = Match("state", ("live",))
MANIFEST = Match("state", ("manifest",))


def live_condition(where: Where) -> Condition | None:
    """Return the condition for live nodes that match; None when nothing can match."""
    ids = None if where.ids is None else _ids(where.ids)
    matches = tuple(_matches(where))
    if ids == () or not all(m.values for m in matches if isinstance(m, Match)):
        return None
    if where.exclude is None:
        return Condition((LIVE, *matches), ids)
    excluded = (m for m in _excluded(where.exclude) if isinstance(m, Between) or m.values)
    return Condition((LIVE, *matches), ids, tuple(excluded), _ids(where.exclude.ids or ()))


def _ids(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(node_id for node_id in dict.fromkeys(ids) if is_id(node_id))


def _matches(where: Where) -> Iterator[Match | Between]:
    """Yield what every matching node has."""
    yield from _plain_matches(where)
    if where.documents is not None:
        yield _facts("document", where.documents)
    if where.folders is not None:
        yield _facts("folder", map(folder_of, where.folders))
    for key, accepted in where.metadata.items():
        if isinstance(accepted, Mapping):
            yield _facts("key", (key,))
        yield from _values(key, accepted)


def _excluded(exclude: Where) -> Iterator[Match | Between]:
    """Yield what no matching node has: facts of any of its leaves, as far as they are known."""
    unknown = fact("some", UNKNOWN)
    yield from _plain_matches(exclude)
    if exclude.documents is not None:
        yield Match("documents", tuple(dict.fromkeys(exclude.documents)))
    if exclude.folders:
        folders = _facts("some folder", map(folder_of, exclude.folders))
        yield replace(folders, values=(*folders.values, unknown))
    for key, accepted in exclude.metadata.items():
        yield Match("facts", (fact("some", key), unknown))
        if accepted == {}:
            yield _facts("key", (key,))
        yield from _values(key, accepted)


def _plain_matches(where: Where) -> Iterator[Match]:
    fields = {"tree": where.trees, "layer": where.layers, "documents": where.covers}
    for name, values in fields.items():
        if values is not None:
            yield Match(name, tuple(dict.fromkeys(values)))


def _values(key: str, accepted: Any) -> Iterator[Match | Between]:
    """Yield the match of a key's values, or of a range."""
    if not isinstance(accepted, Mapping):
        known = (text for value in items(accepted) for text in texts(value))
        yield Match("facts", tuple(dict.fromkeys(fact("value", key, text) for text in known)))
    elif accepted:
        kind, bounds = read_bounds(key, accepted)
        yield Between(f"numbers.{number_field(key, kind)}", tuple(sorted(bounds.items())))


def _facts(kind: str, values: Iterable[str]) -> Match:
    return Match("facts", tuple(dict.fromkeys(fact(kind, value) for value in values)))


def is_id(text: str) -> bool:
    """Return whether a text is a UUID in canonical form, as ids of points are."""
    try:
        return str(uuid.UUID(text)) == text
    except (ValueError, AttributeError):
        return False


TIED = 10_000
"""Most points of equal score that are sorted by id; of more, the engine chooses some."""

ScoredRow = tuple[Any, ...]
"""Id and score of a point, and further values."""


def ranked(
    query: Callable[[Sequence[Search]], list[list[ScoredRow]]],
    requests: Sequence[SearchRequest],
    limit: int,
) -> list[list[ScoredRow]]:
    """Return the best ``limit`` points of each request, by score, then by id.

    ``query`` returns points, best first, and may exceed a limit. It first returns one point more.
    Where this point ties with the last, it returns all points of at least that score, up to
    ``TIED`` more.
    """
    rows = query([Search(request, limit + 1) for request in requests])
    tied = {
        number: hits[-1][1]
        for number, hits in enumerate(rows)
        if len(hits) > limit and hits[-1][1] == hits[limit - 1][1]
    }
    if tied:
        searches = [Search(requests[n], limit + TIED, score) for n, score in tied.items()]
        for number, hits in zip(tied, query(searches), strict=True):
            rows[number] = hits
    return [sorted(hits, key=best_first)[:limit] for hits in rows]


def best_first(hit: ScoredRow) -> tuple[float, Any]:
    """Return the sort key of a hit."""
    return (-hit[1], hit[0])


def query_units(vectors: Vectors, identity: StoreIdentity) -> Vectors:
    """Return the rows with norm 1 (a zero row stays 0), float32, if their length is the store's."""
    queries = np.asarray(vectors, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[1] != identity.n_dims:
        raise StoreMismatchError(
            f"store {identity.corpus!r} holds vectors of {identity.n_dims} dimensions "
            f"({identity.embedder_model}); the query has shape {queries.shape}"
        )
    norms = np.linalg.norm(queries, axis=1, keepdims=True)
    units: Vectors = (queries / np.where(norms > 0, norms, 1)).astype(np.float32)
    return units
