"""Clusterers by name, and windows of few nodes, which are quick to make."""

from __future__ import annotations

from raptor_core.clustering import Clusterer
from raptor_core.clustering.raptor import RaptorClusterer
from raptor_core.settings import Settings
from raptor_core.settings.trees import ClusteringSettings
from raptor_lab.clustering.contiguous import ContiguousClusterer
from raptor_lab.clustering.gmm import GmmClusterer

_CLASSES = {"raptor": RaptorClusterer, "contiguous": ContiguousClusterer, "gmm": GmmClusterer}

WINDOWS = {"clusterer": "raptor_lab.clustering:make_contiguous"}
PAIRS = {"clusterer": "support.clusterers:pairs"}
FOURS = {"clusterer": "support.clusterers:fours"}
"""Settings of ``[components]``."""


def clusterer_of(method: str, **settings: object) -> Clusterer:
    """Make a clusterer by its name."""
    return _CLASSES[method](ClusteringSettings(**settings))


def named(method: str) -> dict[str, str]:
    """The settings of ``[components]`` that name a clusterer of a name."""
    return {} if method == "raptor" else {"clusterer": f"raptor_lab.clustering:make_{method}"}


def pairs(settings: Settings) -> Clusterer:
    return ContiguousClusterer(settings.clustering, 2)


def fours(settings: Settings) -> Clusterer:
    return ContiguousClusterer(settings.clustering, 4)
