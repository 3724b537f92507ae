"""Questions made ready, and the order of hits: best first, ties by node id, however many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from raptor_core.errors import StoreMismatchError
from raptor_core.store.base import StoreIdentity
from raptor_core.store.candidates import Scored
from raptor_core.vectors import Vectors


def ranked(query: Callable[[int], list[list[Scored]]], limit: int) -> list[list[Scored]]:
    """The best ``limit`` of each query.

    ``query`` takes a number of points and returns that many per query, best first. One more than
    asked is fetched: when it ties with the last, more are, until the tie is whole.
    """
    ask = limit + 1
    found = query(ask)
    while any(len(row) == ask and row[limit - 1].score == row[-1].score for row in found):
        ask *= 2
        found = query(ask)
    return [sorted(row, key=lambda of: (-of.score, of.candidate.id))[:limit] for row in found]


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
