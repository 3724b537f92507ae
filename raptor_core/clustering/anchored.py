"""Anchored clustering: unchanged rows keep their clusters, new rows are placed beside them.

A fit looks at all rows at once, so one changed row moves most of the others: it costs most
summaries again. Here only what a change touches is looked at. A new row joins the clusters that
it is most similar to, of those about equally similar one that is touched anyhow; new rows that
resemble nothing old form clusters among themselves; a touched cluster over its bounds is halved,
for each part costs a summary, and a fit of it would have some six; one that lost all but one row is
merged into the nearest.
Compare adRAP (arXiv:2410.01736) and EraRAG (arXiv:2506.20963), which handle growth only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusterer, Rows
from raptor_core.clustering.guards import BLOCK_ROWS, Grid, Guard, uncovered, unit
from raptor_core.clustering.reduction import on_grid
from raptor_core.vectors import Vectors

MARGIN = 0.05
"""A cluster that is touched anyhow is preferred while its similarity is so close to the best."""

SOFT_MARGIN = 0.005
"""A second cluster that is touched anyhow and so close to the first takes the new row, too."""

LEAST_NEW = 3
"""Fewer new rows than these make no cluster of their own."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a cluster may hold: ``max_members`` rows (after growth) and ``max_tokens`` tokens."""

    max_members: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Anchored:
    """Clusters of a layer after a change.

    ``members`` are as in ``Clusters``. ``origins[i]`` is the number of the earlier cluster that
    cluster ``i`` goes on from, or -1. ``details`` counts rows placed and outliers, clusters split
    and merged.
    """

    members: tuple[tuple[int, ...], ...]
    origins: tuple[int, ...]
    details: dict[str, float] = field(default_factory=dict)


def anchored(
    vectors: Vectors,
    n_tokens: NDArray[np.int64],
    kept: Sequence[Sequence[int]],
    touched: Collection[int],
    clusterer: Clusterer,
    bounds: Bounds,
) -> Anchored:
    """Clusters over ``vectors``, shape ``(n, n_dims)``, near the earlier ones.

    Args:
        vectors: unit rows of the layer as it is now, at least two.
        n_tokens: tokens of each row, shape ``(n,)``.
        kept: for each earlier cluster the rows that are left of it, ascending, maybe none; at
            least one cluster has some.
        touched: numbers of earlier clusters whose text changes anyhow.
        clusterer: of the layer, for new rows that resemble nothing old.
        bounds: of a cluster.

    Raises:
        ClusteringError: no clustering can keep the token budget.
    """
    grid = on_grid(vectors)
    guard = Guard(grid, n_tokens, bounds.max_tokens)
    guard.check()
    run = _Run(vectors, n_tokens, guard, clusterer, bounds)
    groups = run.placed(kept, touched)
    found = guard.finish(groups, run.parts, {})
    details = {key: float(value) for key, value in sorted(run.counts.items())}
    origins = match_origins(found.members, kept)
    return Anchored(found.members, origins, {**found.details, **details})


