"""Compiled parts of UMAP (arXiv:1802.03426): fuzzy graph, initial layout, optimization.

``reduction`` calls them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.compiled import compiled, inlined, next_random, next_uniform

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

# umap-learn's curve for min_dist 0.1 and spread 1.0 (its ``find_ab_params``).
CURVE_A = 1.5769434603
CURVE_B = 0.8950608779
NEGATIVE_SAMPLES = 5.0
CUT = 0.7
DEGREE = 10


@compiled
def find_bandwidth(distances: Doubles, i: int, rho: float) -> float:
    """Find the ``sigma`` with which row ``i``'s weights sum to log2(k + 1), by bisection."""
    k = distances.shape[1]
    target = math.log2(k + 1)
    low, high, sigma = 0.0, np.inf, 1.0
    for _ in range(64):
        total = 0.0
        for j in range(k):
            gap = distances[i, j] - rho
            total += math.exp(-gap / sigma) if gap > 0.0 else 1.0
        if abs(total - target) < 1e-5:
            break
        if total > target:
            high = sigma
            sigma = (low + high) / 2.0
        else:
            low = sigma
            sigma = sigma * 2.0 if high == np.inf else (low + high) / 2.0
    return sigma


@compiled
def membership_strengths(distances: Doubles, bandwidth_floors: Doubles) -> Doubles:
    """Return directed edge weights, shape ``(n, k)``, in (0, 1], from distances sorted by row.

    The nearest positive distance of a row is its ``rho``, which has weight 1. ``bandwidth_floors``
    (n,) are the minimum bandwidths. umap-learn does the same; it counts the row itself among its
    k + 1 neighbours.
    """
    n, k = distances.shape
    weights = np.ones((n, k))
    for i in range(n):
        rho = 0.0
        for j in range(k - 1, -1, -1):
            if distances[i, j] > 0.0:
                rho = distances[i, j]
        sigma = max(find_bandwidth(distances, i, rho), bandwidth_floors[i])
        for j in range(k):
            gap = distances[i, j] - rho
            if gap > 0.0:
                weights[i, j] = math.exp(-gap / sigma)
    return weights


@compiled
def orthonormalize(basis: Doubles) -> None:
    """Orthonormalize the columns of ``basis`` (n, m) in place: Gram-Schmidt in order, twice."""
    n, m = basis.shape
    for column in range(m):
        for _ in range(2):
            products = np.zeros(column)
            for i in range(n):
                for earlier in range(column):
                    products[earlier] += basis[i, earlier] * basis[i, column]
            for i in range(n):
                for earlier in range(column):
                    basis[i, column] -= products[earlier] * basis[i, earlier]
        norm = 0.0
        for i in range(n):
            norm += basis[i, column] * basis[i, column]
        norm = math.sqrt(norm)
        if norm > 1e-12:
            for i in range(n):
                basis[i, column] /= norm


@compiled
def write_chebyshev_step(
    starts: Ints,
    tails: Ints,
    weights: Doubles,
    current: Doubles,
    previous: Doubles,
    factor: float,
    out: Doubles,
) -> None:
    """Write one Chebyshev step, ``factor * x(current) - previous``, into ``out`` (n, m).

    ``x`` is the half-lazy normalized adjacency, with eigenvalues in [0, 1]. It is shifted and
    scaled so that [0, CUT] becomes [-1, 1]: values above the cut grow, the rest is damped.
    """
    n, m = current.shape
    row = np.empty(m)
    for i in range(n):
        for column in range(m):
            row[column] = current[i, column]
        for edge in range(starts[i], starts[i + 1]):
            j, w = tails[edge], weights[edge]
            for column in range(m):
                row[column] += w * current[j, column]
        for column in range(m):
            shifted = row[column] / CUT - current[i, column]
            out[i, column] = factor * shifted - previous[i, column]


