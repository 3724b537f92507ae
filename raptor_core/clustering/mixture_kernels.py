"""Compiled parts of a Gaussian mixture: k-means, and expectation-maximization from its labels.

``mixture`` calls them. Points are stored by dimension, shape ``(d, n)``, so that the inner loops
run over points.
"""

import math

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.compiled import compiled, inlined, next_uniform

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 256
NEGLIGIBLE = 1e-14


@compiled
def squared_distances(points: Doubles, centers: Doubles, which: int, out: Doubles) -> None:
    """Write squared distances of all points to one of ``centers`` (k, d) into ``out`` (n,)."""
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
    """Move center ``which`` to a point."""
    for c in range(len(points)):
        centers[which, c] = points[c, point]


@inlined
def draw_point(closest: Doubles, potential: float, state: NDArray[np.uint64]) -> int:
    """Draw a point in proportion to ``closest``, which sums to ``potential``."""
    target = next_uniform(state) * potential
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
    place_center(points, min(n - 1, int(next_uniform(state) * n)), centers, 0)
    squared_distances(points, centers, 0, closest)
    for c in range(1, k):
        potential, best_potential, best_point = 0.0, np.inf, 0
        for p in range(n):
            potential += closest[p]
        for _ in range(2 + int(math.log(k))):
            point, total = draw_point(closest, potential, state), 0.0
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
def assign_points(
    points: Doubles, centers: Doubles, labels: Ints, closest: Doubles, distance: Doubles
) -> int:
    """Set each point's nearest center and squared distance; return how many labels changed."""
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
    """Set each center to the mean of its points; an empty one moves to the farthest point."""
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
    """Return labels, shape ``(n,)``, by Lloyd's algorithm."""
    d, n = points.shape
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    centers, labels = np.empty((k, d)), np.zeros(n, dtype=np.int64)
    closest, distance = np.empty(n), np.empty(n)
    spread_centers(points, centers, state)
    assign_points(points, centers, labels, closest, distance)
    for _ in range(max_rounds):
        move_centers(points, labels, centers, closest)
        if assign_points(points, centers, labels, closest, distance) == 0:
            break
    return labels


@inlined
def sum_scatter(
    points: Doubles,
    resp: Doubles,
    which: int,
    active: Ints,
    n_active: int,
    mean: Doubles,
    out: Doubles,
) -> None:
    """Sum one component's weighted products of gaps to ``mean``, lower triangle (d, d)."""
    d = len(mean)
    gap = np.empty(d)
    for i in range(d):
        for j in range(i + 1):
            out[i, j] = 0.0
    for at in range(n_active):
        p = active[at]
        for i in range(d):
            gap[i] = points[i, p] - mean[i]
        for i in range(d):
            scaled = resp[which, p] * gap[i]
            for j in range(i + 1):
                out[i, j] += scaled * gap[j]


@compiled
def run_m_step(
    points: Doubles, resp: Doubles, reg: float, weights: Doubles, means: Doubles, covs: Doubles
) -> None:
    """Run the M-step: set weights (k,), means (k, d), lower triangles of covariances (k, d, d)."""
    d, n = points.shape
    active = np.empty(n, dtype=np.int64)
    for c in range(len(resp)):
        n_active, mass = 0, 10.0 * 2.220446049250313e-16
        for p in range(n):
            if resp[c, p] > NEGLIGIBLE:
                active[n_active] = p
                n_active += 1
                mass += resp[c, p]
        weights[c] = mass / n
        for i in range(d):
            total = 0.0
            for at in range(n_active):
                total += resp[c, active[at]] * points[i, active[at]]
            means[c, i] = total / mass
        sum_scatter(points, resp, c, active, n_active, means[c], covs[c])
        for i in range(d):
            for j in range(i + 1):
                covs[c, i, j] /= mass
            covs[c, i, i] += reg


