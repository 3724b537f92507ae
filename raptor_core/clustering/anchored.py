"""Anchored clustering: unchanged rows keep their clusters, and new rows join them.

Only clusters that a change touches are modified; ``docs/adr/0004`` explains why. Compare adRAP
(arXiv:2410.01736) and EraRAG (arXiv:2506.20963), which handle growth only.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusterer, Rows
from raptor_core.clustering.guards import BLOCK_ROWS, ClusterGuard, Grid, uncovered_rows, unit_rows
from raptor_core.clustering.reduction import round_to_grid
from raptor_core.vectors import Vectors

MARGIN = 0.05
"""Similarity bonus of a cluster that must be summarized again in any case."""
SOFT_MARGIN = 0.005
"""Similarity to the first cluster within which a second changed cluster also gets the row."""
LEAST_NEW = 3
"""Smallest number of new rows that form a cluster of their own."""
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClusterBounds:
    """Bounds of a cluster: ``max_members`` rows (after growth) and ``max_tokens`` tokens."""

    max_members: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class AnchoredClusters:
    """Clusters of a layer after a change.

    Attributes:
        members: row numbers of each cluster, as in ``Clusters``.
        earlier_indices: for each cluster, the index of the earlier one that it continues, or -1.
        details: counts of placed rows, outliers, and split and merged clusters.
    """

    members: tuple[tuple[int, ...], ...]
    earlier_indices: tuple[int, ...]
    details: dict[str, float] = field(default_factory=dict)


def cluster_anchored(
    vectors: Vectors,
    n_tokens: NDArray[np.int64],
    kept: Sequence[Sequence[int]],
    touched: Collection[int],
    clusterer: Clusterer,
    bounds: ClusterBounds,
) -> AnchoredClusters:
    """Cluster ``vectors``, shape ``(n, n_dims)``, close to the earlier clusters.

    Args:
        vectors: unit rows of the current layer, at least two.
        n_tokens: tokens of each row, shape ``(n,)``.
        kept: remaining rows of each earlier cluster, ascending; some may be empty, but not all.
        touched: numbers of earlier clusters that must be summarized again in any case.
        clusterer: clusterer of the layer, for new rows that resemble no earlier cluster.

    Raises:
        ClusteringError: no clustering can keep the token budget.
    """
    grid = round_to_grid(vectors)
    guard = ClusterGuard(grid, n_tokens, bounds.max_tokens)
    guard.check_feasibility()
    layer = _AnchoredLayer(vectors, n_tokens, guard, clusterer, bounds)
    clusters = guard.correct_groups(layer.place_rows(kept, touched), layer.cluster_rows, {})
    details = {key: float(value) for key, value in sorted(layer.counts.items())}
    origins = match_earlier_clusters(clusters.members, kept)
    return AnchoredClusters(clusters.members, origins, {**clusters.details, **details})


@dataclass(eq=False)
class _AnchoredLayer:
    """Anchored clustering of a layer in progress; ``changed_groups`` get new summaries."""

    vectors: Vectors
    n_tokens: NDArray[np.int64]
    guard: ClusterGuard
    clusterer: Clusterer
    bounds: ClusterBounds
    groups: list[Rows] = field(default_factory=list)
    changed_groups: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def place_rows(self, kept: Sequence[Sequence[int]], touched: Collection[int]) -> list[Rows]:
        """Return groups that cover all rows; none of them exceeds its bounds by growing."""
        for number, rows in enumerate(kept):
            if len(rows) > 1:
                if number in touched:
                    self.changed_groups.add(len(self.groups))
                self.groups.append(np.array(rows, dtype=np.int64))
        self.counts["merged_remnants"] = sum(len(rows) == 1 for rows in kept)
        unassigned = uncovered_rows(self.groups, len(self.n_tokens))
        self.counts["placed_rows"] = len(unassigned)
        if len(unassigned):
            self.assign_rows(unassigned)
        return [part for at in range(len(self.groups)) for part in self.halve_to_bounds(at)]

    def assign_rows(self, rows: Rows) -> None:
        """Assign each of ``rows`` to an earlier or a new group."""
        if not self.groups:
            self.groups = list(self.cluster_rows(rows)) if len(rows) > 1 else [rows]
            return
        centers = self.guard.centers(self.groups)
        blocks = self.similarity_blocks(rows, centers)
        best = np.concatenate([similarity.max(axis=1) for _, similarity in blocks])
        assigned = self.form_new_groups(rows, best)
        rest = np.array([row for row in rows.tolist() if row not in assigned], dtype=np.int64)
        self.join_earlier_groups(rest, centers)

    def similarity_blocks(self, rows: Rows, centers: Doubles) -> Iterator[tuple[Rows, Doubles]]:
        """Yield blocks of rows with their cosines to the centres; memory is linear in both."""
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows[start : start + BLOCK_ROWS]
            yield block, np.round(unit_rows(self.guard.grid[block]) @ centers.T, 6)

    def form_new_groups(self, rows: Rows, best: Doubles) -> set[int]:
        """Form groups of new rows that are closer to each other than to any earlier group.

        ``best`` contains the similarity of each row to the nearest earlier group, shape
        ``(n_rows,)``. Return the rows that now have a group.
        """
        if len(rows) < LEAST_NEW:
            return set()
        nearest = dict(zip(rows.tolist(), best.tolist(), strict=True))
        assigned: set[int] = set()
        for group in self.cluster_rows(rows):
            earlier = np.mean([nearest[row] for row in group.tolist()])
            if len(group) >= LEAST_NEW and mean_cosine_to_others(self.guard.grid[group]) > earlier:
                self.changed_groups.add(len(self.groups))
                self.groups.append(group)
                assigned.update(group.tolist())
                self.counts["founded_clusters"] += 1
        return assigned

    def join_earlier_groups(self, rows: Rows, centers: Doubles) -> None:
        """Add each row to the most similar earlier group, and to a changed one if about as similar.

        Changed groups are preferred and full ones avoided, unless another group is better by more
        than ``MARGIN``. ``centers`` are those of the earlier groups, shape ``(n_groups, n_dims)``.
        """
        earlier = self.groups[: len(centers)]
        changed = np.isin(np.arange(len(earlier)), list(self.changed_groups))
        sizes = np.array([len(group) for group in earlier])
        tokens = np.array([self.guard.count_tokens(group) for group in earlier])
        for block, similarities in self.similarity_blocks(rows, centers):
            for row, similarity in zip(block.tolist(), similarities, strict=True):
                full = sizes >= self.bounds.max_members
                full |= tokens + self.n_tokens[row] > self.bounds.max_tokens
                first = int((similarity + MARGIN * changed - MARGIN * full).argmax())
                suits = changed & (similarity >= similarity[first] - SOFT_MARGIN)
                suits[first] = False
                for at in (first, *np.flatnonzero(suits)[:1].tolist()):
                    changed[at] = True
                    sizes[at] += 1
                    tokens[at] += self.n_tokens[row]
                    self.groups[at] = np.append(self.groups[at], row)
        self.changed_groups.update(np.flatnonzero(changed).tolist())

    def halve_to_bounds(self, at: int) -> list[Rows]:
        """Halve a changed group until each part has at most ``max_members``; others stay."""
        waiting, done = [self.groups[at]], []
        while waiting:
            rows = waiting.pop()
            if at not in self.changed_groups or len(rows) <= self.bounds.max_members:
                done.append(np.sort(rows))
                continue
            self.counts["split_clusters"] += 1
            waiting += self.guard.halve_rows(rows)
        return done

    def cluster_rows(self, rows: Rows) -> list[Rows]:
        """Cluster ``rows`` with the layer's clusterer."""
        clusters = self.clusterer.cluster(self.vectors[rows], self.n_tokens[rows])
        return [rows[list(members)] for members in clusters.members]


