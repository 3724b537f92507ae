"""Questions made ready, and the order of hits: best first, ties by node id, however many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from raptor_core.errors import StoreMismatchError
from raptor_core.store.base import StoreIdentity
from raptor_core.vectors import Vectors

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
            (None: any), that many points at the most, best first.
    """
    found = ask(dict.fromkeys(range(n_queries)), limit + 1)
    tied = {
        row: hits[-1][1]
        for row, hits in enumerate(found)
        if len(hits) > limit and hits[-1][1] == hits[-2][1]
    }
    if tied:
        for row, hits in zip(tied, ask(tied, limit + TIED), strict=True):
            found[row] = hits
    return [sorted(hits, key=_order)[:limit] for hits in found]


def _order(hit: Listed) -> tuple[float, Any]:
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
