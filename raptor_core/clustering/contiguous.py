"""Windows of neighbouring nodes: the paper's ablation without clustering (section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusters
from raptor_core.clustering.groups import Rows
from raptor_core.clustering.guards import Guard
from raptor_core.clustering.reduction import on_grid
from raptor_core.identity import fingerprint
from raptor_core.settings.trees import ClusteringSettings
from raptor_core.vectors import Vectors

VERSION = 1
READ_SETTINGS = {"window", "max_tokens"}


@dataclass(frozen=True)
class ContiguousClusterer:
    """Disjoint runs of ``window`` rows in the layer's order, shorter where the budget asks."""

    settings: ClusteringSettings

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the settings that this method reads."""
        read = self.settings.model_dump(include=READ_SETTINGS)
        return fingerprint("clustering/contiguous", {"version": VERSION} | read)

    @property
    def anchorable(self) -> bool:
        """An insertion moves every window after it."""
        return False

    def cluster(self, vectors: Vectors, n_tokens: NDArray[np.int64]) -> Clusters:
        """See ``Clusterer.cluster``; the vectors matter only for a row that no window takes."""
        if len(vectors) < 2:
            return Clusters(())
        guard = Guard(on_grid(vectors), n_tokens, self.settings.max_tokens)
        guard.check()
        groups = windows(n_tokens, self.settings.window, self.settings.max_tokens)
        details = {"window": float(self.settings.window)}
        return guard.finish(groups, lambda rows: list(guard.halves(rows)), details)


def windows(n_tokens: NDArray[np.int64], size: int, max_tokens: int) -> list[Rows]:
    """Runs of at most ``size`` rows and ``max_tokens`` tokens, filled from the first row on."""
    runs: list[list[int]] = []
    tokens = 0
    for row, more in enumerate(n_tokens.tolist()):
        if not runs or len(runs[-1]) == size or tokens + more > max_tokens:
            runs.append([])
            tokens = 0
        runs[-1].append(row)
        tokens += more
    for before, lone in pairwise(runs):
        if len(lone) == 1:
            accompany(before, lone, n_tokens, max_tokens)
    return [np.array(run) for run in runs if run]


def accompany(
    before: list[int], lone: list[int], n_tokens: NDArray[np.int64], max_tokens: int
) -> None:
    """Give the one row of ``lone`` a neighbour from ``before``, or put it there, if it fits."""
    if len(before) > 2 and n_tokens[[before[-1], lone[0]]].sum() <= max_tokens:
        lone.insert(0, before.pop())
    elif n_tokens[before + lone].sum() <= max_tokens:
        before.append(lone.pop())
