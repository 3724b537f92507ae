"""Anchored clustering: unchanged rows keep their clusters, new rows are placed beside them.

A fit looks at all rows at once, so one changed row moves most of the others: it costs most
summaries again. Here only what a change touches is looked at. A new row joins the clusters that
it is most similar to, of those about equally similar one that is touched anyhow; new rows that
resemble nothing old form clusters among themselves; a touched cluster that grew over its bounds
is split by the layer's own method; one that lost all but one row is merged into the nearest. The
summaries of touched clusters are made again anyhow, so their rows are clustered anew, together,
where that is more cohesive: of a layer that is touched everywhere that is a whole fit.
Compare adRAP (arXiv:2410.01736) and EraRAG (arXiv:2506.20963), which handle growth only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusterer
from raptor_core.clustering.groups import Rows, cohesion, divides, match_origins
from raptor_core.clustering.guards import BLOCK_ROWS, Grid, Guard
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
    """What a cluster may hold, and how far it may drift.

    ``max_members`` are rows, ``max_tokens`` their tokens; ``max_loss`` is the share by which the
    cohesion of touched clusters may be under that of a fit of their rows.
    """

    max_members: int
    max_tokens: int
    max_loss: float = 0.02


@dataclass(frozen=True, slots=True)
class Anchored:
    """Clusters of a layer after a change.

    ``members`` are as in ``Clusters``. ``origins[i]`` is the number of the earlier cluster that
    cluster ``i`` goes on from, or -1. ``details`` counts rows placed, clusters split, merged and
    refitted, and the rows of the refitted ones. ``drift`` is what a fit of the touched clusters
    would add to the layer's cohesion, and was not worth it.
    """

    members: tuple[tuple[int, ...], ...]
    origins: tuple[int, ...]
    details: dict[str, float] = field(default_factory=dict)
    drift: float = 0.0


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
        clusterer: splits what grew over its bounds.
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
    drift = run.missed / sum(map(len, found.members))
    return Anchored(found.members, origins, {**found.details, **details}, drift)


@dataclass(eq=False)
class _Run:
    """One layer on its way.

    ``warm`` are the groups whose summary is made again anyhow; ``missed`` is the cohesion that
    their fit would add, summed over its rows.
    """

    vectors: Vectors
    n_tokens: NDArray[np.int64]
    guard: Guard
    clusterer: Clusterer
    bounds: Bounds
    groups: list[Rows] = field(default_factory=list)
    warm: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    missed: float = 0.0

    def placed(self, kept: Sequence[Sequence[int]], touched: Collection[int]) -> list[Rows]:
        """Groups that cover all rows, none that grew over its bounds."""
        for number, rows in enumerate(kept):
            if len(rows) > 1:
                if number in touched:
                    self.warm.add(len(self.groups))
                self.groups.append(np.array(rows, dtype=np.int64))
        self.counts["merged_remnants"] = sum(len(rows) == 1 for rows in kept)
        homeless = self.homeless()
        self.counts["placed_rows"] = len(homeless)
        if len(homeless):
            self.settle(homeless)
        cold = [rows for at, rows in enumerate(self.groups) if at not in self.warm]
        warm = [part for at in sorted(self.warm) for part in self.bounded(self.groups[at])]
        return cold + self.refitted(warm)

    def refitted(self, groups: list[Rows]) -> list[Rows]:
        """The touched groups, or a fit of their rows where it is so much more cohesive."""
        if len(groups) < 2:
            return groups
        rows = np.unique(np.concatenate(groups))
        fitted = [part for found in self.parts(rows) for part in self.bounded(found)]
        now, anew = (cohesion(self.vectors, found) for found in (groups, fitted))
        if now >= anew * (1 - self.bounds.max_loss):
            self.missed = max(anew - now, 0.0) * len(rows)
            return groups
        self.counts["refitted_clusters"] = len(groups)
        self.counts["refitted_rows"] = len(rows)
        return fitted

    def homeless(self) -> Rows:
        """Rows that are in no group."""
        covered = np.zeros(len(self.n_tokens), dtype=bool)
        for rows in self.groups:
            covered[rows] = True
        return np.flatnonzero(~covered)

    def settle(self, rows: Rows) -> None:
        """Give every one of ``rows`` a group, old or new."""
        if not self.groups:
            self.groups = list(self.parts(rows)) if len(rows) > 1 else [rows]
            return
        centers = self.guard.centers(self.groups)
        best = np.concatenate([found.max(axis=1) for _, found in self.similarities(rows, centers)])
        alone = self.found_groups(rows, best)
        old = _OldGroups(self.groups, self.warm, self.guard, self.bounds, len(centers))
        lone = np.array([row for row in rows.tolist() if row not in alone], dtype=np.int64)
        for block, found in self.similarities(lone, centers):
            for row, similarity in zip(block.tolist(), found, strict=True):
                old.join(row, similarity)
        self.warm.update(np.flatnonzero(old.warm).tolist())

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

    def bounded(self, rows: Rows) -> list[Rows]:
        """The group, or its parts where it is over its bounds."""
        waiting, done = [rows], []
        while waiting:
            rows = waiting.pop()
            if len(rows) <= self.bounds.max_members:
                done.append(np.sort(rows))
                continue
            self.counts["split_clusters"] += 1
            parts = self.parts(rows)
            waiting += parts if divides(parts, len(rows)) else self.guard.halves(rows)
        return done

    def parts(self, rows: Rows) -> list[Rows]:
        """``rows`` by the layer's own method."""
        found = self.clusterer.cluster(self.vectors[rows], self.n_tokens[rows])
        return [rows[list(members)] for members in found.members]


class _OldGroups:
    """The groups that new rows may join: what each holds, as arrays, so that a row is one pass."""

    def __init__(
        self, groups: list[Rows], warm: Collection[int], guard: Guard, bounds: Bounds, n: int
    ) -> None:
        self.warm = np.zeros(n, dtype=bool)
        self.warm[[at for at in warm if at < n]] = True
        self._groups = groups
        self._guard = guard
        self._bounds = bounds
        self._sizes = np.array([len(rows) for rows in groups[:n]])
        self._tokens = np.array([guard.tokens(rows) for rows in groups[:n]])

    def join(self, row: int, similarity: Doubles) -> None:
        """Add a row to the group that suits best, and to a warm one that suits as well.

        ``similarity`` is to each group's centre, shape ``(n_groups,)``. A warm group is preferred,
        a full one avoided, while the others are no better than ``MARGIN``.
        """
        full = self._sizes >= self._bounds.max_members
        full |= self._tokens + self._guard.n_tokens[row] > self._bounds.max_tokens
        first = int((similarity + MARGIN * self.warm - MARGIN * full).argmax())
        suits = self.warm & (similarity >= similarity[first] - SOFT_MARGIN)
        suits[first] = False
        for at in (first, *np.flatnonzero(suits)[:1].tolist()):
            self.warm[at] = True
            self._sizes[at] += 1
            self._tokens[at] += self._guard.n_tokens[row]
            self._groups[at] = np.append(self._groups[at], row)


def unit(grid: Grid) -> Doubles:
    """Rows of norm 1."""
    norms = np.sqrt(np.einsum("ij,ij->i", grid, grid))
    return np.asarray(grid / np.maximum(norms, 1e-12)[:, None])


def mutual_similarity(grid: Grid) -> float:
    """Mean cosine of each row to the centre of the others."""
    rows = unit(grid)
    rest = rows.sum(axis=0) - rows
    return float(np.einsum("ij,ij->i", rows, unit(rest)).mean())
