"""Spherical k-means by repeated splitting, for very large layers.

A split into at most 32 parts takes time linear in the rows. About log(n / cluster_size) / log(32)
rounds of splits are needed. No step compares all rows with all clusters.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Rows
from raptor_core.clustering.guards import Grid
from raptor_core.clustering.reduction import on_grid
from raptor_core.vectors import Vectors

MAX_PARTS = 32
MAX_ROUNDS = 12
SAMPLE_PER_PART = 128
MAX_SHARE = 0.9
GRID = 4096.0
GATHER_ROWS = 65_536

Singles = NDArray[np.float32]


def coarse_parts(grid: Grid, max_rows: int, seed: int) -> list[Rows]:
    """Split the rows into disjoint parts of at most ``max_rows`` rows each, rows ascending."""
    return split(
        round_to_grid(grid), np.arange(len(grid)), lambda rows: -(-len(rows) // max_rows), seed
    )


def round_to_grid(vectors: Vectors | Grid) -> Singles:
    """Round unit vectors to numbers, ``round(v * 4096)``, whose products float32 adds exactly."""
    result = np.empty(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), GATHER_ROWS):
        block = slice(start, start + GATHER_ROWS)
        result[block] = on_grid(vectors[block], GRID)
    return result


def split(grid: Singles, rows: Rows, n_parts: Callable[[Rows], int], seed: int) -> list[Rows]:
    """Split rows into disjoint parts of two rows or more until ``n_parts`` returns 1 for each."""
    done: list[Rows] = []
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        k = min(MAX_PARTS, n_parts(part), len(part) // 2)
        if k < 2:
            done.append(part)
            continue
        labels = kmeans_labels(grid, part, k, seed)
        order = np.argsort(labels, kind="stable")
        cuts = np.flatnonzero(np.diff(labels[order])) + 1
        waiting.extend(np.sort(part[piece]) for piece in np.split(order, cuts))
    return done


def kmeans_labels(grid: Singles, rows: Rows, k: int, seed: int) -> NDArray[np.int64]:
    """Return labels of the rows: at least two are in use, none for a single row."""
    generator = np.random.default_rng([seed, len(rows)])
    sample = rows
    if len(rows) > SAMPLE_PER_PART * k:
        sample = np.sort(generator.choice(rows, SAMPLE_PER_PART * k, replace=False))
    points = grid[sample]
    centers = spread_centers(points, k, generator)
    labels = np.full(len(points), -1)
    for _ in range(MAX_ROUNDS):
        previous, labels = labels, (points @ centers.T).argmax(axis=1)
        if (previous == labels).all():
            break
        centers = move_centers(points, labels, centers)
    similarity = similarities(grid, rows, centers)
    labels = similarity.argmax(axis=1)
    similarity[:, np.bincount(labels, minlength=k) < 2] = -np.inf
    labels = similarity.argmax(axis=1)
    if np.bincount(labels).max() > MAX_SHARE * len(rows):
        return np.arange(len(rows), dtype=np.int64) * k // len(rows)
    return np.asarray(labels, dtype=np.int64)


def similarities(grid: Singles, rows: Rows, centers: Singles) -> Singles:
    """Return the products of rows and centers, shape ``(len(rows), k)``, computed in blocks."""
    result = np.empty((len(rows), len(centers)), dtype=np.float32)
    for start in range(0, len(rows), GATHER_ROWS):
        block = rows[start : start + GATHER_ROWS]
        result[start : start + GATHER_ROWS] = grid[block] @ centers.T
    return result


def spread_centers(points: Singles, k: int, generator: np.random.Generator) -> Singles:
    """Draw centers, shape ``(k, n_dims)``, each a point far from the earlier ones (k-means++)."""
    chosen = [int(generator.integers(len(points)))]
    gaps = np.full(len(points), np.inf)
    for _ in range(k - 1):
        similarity = points @ points[chosen[-1]]
        gaps = np.minimum(gaps, np.maximum(GRID * GRID - similarity.astype(np.float64), 0.0))
        running = np.cumsum(gaps)
        at = int(np.searchsorted(running, generator.random() * running[-1], side="right"))
        chosen.append(min(at, len(points) - 1))
    return points[chosen]


def move_centers(points: Singles, labels: NDArray[np.int64], centers: Singles) -> Singles:
    """Return the mean direction of each label's points, on the grid; an unused center stays."""
    order = np.argsort(labels, kind="stable")
    used, starts = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(points[order], starts, axis=0, dtype=np.float64)
    moved = centers.copy()
    moved[used] = round_to_grid(sums)
    return moved
