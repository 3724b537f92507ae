"""Clusterers for comparisons, which ``components.clusterer`` may name."""

from raptor_core.clustering.base import Clusterer
from raptor_core.settings import Settings

METHODS = {name: f"raptor_lab.clustering:make_{name}" for name in ("contiguous", "gmm")}
"""Import paths of the clusterers, by their names in options of commands."""


def make_contiguous(settings: Settings) -> Clusterer:
    """Make the clusterer for windows of neighbouring nodes, the ablation of the paper's Table 9."""
    from raptor_lab.clustering.contiguous import ContiguousClusterer

    return ContiguousClusterer(settings.clustering)


def make_gmm(settings: Settings) -> Clusterer:
    """Make the clusterer that fits a mixture to the embeddings, a component for every ten nodes."""
    from raptor_lab.clustering.gmm import GmmClusterer

    return GmmClusterer(settings.clustering)
