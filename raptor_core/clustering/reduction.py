"""Reduction: UMAP with the cosine metric, exact neighbours, a seed and one thread.

The algorithm and constants are umap-learn's (min_dist 0.1, spread 1). It is implemented here
because the library compiles for seconds in every process, and its results depend on the number
of threads. The compiled loops are in ``layout_kernels``.
"""

import numpy as np
from numpy.typing import NDArray

from raptor_core.threads import one_blas_thread
from raptor_core.vectors import Vectors

GRID = 2.0**16
BLOCK_ROWS = 1024

_NOISE = 1e-12
"""Share of the largest spread, squared, below which an axis is only rounding error."""

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


def round_to_grid(vectors: Vectors) -> Doubles:
    """Round unit vectors to whole numbers, ``round(v * GRID)``, shape kept, float64.

    Their products are exact in float64 whatever the order of addition, so similarities do not
    depend on the linear algebra library, its threads or the processor.
    """
    doubles = vectors.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", doubles, doubles))
    doubles *= (GRID / np.maximum(norms, 1e-12))[:, None]
    return np.rint(doubles, out=doubles)


def nearest_neighbours(grid: Doubles, k: int) -> tuple[Ints, Doubles]:
    """Return the ``k`` nearest other rows of each row and their cosine distances, both ``(n, k)``.

    The search is exact, in blocks of rows, so memory is linear in n. Neighbours are sorted by
    distance, then by row.
    """
    n = len(grid)
    norms = np.sqrt(np.einsum("ij,ij->i", grid, grid))
    norms = np.maximum(norms, 1.0)
    rows = np.empty((n, k), dtype=np.int64)
    distances = np.empty((n, k))
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        block = grid[start:stop] @ grid.T
        block /= -norms
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        neighbours = np.argpartition(block, k - 1, axis=1)[:, :k]
        neighbours.sort(axis=1)
        values = np.take_along_axis(block, neighbours, axis=1)
        order = np.argsort(values, axis=1, kind="stable")
        rows[start:stop] = np.take_along_axis(neighbours, order, axis=1)
        ordered = np.take_along_axis(values, order, axis=1)
        distances[start:stop] = 1.0 + ordered / norms[start:stop, None]
    distances[distances < 1e-9] = 0.0
    return rows, distances


def fuzzy_union_graph(rows: Ints, weights: Doubles) -> tuple[Ints, Ints, Doubles]:
    """Return heads, tails and weights of the fuzzy union ``w + w' - w w'``, sorted by edge."""
    n, k = rows.shape
    heads = np.repeat(np.arange(n), k)
    tails = rows.ravel()
    keys = np.concatenate([heads * n + tails, tails * n + heads])
    both = np.concatenate([weights.ravel(), weights.ravel()])
    order = np.argsort(keys, kind="stable")
    keys, both = keys[order], both[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    united = both[first]
    paired = np.flatnonzero(np.diff(np.concatenate([first, [len(keys)]])) == 2)
    reverse = both[first[paired] + 1]
    united[paired] = united[paired] + reverse - united[paired] * reverse
    kept = united > 0.0
    keys, united = keys[first][kept], united[kept]
    return keys // n, keys % n, united


def umap_layout(
    grid: Doubles, *, n_neighbors: int, n_dims: int, epochs: int, seed: int
) -> NDArray[np.float32]:
    """Compute the UMAP layout, shape ``(n, n_dims)``.

    Args:
        grid: rows from ``round_to_grid``, shape ``(n, n_source_dims)``, n >= 3.
        n_neighbors: neighbours including the row itself, as umap-learn counts.
        n_dims: dimensions of the layout.
        epochs: rounds of the layout; 0 is umap-learn's choice, 500, or 200 above 10,000 rows.
        seed: seed of the initial layout and of the negative samples.
    """
    from raptor_core.clustering import layout_kernels as kernels

    n = len(grid)
    epochs = epochs or (500 if n <= 10_000 else 200)
    rows, distances = nearest_neighbours(grid, max(1, min(n_neighbors, n) - 1))
    strengths = kernels.membership_strengths(distances, bandwidth_floors(distances))
    heads, tails, weights = fuzzy_union_graph(rows, strengths)
    layout = spectral_start_layout(heads, tails, weights, n, n_dims, seed)
    kept = weights >= weights.max() / epochs
    periods = weights.max() / weights[kept]
    kernels.optimize_layout(layout, heads[kept], tails[kept], periods, epochs, seed)
    return layout


def bandwidth_floors(distances: Doubles) -> Doubles:
    """Return the lowest bandwidth of each row, a thousandth of a mean distance, shape ``(n,)``.

    This is the row's mean distance, or the mean over all rows if that is zero.
    """
    means = distances.mean(axis=1)
    floors: Doubles = 1e-3 * np.where(means > 0.0, means, distances.mean())
    return np.maximum(floors, 1e-12)


def spectral_start_layout(
    heads: Ints, tails: Ints, weights: Doubles, n: int, n_dims: int, seed: int
) -> NDArray[np.float32]:
    """Return eigenvectors of the graph with a little noise, each dimension scaled to [0, 10]."""
    from raptor_core.clustering import layout_kernels as kernels

    starts = np.searchsorted(heads, np.arange(n + 1)).astype(np.int64)
    basis = kernels.leading_eigenvectors(starts, tails, weights, n_dims + 1, seed, 4)[:, 1:]
    basis = basis * (10.0 / np.maximum(np.abs(basis).max(), 1e-12))
    basis = basis + np.random.default_rng(seed).normal(scale=1e-4, size=basis.shape)
    low, high = basis.min(axis=0), basis.max(axis=0)
    scaled = 10.0 * (basis - low) / np.maximum(high - low, 1e-12)
    return np.asarray(scaled, dtype=np.float32)


@one_blas_thread
def project_to_plane(vectors: Vectors) -> Doubles:
    """Project vectors, ``(n, n_dims)``, to a plane, ``(n, 2)``, by their principal components.

    The axes are eigenvectors of the smaller of the two products of the rows with themselves,
    because a singular value decomposition takes twenty times as long.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    points = np.zeros((len(rows), 2))
    if not len(rows):
        return points
    centred = rows - rows.mean(axis=0)
    wide = len(rows) < rows.shape[1]
    spread, basis = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    for column, at in enumerate((-1, -2)[: len(spread)]):
        if spread[at] > _NOISE * max(spread[-1], _NOISE):
            axis = centred.T @ basis[:, at] / np.sqrt(spread[at]) if wide else basis[:, at]
            points[:, column] = centred @ axis * np.sign(axis[np.abs(axis).argmax()])
    return points
