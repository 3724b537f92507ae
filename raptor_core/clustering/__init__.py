"""Clustering of one layer into soft groups of nodes that will share a summary.

The paper's method is in ``raptor``, and with its authors' libraries in ``reference``; ``guards``
enforces the laws for every method. Methods for comparisons are in ``raptor_lab.clustering``.
Clustering of a whole tree is in ``raptor_core.tree.cluster``. Read ``base`` next.
"""

from raptor_core.clustering.base import Clusterer, Clusters
from raptor_core.clustering.raptor import RaptorClusterer
from raptor_core.entry_points import load_registered
from raptor_core.settings.trees import ClusteringSettings

__all__ = ["Clusterer", "Clusters", "make_clusterer"]
CLUSTERERS = "raptor_core.clustering"
"""Group of entry points; each is a function of the settings that returns a clusterer."""


def make_clusterer(settings: ClusteringSettings) -> Clusterer:
    """Return the clusterer that the settings name; MissingExtraError if its extra is missing."""
    name = settings.method
    if name == "raptor":
        return RaptorClusterer(settings)
    if name == "reference":
        from raptor_core.clustering.reference import ReferenceClusterer

        return ReferenceClusterer(settings)
    make = load_registered(CLUSTERERS, name, f'clustering.method = "{name}"')
    clusterer: Clusterer = make(settings)
    return clusterer
