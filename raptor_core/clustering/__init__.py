"""Clustering of one layer into soft groups of nodes that will share a summary.

Each method has a module of its own; ``guards`` holds the laws that all of them keep. The clusters
of a whole tree are in ``raptor_core.tree.cluster``. Read ``base`` next.
"""

from __future__ import annotations

from raptor_core.clustering.base import Clusterer, Clusters
from raptor_core.clustering.contiguous import ContiguousClusterer
from raptor_core.clustering.gmm import GmmClusterer
from raptor_core.clustering.kmeans import KMeansClusterer
from raptor_core.clustering.raptor import RaptorClusterer, ReferenceClusterer
from raptor_core.settings.trees import ClusteringSettings

__all__ = ["Clusterer", "Clusters", "make_clusterer"]

_CLUSTERERS = (ContiguousClusterer, KMeansClusterer, GmmClusterer, RaptorClusterer)


def make_clusterer(settings: ClusteringSettings) -> Clusterer:
    """Return the clusterer that ``settings.method`` and ``settings.engine`` name."""
    if settings.method == "raptor" and settings.engine == "reference":
        return ReferenceClusterer(settings)
    return {clusterer.method: clusterer for clusterer in _CLUSTERERS}[settings.method](settings)
