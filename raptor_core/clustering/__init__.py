"""Clustering of one layer into soft groups of nodes that will share a summary.

The paper's method is in ``raptor``, and with its authors' libraries in ``reference``; ``guards``
enforces the laws for every method. Methods for comparisons are in ``raptor_lab.clustering``.
Clustering of a whole tree is in ``raptor_core.tree.cluster``. Read ``base`` next.
"""

from raptor_core.clustering.base import Clusterer, Clusters
from raptor_core.clustering.raptor import RaptorClusterer
from raptor_core.settings.trees import ClusteringSettings

__all__ = ["Clusterer", "Clusters", "make_clusterer"]


def make_clusterer(settings: ClusteringSettings) -> Clusterer:
    """Return the clusterer that the settings name."""
    if settings.method == "raptor":
        return RaptorClusterer(settings)
    from raptor_core.clustering.reference import ReferenceClusterer

    return ReferenceClusterer(settings)
