"""Clustering of one layer: soft groups of nodes that will share a summary."""

from __future__ import annotations

from raptor_core.clustering.base import Clusterer, Clusters
from raptor_core.settings.trees import ClusteringSettings

__all__ = ["Clusterer", "Clusters", "make_clusterer"]


def make_clusterer(settings: ClusteringSettings) -> Clusterer:
    """The clusterer that ``settings.method`` and ``settings.engine`` name."""
    if settings.method == "contiguous":
        from raptor_core.clustering.contiguous import ContiguousClusterer

        return ContiguousClusterer(settings)
    if settings.method == "kmeans":
        from raptor_core.clustering.kmeans import KMeansClusterer

        return KMeansClusterer(settings)
    if settings.method == "gmm":
        from raptor_core.clustering.gmm import GmmClusterer

        return GmmClusterer(settings)
    if settings.engine == "reference":
        from raptor_core.clustering.reference import ReferenceClusterer

        return ReferenceClusterer(settings)
    from raptor_core.clustering.raptor import RaptorClusterer

    return RaptorClusterer(settings)
