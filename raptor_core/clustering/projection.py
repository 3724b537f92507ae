"""Projection of vectors to a plane, so that clusters can be shown in a plot."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from raptor_core.threads import one_blas_thread
from raptor_core.vectors import Vectors

_NOISE = 1e-12
"""Share of the largest spread, squared, below which an axis is only rounding error."""


@one_blas_thread
def project(vectors: Vectors, groups: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Project vectors, ``(n, n_dims)``, to points, ``(n, 2)``, by a view that keeps groups apart.

    The axes are the principal axes of the centres of ``groups``, weighted by their rows. If they
    are too few for two axes, the principal axes of the vectors complete them.
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
    """Return at most two orthonormal axes of largest spread, their largest components positive.

    They come from the eigenvectors of the smaller product of ``rows`` with itself. A singular value
    decomposition of as many rows takes twenty times as long.
    """
    wide = len(rows) < rows.shape[1]
    spread, vectors = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    chosen = [at for at in (-1, -2)[: len(spread)] if spread[at] > _NOISE * max(spread[-1], _NOISE)]
    axes = (rows.T @ vectors[:, chosen] / np.sqrt(spread[chosen]) if wide else vectors[:, chosen]).T
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(len(axes)), largest])
    return np.asarray(axes * signs[:, None])
