"""Windows of neighbouring nodes: the paper's ablation without clustering (section 4)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.base import Clusters, Rows
from raptor_core.clustering.guards import ClusterGuard, Grid, GuardedClustererBase


@dataclass(frozen=True)
class ContiguousClusterer(GuardedClustererBase):
    """Clusterer that makes windows of ``size`` rows in the layer's order, or less over budget."""

    size: int = 7

    method = "contiguous"
    used_settings = frozenset({"max_tokens"})
    anchorable = False  # an insertion moves every window after it

    @property
    def fingerprint(self) -> str:
        """See ``Clusterer.fingerprint``."""
        return f"{super().fingerprint}-{self.size}"

    def _cluster(self, grid: Grid, guard: ClusterGuard) -> Clusters:  # noqa: ARG002 - the order decides
        groups = divide_into_windows(guard.n_tokens, self.size, self.settings.max_tokens)
        return guard.correct_groups(groups, None, {"cluster_size": float(self.size)})


def divide_into_windows(n_tokens: NDArray[np.int64], size: int, max_tokens: int) -> list[Rows]:
    """Divide the rows in order into windows of at most ``size`` rows and ``max_tokens`` tokens."""
    runs: list[list[int]] = []
    tokens = 0
    for row, more in enumerate(n_tokens.tolist()):
        if not runs or len(runs[-1]) == size or tokens + more > max_tokens:
            runs.append([])
            tokens = 0
        runs[-1].append(row)
        tokens += more
    for previous, lone in pairwise(runs):
        if len(lone) != 1:
            continue
        if len(previous) > 2 and n_tokens[[previous[-1], lone[0]]].sum() <= max_tokens:
            lone.insert(0, previous.pop())  # a pair
        elif n_tokens[previous + lone].sum() <= max_tokens:
            previous.append(lone.pop())
    return [np.array(run) for run in runs if run]
