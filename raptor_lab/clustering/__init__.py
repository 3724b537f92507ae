"""Clusterers to compare with, as ``components.clusterer`` names them."""

from raptor_core.clustering.base import Clusterer
from raptor_core.settings import Settings

METHODS = {name: f"raptor_lab.clustering:make_{name}" for name in ("contiguous", "gmm")}
"""Import paths of the clusterers, by the names of the commands' options."""


def make_contiguous(settings: Settings) -> Clusterer:
    """Make windows of neighbouring nodes, the ablation of the paper's Table 9."""
    from raptor_lab.clustering.contiguous import ContiguousClusterer

    return ContiguousClusterer(settings.clustering)


def make_gmm(settings: Settings) -> Clusterer:
    """Make one mixture of the embeddings with a component for every ten nodes."""
    from raptor_lab.clustering.gmm import GmmClusterer

    return GmmClusterer(settings.clustering)