@compiled
def leading_eigenvectors(
    starts: Ints, tails: Ints, weights: Doubles, m: int, seed: int, sweeps: int
) -> Doubles:
    """Approximate ``m`` leading eigenvectors (n, m) of a CSR graph by filtered iteration."""
    n = len(starts) - 1
    degree, scaled = np.zeros(n), np.empty(len(weights))
    for i in range(n):
        for edge in range(starts[i], starts[i + 1]):
            degree[i] += weights[edge]
    for i in range(n):
        for edge in range(starts[i], starts[i + 1]):
            scaled[edge] = weights[edge] / math.sqrt(degree[i] * degree[tails[edge]])
    state, basis = np.empty(1, dtype=np.uint64), np.empty((n, m))
    state[0] = seed
    for i in range(n):
        for column in range(m):
            basis[i, column] = next_uniform(state) - 0.5
        basis[i, 0] = math.sqrt(degree[i])
    orthonormalize(basis)
    following, current, zero = np.empty((n, m)), np.empty((n, m)), np.zeros((n, m))
    for _ in range(sweeps):
        previous = basis
        write_chebyshev_step(starts, tails, scaled, previous, zero, 1.0, current)
        for _ in range(DEGREE - 1):
            write_chebyshev_step(starts, tails, scaled, current, previous, 2.0, following)
            previous, current, following = current, following, previous
        basis, current = current, previous
        orthonormalize(basis)
    return basis


@inlined
def random_below(n: int, state: NDArray[np.uint64]) -> int:
    """Draw one whole number in [0, n), n < 2**32."""
    return int(((next_random(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inlined
def clip_step(step: np.float32) -> np.float32:
    """Clip ``step`` to [-4, 4], as umap-learn does."""
    if step > np.float32(4.0):
        return np.float32(4.0)
    return max(step, np.float32(-4.0))


@inlined
def measure_gap(layout: Floats, i: int, j: int, gap: Floats) -> np.float32:
    """Set ``gap`` to the difference of points i and j, and return its squared length."""
    squared = np.float32(0.0)
    for c in range(len(gap)):
        gap[c] = layout[i, c] - layout[j, c]
        squared += gap[c] * gap[c]
    return squared


@inlined
def attract_points(layout: Floats, i: int, j: int, gap: Floats, alpha: np.float32) -> None:
    """Move points i and j towards each other."""
    a, b = np.float32(CURVE_A), np.float32(CURVE_B)
    squared = measure_gap(layout, i, j, gap)
    if squared > 0.0:
        power = squared**b
        pull = np.float32(-2.0) * a * b * power / (squared * (a * power + np.float32(1.0)))
        for c in range(len(gap)):
            step = clip_step(pull * gap[c]) * alpha
            layout[i, c] += step
            layout[j, c] -= step


@inlined
def repel_point(layout: Floats, i: int, j: int, gap: Floats, alpha: np.float32) -> None:
    """Move point i away from point j."""
    a, b = np.float32(CURVE_A), np.float32(CURVE_B)
    squared = measure_gap(layout, i, j, gap)
    if squared > 0.0:
        near = np.float32(0.001) + squared
        push = np.float32(2.0) * b / (near * (a * squared**b + np.float32(1.0)))
        for c in range(len(gap)):
            layout[i, c] += clip_step(push * gap[c]) * alpha


@compiled
def optimize_layout(
    layout: Floats, heads: Ints, tails: Ints, periods: Doubles, n_epochs: int, seed: int
) -> None:
    """Move ``layout`` (n, d) in place by UMAP's stochastic gradient descent, one thread."""
    n, d = layout.shape
    state, gap = np.empty(1, dtype=np.uint64), np.empty(d, dtype=np.float32)
    state[0] = seed
    next_sample, next_negative = periods.copy(), periods / NEGATIVE_SAMPLES
    for epoch in range(n_epochs):
        alpha = np.float32(1.0 - epoch / n_epochs)
        for edge in range(len(heads)):
            if next_sample[edge] > epoch:
                continue
            i = heads[edge]
            attract_points(layout, i, tails[edge], gap, alpha)
            next_sample[edge] += periods[edge]
            period = periods[edge] / NEGATIVE_SAMPLES
            n_negative = int((epoch - next_negative[edge]) / period)
            for _ in range(n_negative):
                j = random_below(n, state)
                if j != i:
                    repel_point(layout, i, j, gap, alpha)
            next_negative[edge] += n_negative * period