@inlined
def write_whitening(covs: Doubles, which: int, lower: Doubles, out: Doubles) -> float:
    """Write the inverse of a covariance's Cholesky factor into ``out``; return its log determinant.

    ``lower`` receives the factor. Only the lower triangles are read and written.
    """
    d = len(out)
    log_det = 0.0
    for i in range(d):
        for j in range(i + 1):
            total = covs[which, i, j]
            for m in range(j):
                total -= lower[i, m] * lower[j, m]
            if i == j:
                lower[i, i] = math.sqrt(max(total, 1e-12))
            else:
                lower[i, j] = total / lower[j, j]
    for j in range(d):
        out[j, j] = 1.0 / lower[j, j]
        log_det += math.log(out[j, j])
        for i in range(j + 1, d):
            total = 0.0
            for m in range(j, i):
                total -= lower[i, m] * out[m, j]
            out[i, j] = total / lower[i, i]
    return log_det


@inlined
def write_mahalanobis(
    points: Doubles, start: int, mean: Doubles, white: Doubles, out: Doubles
) -> None:
    """Write the squared whitened lengths of ``BLOCK`` points from ``start`` on to ``out``."""
    d, n = points.shape
    gap, row = np.empty((d, BLOCK)), np.empty(BLOCK)
    size = min(BLOCK, n - start)
    for p in range(size):
        out[p] = 0.0
    for i in range(d):
        for p in range(size):
            gap[i, p] = points[i, start + p] - mean[i]
            row[p] = 0.0
        for j in range(i + 1):
            factor = white[i, j]
            for p in range(size):
                row[p] += factor * gap[j, p]
        for p in range(size):
            out[p] += row[p] * row[p]


@compiled
def run_e_step(
    points: Doubles, weights: Doubles, means: Doubles, covs: Doubles, resp: Doubles
) -> float:
    """Run the E-step: set responsibilities (k, n); return the mean log-likelihood of a point."""
    d, n = points.shape
    white, lower, out = np.zeros((d, d)), np.zeros((d, d)), np.empty(BLOCK)
    for c in range(len(weights)):
        log_det = write_whitening(covs, c, lower, white)
        offset = math.log(weights[c]) + log_det - 0.5 * d * math.log(2.0 * math.pi)
        for start in range(0, n, BLOCK):
            write_mahalanobis(points, start, means[c], white, out)
            for p in range(min(BLOCK, n - start)):
                resp[c, start + p] = offset - 0.5 * out[p]
    return normalize_responsibilities(resp)


@inlined
def normalize_responsibilities(resp: Doubles) -> float:
    """Turn log-probabilities (k, n) into responsibilities; return the mean log-likelihood."""
    k, n = resp.shape
    top, sums = np.empty(n), np.zeros(n)
    for p in range(n):
        top[p] = -np.inf
    for c in range(k):
        for p in range(n):
            top[p] = max(top[p], resp[c, p])
    for c in range(k):
        for p in range(n):
            gap = resp[c, p] - top[p]
            resp[c, p] = math.exp(gap) if gap > -40.0 else 0.0
            sums[p] += resp[c, p]
    total = 0.0
    for p in range(n):
        total += top[p] + math.log(sums[p])
        sums[p] = 1.0 / sums[p]
    for c in range(k):
        for p in range(n):
            resp[c, p] *= sums[p]
    return float(total / n)


@compiled
def run_em(
    points: Doubles, labels: Ints, k: int, reg: float, tol: float, rounds: int
) -> tuple[Doubles, float]:
    """Run expectation-maximization from hard labels; return responsibilities (k, n), likelihood."""
    d, n = points.shape
    resp = np.zeros((k, n))
    for p in range(n):
        resp[labels[p], p] = 1.0
    weights, means, covs = np.empty(k), np.empty((k, d)), np.zeros((k, d, d))
    run_m_step(points, resp, reg, weights, means, covs)
    likelihood = -np.inf
    for _ in range(rounds):
        previous = likelihood
        likelihood = run_e_step(points, weights, means, covs, resp)
        run_m_step(points, resp, reg, weights, means, covs)
        if abs(likelihood - previous) < tol:
            break
    likelihood = run_e_step(points, weights, means, covs, resp)
    return resp, likelihood