@dataclass(eq=False)
class _Run:
    """One layer on its way. ``warm`` are the groups whose summary is made again anyhow."""

    vectors: Vectors
    n_tokens: NDArray[np.int64]
    guard: Guard
    clusterer: Clusterer
    bounds: Bounds
    groups: list[Rows] = field(default_factory=list)
    warm: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def placed(self, kept: Sequence[Sequence[int]], touched: Collection[int]) -> list[Rows]:
        """Groups that cover all rows, none that grew over its bounds."""
        for number, rows in enumerate(kept):
            if len(rows) > 1:
                if number in touched:
                    self.warm.add(len(self.groups))
                self.groups.append(np.array(rows, dtype=np.int64))
        self.counts["merged_remnants"] = sum(len(rows) == 1 for rows in kept)
        homeless = uncovered(self.groups, len(self.n_tokens))
        self.counts["placed_rows"] = len(homeless)
        if len(homeless):
            self.settle(homeless)
        return [part for at in range(len(self.groups)) for part in self.bounded(at)]

    def settle(self, rows: Rows) -> None:
        """Give every one of ``rows`` a group, old or new."""
        if not self.groups:
            self.groups = list(self.parts(rows)) if len(rows) > 1 else [rows]
            return
        centers = self.guard.centers(self.groups)
        best = np.concatenate([found.max(axis=1) for _, found in self.similarities(rows, centers)])
        alone = self.found_groups(rows, best)
        lone = np.array([row for row in rows.tolist() if row not in alone], dtype=np.int64)
        self.join(lone, centers)

    def similarities(self, rows: Rows, centers: Doubles) -> Iterator[tuple[Rows, Doubles]]:
        """Rows in blocks, with their cosines to the centres; memory is linear in both."""
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows[start : start + BLOCK_ROWS]
            yield block, np.round(unit(self.guard.grid[block]) @ centers.T, 6)

    def found_groups(self, rows: Rows, best: Doubles) -> set[int]:
        """Make groups of the new rows that are closer to each other than to any old group.

        ``best`` is each row's similarity to the old group nearest to it. Returns the rows that
        now have a group.
        """
        if len(rows) < LEAST_NEW:
            return set()
        nearest = dict(zip(rows.tolist(), best.tolist(), strict=True))
        housed: set[int] = set()
        for part in self.parts(rows):
            old = np.mean([nearest[row] for row in part.tolist()])
            if len(part) >= LEAST_NEW and mutual_similarity(self.guard.grid[part]) > old:
                self.warm.add(len(self.groups))
                self.groups.append(part)
                housed.update(part.tolist())
                self.counts["founded_clusters"] += 1
        return housed

    def join(self, rows: Rows, centers: Doubles) -> None:
        """Add each row to the old group that suits best, and to a warm one that suits as well.

        ``centers`` are those of the old groups. A warm group is preferred, a full one avoided,
        while the others are no better than ``MARGIN``.
        """
        old = self.groups[: len(centers)]
        warm = np.isin(np.arange(len(old)), list(self.warm))
        sizes = np.array([len(group) for group in old])
        tokens = np.array([self.guard.tokens(group) for group in old])
        for block, found in self.similarities(rows, centers):
            for row, similarity in zip(block.tolist(), found, strict=True):
                full = sizes >= self.bounds.max_members
                full |= tokens + self.n_tokens[row] > self.bounds.max_tokens
                first = int((similarity + MARGIN * warm - MARGIN * full).argmax())
                suits = warm & (similarity >= similarity[first] - SOFT_MARGIN)
                suits[first] = False
                for at in (first, *np.flatnonzero(suits)[:1].tolist()):
                    warm[at] = True
                    sizes[at] += 1
                    tokens[at] += self.n_tokens[row]
                    self.groups[at] = np.append(self.groups[at], row)
        self.warm.update(np.flatnonzero(warm).tolist())

    def bounded(self, at: int) -> list[Rows]:
        """The group, or halves of it that keep ``max_members`` when its summary is made again."""
        waiting, done = [self.groups[at]], []
        while waiting:
            rows = waiting.pop()
            if at not in self.warm or len(rows) <= self.bounds.max_members:
                done.append(np.sort(rows))
                continue
            self.counts["split_clusters"] += 1
            waiting += self.guard.halves(rows)
        return done

    def parts(self, rows: Rows) -> list[Rows]:
        """``rows`` by the layer's own method."""
        found = self.clusterer.cluster(self.vectors[rows], self.n_tokens[rows])
        return [rows[list(members)] for members in found.members]


def mutual_similarity(grid: Grid) -> float:
    """Mean cosine of each row to the centre of the others."""
    rows = unit(grid)
    rest = rows.sum(axis=0) - rows
    return float(np.einsum("ij,ij->i", rows, unit(rest)).mean())


def match_origins(
    members: Sequence[Sequence[int]], earlier: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """For each cluster the earlier one that it goes on from, or -1; no earlier one twice.

    It is the one with most rows in common relative to all rows of both, where at least half of
    the cluster's earlier rows come from it.
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
    taken: set[int] = set()
    for _, number, old in sorted(pairs):
        if origins[number] < 0 and old not in taken:
            origins[number] = old
            taken.add(old)
    return tuple(origins)
