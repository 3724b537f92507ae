"""Compiled k-means, the start of a Gaussian mixture.

Points are stored by dimension, shape ``(d, n)``, so that the inner loops run over points.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.compiled import compiled, inlined, uniform

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def squared_distances(points: Doubles, centers: Doubles, which: int, out: Doubles) -> None:
    """Squared distances of all points to one of ``centers`` (k, d), into ``out`` (n,)."""
    d, n = points.shape
    for p in range(n):
        out[p] = 0.0
    for c in range(d):
        at = centers[which, c]
        for p in range(n):
            gap = points[c, p] - at
            out[p] += gap * gap


@inlined
def place_center(points: Doubles, point: int, centers: Doubles, which: int) -> None:
    """Put center ``which`` on a point."""
    for c in range(len(points)):
        centers[which, c] = points[c, point]


@inlined
def drawn_point(closest: Doubles, potential: float, state: NDArray[np.uint64]) -> int:
    """A point drawn in proportion to ``closest``, which sums to ``potential``."""
    target = uniform(state) * potential
    point, running = 0, closest[0]
    while running < target and point < len(closest) - 1:
        point += 1
        running += closest[point]
    return point


@compiled
def spread_centers(points: Doubles, centers: Doubles, state: NDArray[np.uint64]) -> None:
    """Set ``centers`` (k, d) by greedy k-means++, 2 + ln k trials each as in scikit-learn."""
    n, k = points.shape[1], len(centers)
    closest, distance = np.empty(n), np.empty(n)
    place_center(points, min(n - 1, int(uniform(state) * n)), centers, 0)
    squared_distances(points, centers, 0, closest)
    for c in range(1, k):
        potential, best_potential, best_point = 0.0, np.inf, 0
        for p in range(n):
            potential += closest[p]
        for _ in range(2 + int(math.log(k))):
            point, total = drawn_point(closest, potential, state), 0.0
            place_center(points, point, centers, c)
            squared_distances(points, centers, c, distance)
            for p in range(n):
                total += min(distance[p], closest[p])
            if total < best_potential:
                best_potential, best_point = total, point
        place_center(points, best_point, centers, c)
        squared_distances(points, centers, c, distance)
        for p in range(n):
            closest[p] = min(distance[p], closest[p])


@compiled
def assign(
    points: Doubles, centers: Doubles, labels: Ints, closest: Doubles, distance: Doubles
) -> int:
    """Set each point's nearest center and squared distance; how many labels changed."""
    n, changed = points.shape[1], 0
    old = labels.copy()
    for p in range(n):
        closest[p] = np.inf
    for c in range(len(centers)):
        squared_distances(points, centers, c, distance)
        for p in range(n):
            if distance[p] < closest[p]:
                closest[p] = distance[p]
                labels[p] = c
    for p in range(n):
        changed += labels[p] != old[p]
    return changed


@compiled
def move_centers(points: Doubles, labels: Ints, centers: Doubles, closest: Doubles) -> None:
    """Set each center to the mean of its points; an emptied one takes the farthest point."""
    (d, n), k = points.shape, len(centers)
    counts, sums = np.zeros(k), np.zeros((k, d))
    for p in range(n):
        counts[labels[p]] += 1.0
    for c in range(d):
        for p in range(n):
            sums[labels[p], c] += points[c, p]
    for which in range(k):
        if counts[which] > 0.0:
            for c in range(d):
                centers[which, c] = sums[which, c] / counts[which]
        else:
            farthest = 0
            for p in range(n):
                if closest[p] > closest[farthest]:
                    farthest = p
            place_center(points, farthest, centers, which)
            closest[farthest] = 0.0


@compiled
def kmeans_labels(points: Doubles, k: int, seed: int, max_rounds: int) -> Ints:
    """Labels of shape ``(n,)`` by Lloyd's algorithm."""
    d, n = points.shape
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    centers, labels = np.empty((k, d)), np.zeros(n, dtype=np.int64)
    closest, distance = np.empty(n), np.empty(n)
    spread_centers(points, centers, state)
    assign(points, centers, labels, closest, distance)
    for _ in range(max_rounds):
        move_centers(points, labels, centers, closest)
        if assign(points, centers, labels, closest, distance) == 0:
            break
    return labels
