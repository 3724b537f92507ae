"""Vectors on a plane, so that clusters can be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from raptor_core.vectors import Vectors


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
    """At most two orthonormal axes of largest spread, each with its largest component positive."""
    _, spread, axes = np.linalg.svd(rows, full_matrices=False)
    found = axes[:2][spread[:2] > 1e-9]
    largest = np.abs(found).argmax(axis=1)
    signs = np.sign(found[np.arange(len(found)), largest])
    return np.asarray(found * signs[:, None])
