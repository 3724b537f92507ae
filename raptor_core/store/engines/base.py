"""The inner seam: what the store asks of an engine, in shapes that belong to no vendor.

``VectorStore`` holds all rules (publishing, forgetting); an engine only applies batches
and answers queries. There are two: Edge (``edge.py``) and qdrant-client (``qdrant.py``). Hits come
in one order, whatever the engine: best first, ties by node id, however many (``ranked``).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from raptor_core.errors import StoreMismatchError
from raptor_core.store.base import StoreIdentity, Where
from raptor_core.store.lexical import Sparse
from raptor_core.store.payload import Payload, fact
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from raptor_core.store.outlines import Candidates

DENSE = "dense"
LEXICAL = "lexical"

KEYWORD_FIELDS = ("tree", "state", "documents", "content_key", "embedding_key", "facts")
"""Payload fields with a keyword index; ``layer`` has an integer index besides."""

READ_POINTS = 1000
"""Points that are read at once, and keys of a look-up; longer filters gain nothing."""

LINKED_FIELDS = ("tree", "documents")
"""Fields for which the graph gets links of its own, so that narrow filters stay fast."""

Asked = Vectors | Sparse
"""What points are scored by: a unit vector of shape ``(n_dims,)``, by its inner product with
theirs; or words, by theirs, each multiplied by its IDF."""


class Question(NamedTuple):
    """What a search asks: the best points by ``asked`` of those that meet the condition.

    ``is_exact`` looks at every such point in place of the graph over the vectors.
    """

    asked: Asked
    condition: Condition
    is_exact: bool = False


class Scored(NamedTuple):
    """The payload of a point that a search found, and its score; a higher one is more similar."""

    payload: Payload
    score: float


@dataclass(frozen=True, slots=True)
class Point:
    """One point to write, or that was read, with what was asked for of its payload and vectors.

    ``dense`` has shape ``(n_dims,)``.
    """

    id: str
    payload: Payload
    dense: Vectors | None = None
    lexical: Sparse | None = None


def named_vectors(point: Point, sparse: Callable[[Sparse], Any]) -> dict[str, Any]:
    """The vectors of a point by name, for an engine whose sparse ones ``sparse`` makes."""
    found: dict[str, Any] = {}
    if point.dense is not None:
        found[DENSE] = point.dense.tolist()
    if point.lexical is not None:
        found[LEXICAL] = sparse(point.lexical)
    return found


@dataclass(frozen=True, slots=True)
class Batch:
    """Points to write, then ids to delete; applying it twice is the same as once.

    ``replaces`` are the trees that it changes with the ``mark`` that the manifest of each had,
    None where it had none, when the batch was made; where others may write, a batch is refused
    when one of them has another by then.
    """

    upserts: tuple[Point, ...] = ()
    deletes: tuple[str, ...] = ()
    replaces: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """``field`` (or one of its elements, for an array) equals one of ``values``, each once."""

    field: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """Every match must hold, and the id must be one of ``ids`` where they are given.

    ``hidden`` are matches of which none may hold, and ``hidden_ids`` ids that it may not be; only
    servers have them.
    """

    matches: tuple[Match, ...] = ()
    ids: tuple[str, ...] | None = None
    hidden: tuple[Match, ...] = ()
    hidden_ids: tuple[str, ...] = ()


Read = TypeVar("Read")


class PointReader(Protocol):
    """Reads of points. Every failure is a StoreError that names the place."""

    def read_consistently(self, read: Callable[[PointReader], Read]) -> Read:
        """Return the result of ``read``, whose reader returns one version of each tree.

        ``read`` is called again where a tree that it read was published meanwhile.
        """

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """All points that match, in any order; ``fields`` None gives the whole payload."""

    def search(self, questions: Sequence[Question], limit: int) -> list[list[Scored]]:
        """Best points for each question in the order of ``ranked``."""

    def outlines(self, questions: Sequence[Question], limit: int) -> list[Candidates]:
        """What ``search`` finds, to be ranked."""

    def count(self, condition: Condition) -> int:
        """Number of points that match, exactly."""


class Engine(PointReader, Protocol):
    """A place that holds points."""

    def apply(self, batch: Batch) -> None:
        """Write and delete, in this order; readable when it returns."""

    def flush(self) -> None:
        """Make everything that was applied survive a loss of power."""

    def optimize(self) -> None:
        """Build search indexes and drop deleted data, where the engine does not by itself."""

    def close(self) -> None:
        """Release the engine; closing twice is allowed."""


EVERYWHERE = Where()
"""The filter that every live node passes."""

LIVE = Match("state", ("live",))
MANIFEST = Match("state", ("manifest",))


def live_condition(where: Where) -> Condition | None:
    """Condition for live nodes that match; None when nothing can.

    An id that is no UUID in canonical form belongs to no node.
    """
    ids = None if where.ids is None else tuple(i for i in dict.fromkeys(where.ids) if is_id(i))
    fields = {"tree": where.trees, "documents": where.documents, "layer": where.layers}
    given = [(field, values) for field, values in fields.items() if values is not None]
    if ids == () or not all(values for _, values in given):
        return None
    for key, value in where.metadata.items():
        values = value if isinstance(value, tuple) else (value,)
        given.append(("facts", tuple(fact(key, one) for one in values)))
    matches = (Match(field, tuple(dict.fromkeys(values))) for field, values in given)
    return Condition((LIVE, *matches), ids)


def is_id(text: str) -> bool:
    """Return whether a text is a UUID in canonical form, as ids of points are."""
    try:
        return str(uuid.UUID(text)) == text
    except (ValueError, AttributeError):
        return False


TIED = 10_000
"""Points of one score that are put in order; of more, the engine chooses which."""

Listed = tuple[Any, ...]
"""Id and score of a point, and what else was asked for."""


def ranked(
    ask: Callable[[Mapping[int, float | None], int], list[list[Listed]]], n_queries: int, limit: int
) -> list[list[Listed]]:
    """The best ``limit`` of each query, by score, then by id.

    One more than that is asked for. Where it ties with the last, all that score as high are, up to
    ``TIED`` more: two requests at the most.

    Args:
        ask: gives, for the numbers of queries and the scores that their points have at least
            (None: any), that many points or some more, best first.
    """
    found = ask(dict.fromkeys(range(n_queries)), limit + 1)
    tied = {
        row: hits[-1][1]
        for row, hits in enumerate(found)
        if len(hits) > limit and hits[-1][1] == hits[limit - 1][1]
    }
    if tied:
        for row, hits in zip(tied, ask(tied, limit + TIED), strict=True):
            found[row] = hits
    return [sorted(hits, key=best_first)[:limit] for hits in found]


def best_first(hit: Listed) -> tuple[float, Any]:
    """What hits are sorted by."""
    return (-hit[1], hit[0])


def just_under(score: float | None) -> float | None:
    """The greatest number of 32 bits under a score: engines take what is over a threshold."""
    return None if score is None else float(np.nextafter(np.float32(score), np.float32(-np.inf)))


def query_units(vectors: Vectors, identity: StoreIdentity) -> Vectors:
    """Rows of norm 1 (or 0, where they were 0), float32.

    Raises:
        StoreMismatchError: the rows' length is not the store's.
    """
    queries = np.asarray(vectors, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[1] != identity.n_dims:
        raise StoreMismatchError(
            f"store {identity.corpus!r} holds vectors of {identity.n_dims} dimensions "
            f"({identity.embedder_model}); the query has shape {queries.shape}"
        )
    norms = np.linalg.norm(queries, axis=1, keepdims=True)
    units: Vectors = (queries / np.where(norms > 0, norms, 1)).astype(np.float32)
    return units
