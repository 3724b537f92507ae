"""Vectors on a plane, so that clusters can be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from raptor_core.blas import one_blas_thread
from raptor_core.vectors import Vectors

_NOISE = 1e-12
"""Share of the largest spread, squared, under which an axis is rounding and no direction."""


@one_blas_thread
def project(vectors: Vectors, groups: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Points of shape ``(len(vectors), 2)``: a linear view that keeps clusters apart.

    Its axes are the principal ones of the clusters' centres, each weighing as many rows as it
    has, and of the vectors themselves where there are too few clusters for two axes. Exact, and
    the same for the same input; distances within a cluster say little.

    Args:
        vectors: shape ``(n, n_dims)``.
        groups: rows of each cluster; a row may be in several.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if not len(rows):
        return np.zeros((0, 2))
    centred = rows - rows.mean(axis=0)
    centres = np.stack([centred[list(g)].sum(axis=0) / np.sqrt(len(g)) for g in groups if len(g)])
    axes = _axes(centres)
    if len(axes) < 2:
        rest = centred - centred @ axes.T @ axes
        axes = np.concatenate([axes, _axes(rest)])[:2]
    points = np.zeros((len(rows), 2))
    points[:, : len(axes)] = centred @ axes.T
    return points


def _axes(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """At most two orthonormal axes of largest spread, each with its largest component positive.

    From the smaller of the two products of ``rows`` with itself: two axes need no more, and a
    singular value decomposition of as many rows takes twenty times as long.
    """
    wide = len(rows) < rows.shape[1]
    spread, found = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    chosen = [at for at in (-1, -2)[: len(spread)] if spread[at] > _NOISE * max(spread[-1], _NOISE)]
    axes = (rows.T @ found[:, chosen] / np.sqrt(spread[chosen]) if wide else found[:, chosen]).T
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(len(axes)), largest])
    return np.asarray(axes * signs[:, None])
