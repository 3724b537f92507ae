"""Spherical k-means by repeated splitting, for very large layers.

A split into at most 32 parts costs time linear in the rows, and there are about
log(n / cluster_size) / log(32) layers of splits: no step compares all rows with all clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import Grid, Guard, GuardedClusterer
from raptor_core.clustering.reduction import on_grid
from raptor_core.vectors import Vectors

MAX_PARTS = 32
MAX_ROUNDS = 12
SAMPLE_PER_PART = 128
MAX_SHARE = 0.9
GRID = 4096.0
GATHER_ROWS = 65_536

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class KMeansClusterer(GuardedClusterer):
    """Disjoint clusters of about ``cluster_size`` rows."""

    method = "kmeans"
    read_settings = frozenset({"cluster_size", "max_tokens", "seed"})

    def _grid(self, vectors: Vectors) -> Grid:
        return rounded(vectors)

    def _cluster(self, grid: Singles, guard: Guard) -> Clusters:
        size, budget = self.settings.cluster_size, self.settings.max_tokens

        def wanted_parts(rows: Rows) -> int:
            by_tokens = -(-int(guard.n_tokens[rows].sum()) // budget)
            return max(by_tokens, len(rows) // size, 1)

        groups = split(grid, np.arange(len(grid)), wanted_parts, self.settings.seed)
        return guard.finish(groups, None, {"cluster_size": float(size)})


def coarse_parts(grid: Grid, max_rows: int, seed: int) -> list[Rows]:
    """Disjoint parts of at most ``max_rows`` rows each, rows ascending."""
    return split(rounded(grid), np.arange(len(grid)), lambda rows: -(-len(rows) // max_rows), seed)


def rounded(vectors: Vectors | Grid) -> Singles:
    """Unit vectors as whole numbers, ``round(v * 4096)``: float32 adds their products exactly."""
    result = np.empty(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), GATHER_ROWS):
        block = slice(start, start + GATHER_ROWS)
        result[block] = on_grid(vectors[block], GRID)
    return result


def split(grid: Singles, rows: Rows, wanted_parts: Callable[[Rows], int], seed: int) -> list[Rows]:
    """Split rows until ``wanted_parts`` says 1 of each part; parts are disjoint, of two or more.

    Ends for any input: every split gives proper parts.
    """
    done: list[Rows] = []
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        k = min(MAX_PARTS, wanted_parts(part), len(part) // 2)
        if k < 2:
            done.append(part)
            continue
        labels = kmeans_labels(grid, part, k, seed)
        order = np.argsort(labels, kind="stable")
        cuts = np.flatnonzero(np.diff(labels[order])) + 1
        waiting.extend(np.sort(part[piece]) for piece in np.split(order, cuts))
    return done


def kmeans_labels(grid: Singles, rows: Rows, k: int, seed: int) -> NDArray[np.int64]:
    """Labels of the rows, at least two of them in use, none by one row alone.

    Centers are learned on a seeded sample; where the rows cannot be told apart, they are cut
    into equal runs.
    """
    generator = np.random.default_rng([seed, len(rows)])
    sample = rows
    if len(rows) > SAMPLE_PER_PART * k:
        sample = np.sort(generator.choice(rows, SAMPLE_PER_PART * k, replace=False))
    points = grid[sample]
    centers = spread_centers(points, k, generator)
    labels = np.full(len(points), -1)
    for _ in range(MAX_ROUNDS):
        before, labels = labels, (points @ centers.T).argmax(axis=1)
        if (before == labels).all():
            break
        centers = moved_centers(points, labels, centers)
    similarity = similarities(grid, rows, centers)
    labels = similarity.argmax(axis=1)
    similarity[:, np.bincount(labels, minlength=k) < 2] = -np.inf
    labels = similarity.argmax(axis=1)
    if np.bincount(labels).max() > MAX_SHARE * len(rows):
        return np.arange(len(rows), dtype=np.int64) * k // len(rows)
    return np.asarray(labels, dtype=np.int64)


def similarities(grid: Singles, rows: Rows, centers: Singles) -> Singles:
    """Products of rows and centers, shape ``(len(rows), k)``, gathered in blocks."""
    result = np.empty((len(rows), len(centers)), dtype=np.float32)
    for start in range(0, len(rows), GATHER_ROWS):
        block = rows[start : start + GATHER_ROWS]
        result[start : start + GATHER_ROWS] = grid[block] @ centers.T
    return result


def spread_centers(points: Singles, k: int, generator: np.random.Generator) -> Singles:
    """Centers of shape ``(k, n_dims)``, each a point drawn far from those before (k-means++)."""
    chosen = [int(generator.integers(len(points)))]
    gaps = np.full(len(points), np.inf)
    for _ in range(k - 1):
        similarity = points @ points[chosen[-1]]
        gaps = np.minimum(gaps, np.maximum(GRID * GRID - similarity.astype(np.float64), 0.0))
        running = np.cumsum(gaps)
        at = int(np.searchsorted(running, generator.random() * running[-1], side="right"))
        chosen.append(min(at, len(points) - 1))
    return points[chosen]


def moved_centers(points: Singles, labels: NDArray[np.int64], centers: Singles) -> Singles:
    """Mean directions of the labelled points, on the grid; an unused center stays."""
    order = np.argsort(labels, kind="stable")
    used, starts = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(points[order], starts, axis=0, dtype=np.float64)
    moved = centers.copy()
    moved[used] = rounded(sums)
    return moved
