"""What clustering a layer yields, and the seam for clusterers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raptor_core.vectors import Vectors

Rows = NDArray[np.int64]
"""Numbers of rows."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Soft clusters of one layer.

    ``members[i]`` are the row numbers of cluster ``i``, ascending; the clusters are ordered by
    their members and no two are equal. For ``n >= 2`` rows: every row is in at least one
    cluster, every cluster has at least two members and at most ``max_tokens`` tokens, and there
    are fewer clusters than rows. For ``n < 2`` there is no cluster.
    ``responsibilities[i]`` are those of cluster ``i``'s component for its members, in their order;
    empty where no mixture was fitted, or the cluster is not as its component was.
    ``details`` explains the result (components chosen, threshold, rows forced, splits), numbers
    only, for the layer's metadata.
    """

    members: tuple[tuple[int, ...], ...]
    details: Mapping[str, float] = field(default_factory=dict)
    responsibilities: tuple[tuple[float, ...], ...] = ()


class Clusterer(Protocol):
    """Groups the nodes of one layer, softly."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the method, its settings and its seed."""

    @property
    def anchorable(self) -> bool:
        """Whether a row's clusters can stay as they are while other rows come and go."""

    def cluster(self, vectors: Vectors, n_tokens: NDArray[np.int64]) -> Clusters:
        """Cluster ``vectors`` of shape ``(n_nodes, n_dims)``, rows in the layer's order.

        ``n_tokens`` has shape ``(n_nodes,)``. Deterministic: the same input gives the same
        clusters, byte for byte, and no global random state is read or changed.

        Raises:
            ClusteringError: no clustering can keep the token budget (two rows exceed it).
        """
