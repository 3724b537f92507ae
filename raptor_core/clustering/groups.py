"""Small questions about groups of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

MAX_SHARE = 0.75
MAX_OVERLAP = 1.5


def divides(parts: Sequence[Rows], n_rows: int) -> bool:
    """Whether parts of ``n_rows`` rows are small and disjoint enough for splitting to end."""
    largest = max(len(part) for part in parts)
    return largest <= MAX_SHARE * n_rows and sum(map(len, parts)) <= MAX_OVERLAP * n_rows


def squared_distance(points: NDArray[np.float64], to: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distance of points ``(n, d)`` to one, shape ``(n,)``."""
    gaps = points - to
    result: NDArray[np.float64] = np.einsum("ij,ij->i", gaps, gaps)
    return result


def unit(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """``rows``, shape ``(n, d)``, each of norm 1."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.maximum(norms, 1e-12)[:, None])


def uncovered(groups: Sequence[Rows], n_rows: int) -> Rows:
    """Rows, of ``n_rows``, that are in none of the groups, ascending."""
    covered = np.zeros(n_rows, dtype=bool)
    for rows in groups:
        covered[rows] = True
    return np.flatnonzero(~covered)


def without_subsets(groups: list[Rows], counts: Counter[str]) -> list[Rows]:
    """The groups less those whose rows all lie in one other: their summary would say no more."""
    distinct = sorted(
        {tuple(rows.tolist()) for rows in groups}, key=lambda rows: (-len(rows), rows)
    )
    holders: dict[int, list[frozenset[int]]] = {}
    kept: list[Rows] = []
    for rows in distinct:
        rarest = min(rows, key=lambda row: len(holders.get(row, ())))
        if any(held.issuperset(rows) for held in holders.get(rarest, ())):
            continue
        kept.append(np.array(rows))
        members = frozenset(rows)
        for row in rows:
            holders.setdefault(row, []).append(members)
    counts["dropped_subsets"] += len(groups) - len(kept)
    return kept


def match_origins(
    members: Sequence[Sequence[int]], earlier: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """For each cluster the earlier one that it goes on from, or -1; no earlier one twice.

    It is the one with most rows in common relative to all rows of both, where at least half of
    the cluster's earlier rows come from it.
    """
    holders: dict[int, list[int]] = {}
    for number, rows in enumerate(earlier):
        for row in rows:
            holders.setdefault(row, []).append(number)
    pairs: list[tuple[float, int, int]] = []
    for number, rows in enumerate(members):
        common = Counter(old for row in rows for old in holders.get(row, ()))
        known = sum(row in holders for row in rows)
        pairs += [
            (-shared / (known + len(earlier[old]) - shared), number, old)
            for old, shared in common.items()
            if 2 * shared >= known
        ]
    origins = [-1] * len(members)
    taken: set[int] = set()
    for _, number, old in sorted(pairs):
        if origins[number] < 0 and old not in taken:
            origins[number] = old
            taken.add(old)
    return tuple(origins)