def mean_cosine_to_others(grid: Grid) -> float:
    """Return the mean cosine of each row to the centre of the other rows."""
    rows = unit_rows(grid)
    rest = rows.sum(axis=0) - rows
    return float(np.einsum("ij,ij->i", rows, unit_rows(rest)).mean())


def match_earlier_clusters(
    members: Sequence[Sequence[int]], earlier: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Match each cluster with the earlier cluster that it continues, or -1; each at most once.

    The match has the largest Jaccard overlap of rows, and at least half of the cluster's earlier
    rows come from it.
    """
    holders: dict[int, list[int]] = {}
    for number, rows in enumerate(earlier):
        for row in rows:
            holders.setdefault(row, []).append(number)
    pairs: list[tuple[float, int, int]] = []
    for number, rows in enumerate(members):
        common = Counter(old for row in rows for old in holders.get(row, ()))
        known = sum(row in holders for row in rows)
        pairs += [
            (-shared / (known + len(earlier[old]) - shared), number, old)
            for old, shared in common.items()
            if 2 * shared >= known
        ]
    origins = [-1] * len(members)
    matched: set[int] = set()
    for _, number, old in sorted(pairs):
        if origins[number] < 0 and old not in matched:
            origins[number] = old
            matched.add(old)
    return tuple(origins)
