"""Nodes by group (their document, their section), all groups at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Numbers = NDArray[np.int64]


def numbered(names: NDArray[Any]) -> Numbers:
    """A number for each name, equal for equal ones, from 0 without a gap."""
    numbers: Numbers = np.unique(names, return_inverse=True)[1]
    return numbers


def best_means(groups: Numbers, scores: Scores, n_best: int) -> Scores:
    """The mean of the best scores of each group, shape ``(groups.max() + 1,)``.

    ``groups`` are numbers without a gap, row for row.
    """
    if not len(groups):
        return np.zeros(0)
    order = np.lexsort((-scores, groups))
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = order[rank < n_best]
    sums = np.bincount(groups[best], weights=scores[best])
    means: Scores = sums / np.minimum(sizes, n_best)
    return means
