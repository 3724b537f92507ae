"""Laws of a layer's clusters: token budget, minimum size, no repeats, fewer clusters than rows.

Every clusterer passes its groups through a ``ClusterGuard``. Every step terminates: a cluster over
its budget is split into proper parts, and merging only reduces the number of clusters. The last
resort is a construction that always exists.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.reduction import round_to_grid
from raptor_core.errors import ClusteringError
from raptor_core.identity import fingerprint
from raptor_core.settings.trees import ClusteringSettings
from raptor_core.vectors import Vectors

Grid = NDArray[np.float64]
Recluster = Callable[[Rows], list[Rows]]

MAX_RECLUSTERINGS = 4
BLOCK_ROWS = 512
MAX_SHARE = 0.75
MAX_OVERLAP = 1.5


@dataclass(frozen=True)
class GuardedClustererBase:
    """Base of clusterers whose groups a ``ClusterGuard`` corrects."""

    settings: ClusteringSettings

    method: ClassVar[str]
    used_settings: ClassVar[frozenset[str]]
    anchorable: ClassVar[bool] = True
    as_fitted: ClassVar[bool] = False
    keeps_fits: ClassVar[bool] = False
    """Whether large clusters of a first fit stay as a method to compare with has them."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the settings that this method reads."""
        read = self.settings.model_dump(include=set(self.used_settings))
        return fingerprint(f"clustering/{self.method}", {"version": 1} | read)

    def cluster(self, vectors: Vectors, n_tokens: NDArray[np.int64]) -> Clusters:
        """Cluster the rows of one layer; see ``Clusterer.cluster``."""
        if len(vectors) < 2:
            return Clusters(())
        guard = ClusterGuard(
            self._grid(vectors),
            n_tokens,
            self.settings.max_tokens,
            as_fitted=self.as_fitted,
            min_members=self.settings.min_members,
        )
        guard.check_feasibility()
        return self._cluster(guard.grid, guard)

    def _grid(self, vectors: Vectors) -> Grid:
        return round_to_grid(vectors)

    def _cluster(self, grid: Any, guard: "ClusterGuard") -> Clusters:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ClusterGuard:
    """Laws of one layer's clusters.

    Attributes:
        grid: vectors of the layer, shape ``(n, n_dims)``, all of about the same norm.
        n_tokens: tokens of each row, shape ``(n,)``.
        as_fitted: keep clusters that are subsets of others, even if there are more than half the
            rows.
        min_members: smallest number of rows in a cluster, 1 or 2.
    """

    grid: Grid
    n_tokens: NDArray[np.int64]
    max_tokens: int
    as_fitted: bool = False
    min_members: int = 2

    def check_feasibility(self) -> None:
        """Raise ClusteringError, naming the row, if no clustering can keep the laws."""
        if self.n_tokens.shape != (len(self.grid),):
            raise ClusteringError(
                f"expected n_tokens of shape ({len(self.grid)},), one per vector, got "
                f"{self.n_tokens.shape}"
            )
        broken = np.flatnonzero(~np.isfinite(self.grid).all(axis=1))
        if len(broken):
            raise ClusteringError(
                f"the vector of row {broken[0]} contains NaN or infinity ({len(broken)} of "
                f"{len(self.grid)} rows do): embed the layer again"
            )
        lightest, second = np.argsort(self.n_tokens, kind="stable")[:2]
        partner = np.full(len(self.n_tokens), self.n_tokens[lightest])
        partner[lightest] = self.n_tokens[second]
        alone = np.flatnonzero(self.n_tokens + partner > self.max_tokens)
        if len(alone):
            row = int(alone[self.n_tokens[alone].argmax()])
            raise ClusteringError(
                f"a cluster may have {self.max_tokens} tokens and needs two nodes, but row {row} "
                f"of {len(self.n_tokens)} has {self.n_tokens[row]} tokens and the lightest other "
                f"row {partner[row]} ({len(alone)} such rows): raise clustering.max_tokens, or "
                "lower chunking.max_tokens or summarizer.max_tokens"
            )

    def correct_groups(
        self, groups: Iterable[Rows], recluster: Recluster | None, details: dict[str, float]
    ) -> Clusters:
        """Correct the groups to keep every law of ``Clusters``, as close to ``groups`` as possible.

        Args:
            groups: rows of each cluster, ascending; together they cover all rows.
            recluster: splits a cluster that exceeds its budget into parts that cover it; None
                halves the cluster.
            details: numbers that explain the groups; those of this step are added.
        """
        n = len(self.n_tokens)
        counts: Counter[str] = Counter()
        clusters = self.split_over_budget(groups, recluster, counts)
        if self.min_members > 1:
            clusters = self.join_singletons(clusters, counts)
        if not self.as_fitted:
            clusters = drop_subsets(clusters, counts)
        clusters = self.merge_to_limit(
            clusters, n - 1 if self.as_fitted else max(1, n // 2), counts
        )
        if len(clusters) >= n:
            clusters = self.pair_with_lightest()
            counts["paired_rows"] = n
        members = sorted({tuple(rows.tolist()) for rows in clusters})
        details |= {key: float(value) for key, value in sorted(counts.items())}
        details |= {
            "clusters": float(len(members)),
            "mean_members": float(np.mean([len(rows) for rows in members])),
            "clusters_per_row": sum(len(rows) for rows in members) / n,
        }
        return Clusters(tuple(members), details)

    def count_tokens(self, rows: Rows) -> int:
        """Return the number of tokens of these rows together."""
        return int(self.n_tokens[rows].sum())

    def split_over_budget(
        self, groups: Iterable[Rows], recluster: Recluster | None, counts: Counter[str]
    ) -> list[Rows]:
        """Split the groups over the budget until each part fits or is a single row."""
        done: list[Rows] = []
        waiting = [(rows, 0) for rows in groups]
        while waiting:
            rows, depth = waiting.pop()
            if len(rows) == 1 or self.count_tokens(rows) <= self.max_tokens:
                done.append(rows)
                continue
            counts["budget_splits"] += 1
            parts = recluster(rows) if recluster and depth < MAX_RECLUSTERINGS else [rows]
            if not is_real_split(parts, len(rows)):
                parts = list(self.halve_rows(rows))
            waiting.extend((part, depth + 1) for part in parts)
        return done

    def halve_rows(self, rows: Rows) -> tuple[Rows, Rows]:
        """Cut rows into two parts of about equal tokens, across their longest direction."""
        points = self.grid[rows].astype(np.float64)
        far = points[squared_distance(points, points.mean(axis=0)).argmax()]
        direction = points[squared_distance(points, far).argmax()] - far
        order = np.argsort(np.einsum("ij,j->i", points, direction), kind="stable")
        running = np.cumsum(self.n_tokens[rows[order]])
        least = 2 if len(rows) >= 4 else 1
        cut = int(np.abs(2 * running - running[-1]).argmin()) + 1
        cut = min(max(cut, least), len(rows) - least)
        return np.sort(rows[order[:cut]]), np.sort(rows[order[cut:]])

    def join_singletons(self, groups: list[Rows], counts: Counter[str]) -> list[Rows]:
        """Join every single row to the nearest group with room, or else to another row."""
        kept = [rows for rows in groups if len(rows) > 1]
        missing = uncovered_rows(kept, len(self.n_tokens))
        if not len(missing):
            return kept
        counts["merged_singletons"] += len(missing)
        groups = [*kept, *missing[:, None]]
        centers = self.centers(groups)
        tokens = np.array([self.count_tokens(rows) for rows in groups])
        alive = np.ones(len(groups), dtype=bool)
        pairs: list[Rows] = []
        for start in range(len(kept), len(groups), BLOCK_ROWS):
            similarity = centers[start : start + BLOCK_ROWS] @ centers.T
            for lone, row_similarity in enumerate(similarity, start):
                if len(groups[lone]) > 1:
                    continue
                room = alive & (tokens + tokens[lone] <= self.max_tokens)
                room[lone] = False
                alive[lone] = False
                if not room.any():
                    pairs.append(self.pair_with_most_similar(int(groups[lone][0])))
                    continue
                target = int(np.where(room, row_similarity, -np.inf).argmax())
                groups[target] = np.union1d(groups[target], groups[lone])
                tokens[target] += tokens[lone]
        return [rows for rows, lives in zip(groups, alive, strict=True) if lives] + pairs

    def pair_with_most_similar(self, row: int) -> Rows:
        """Return the row with the most similar row that fits."""
        fits = self.n_tokens + self.n_tokens[row] <= self.max_tokens
        fits[row] = False
        similarity = self.grid @ self.grid[row]
        return np.sort(np.array([row, np.where(fits, similarity, -np.inf).argmax()]))

    def centers(self, groups: Sequence[Rows]) -> NDArray[np.float64]:
        """Return the unit mean direction of each group, shape ``(n_groups, n_dims)``."""
        sums = np.empty((len(groups), self.grid.shape[1]))
        for at, rows in enumerate(groups):
            sums[at] = self.grid[rows].sum(axis=0, dtype=np.float64)
        return unit_rows(sums)

    def merge_to_limit(self, groups: list[Rows], limit: int, counts: Counter[str]) -> list[Rows]:
        """Merge the most similar groups until at most ``limit`` are left, if the budget allows."""
        while len(groups) > limit:
            merged = self.merge_pairs(groups, len(groups) - limit)
            if len(merged) == len(groups):
                break
            counts["merged_clusters"] += len(groups) - len(merged)
            groups = drop_subsets(merged, counts)
        return groups

    def merge_pairs(self, groups: list[Rows], at_most: int) -> list[Rows]:
        """Merge up to ``at_most`` disjoint pairs of groups, the most similar first."""
        tokens = np.array([self.count_tokens(rows) for rows in groups])
        partner, similarity = self.most_similar_groups(groups, tokens)
        used: set[int] = set()
        merged: list[Rows] = []
        for first in np.argsort(-similarity, kind="stable").tolist():
            second = int(partner[first])
            if len(merged) == at_most or similarity[first] == -np.inf:
                break
            if first not in used and second not in used:
                used |= {first, second}
                merged.append(np.union1d(groups[first], groups[second]))
        return [rows for at, rows in enumerate(groups) if at not in used] + merged

    def most_similar_groups(
        self, groups: list[Rows], tokens: NDArray[np.int64]
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Return for each group the most similar group that fits, and the similarity."""
        centers = self.centers(groups)
        partner = np.zeros(len(groups), dtype=np.int64)
        best = np.full(len(groups), -np.inf)
        for start in range(0, len(groups), BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, len(groups))
            similarity = centers[start:stop] @ centers.T
            similarity[tokens[start:stop, None] + tokens > self.max_tokens] = -np.inf
            similarity[np.arange(stop - start), np.arange(start, stop)] = -np.inf
            partner[start:stop] = similarity.argmax(axis=1)
            best[start:stop] = similarity.max(axis=1)
        return partner, best

    def pair_with_lightest(self) -> list[Rows]:
        """Pair each row with the lightest row: fewer pairs than rows, whatever the budget."""
        lightest = int(self.n_tokens.argmin())
        rest = [row for row in range(len(self.n_tokens)) if row != lightest]
        return [np.array(sorted((row, lightest))) for row in rest]


def is_real_split(parts: Sequence[Rows], n_rows: int) -> bool:
    """Return whether parts of ``n_rows`` rows are small and disjoint enough for it to end."""
    largest = max(len(part) for part in parts)
    return largest <= MAX_SHARE * n_rows and sum(map(len, parts)) <= MAX_OVERLAP * n_rows


def squared_distance(points: NDArray[np.float64], to: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared Euclidean distance of points ``(n, d)`` to one point, shape ``(n,)``."""
    gaps = points - to
    result: NDArray[np.float64] = np.einsum("ij,ij->i", gaps, gaps)
    return result


def unit_rows(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return ``rows``, shape ``(n, d)``, each scaled to norm 1."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.maximum(norms, 1e-12)[:, None])


def uncovered_rows(groups: Sequence[Rows], n_rows: int) -> Rows:
    """Return the rows, of ``n_rows``, that are in none of the groups, ascending."""
    covered = np.zeros(n_rows, dtype=bool)
    for rows in groups:
        covered[rows] = True
    return np.flatnonzero(~covered)


def drop_subsets(groups: list[Rows], counts: Counter[str]) -> list[Rows]:
    """Drop groups whose rows are all in another group: their summary would add nothing."""
    distinct = sorted(
        {tuple(rows.tolist()) for rows in groups}, key=lambda rows: (-len(rows), rows)
    )
    holders: dict[int, list[frozenset[int]]] = {}
    kept: list[Rows] = []
    for rows in distinct:
        rarest = min(rows, key=lambda row: len(holders.get(row, ())))
        if any(members.issuperset(rows) for members in holders.get(rarest, ())):
            continue
        kept.append(np.array(rows))
        row_set = frozenset(rows)
        for row in rows:
            holders.setdefault(row, []).append(row_set)
    counts["dropped_subsets"] += len(groups) - len(kept)
    return kept
