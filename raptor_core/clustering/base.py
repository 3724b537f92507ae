"""Clusters of one layer, and the interface of a clusterer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raptor_core.vectors import Vectors

Rows = NDArray[np.int64]
"""Row numbers, shape ``(n,)``."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Soft clusters of one layer.

    For ``n >= 2`` rows, every row is in at least one cluster. Every cluster has at least
    ``ClusteringSettings.min_members`` members and at most ``max_tokens`` tokens. There are fewer
    clusters than rows. For ``n < 2`` there is no cluster.

    Attributes:
        members: row numbers of each cluster, ascending; the clusters are sorted by their members
            and no two are equal.
        details: numbers that explain the result (components, threshold, forced rows, splits), for
            the metadata of the layer.
        responsibilities: responsibilities of each cluster's component for its members, in the same
            order; empty if no mixture was fitted or the cluster differs from its component.
    """

    members: tuple[tuple[int, ...], ...]
    details: Mapping[str, float] = field(default_factory=dict)
    responsibilities: tuple[tuple[float, ...], ...] = ()


class Clusterer(Protocol):
    """Interface of a method that groups the nodes of one layer softly."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the method, its settings and its seed."""

    @property
    def anchorable(self) -> bool:
        """Whether the clusters of a row can stay while other rows are added and removed."""

    def cluster(self, vectors: Vectors, n_tokens: NDArray[np.int64]) -> Clusters:
        """Cluster the rows of one layer.

        The result is deterministic: the same input gives the same clusters, byte for byte. The
        method neither reads nor changes a global random state.

        Args:
            vectors: embeddings in the layer's order, shape ``(n_nodes, n_dims)``.
            n_tokens: tokens of each node, shape ``(n_nodes,)``.

        Raises:
            ClusteringError: no clustering can keep the token budget (two rows exceed it).
        """
