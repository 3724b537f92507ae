"""Settings of clustering, of a tree's layers, of the corpus tree and of rebuilds."""

from typing import Literal

from pydantic import Field

from raptor_core.settings.base import SettingsSection, setting


class ClusteringSettings(SettingsSection):
    """Clustering of a layer (paper, section 3)."""

    method: Literal["raptor", "reference"] = setting("raptor", rebuilds=True)
    """"raptor" is the paper's method (UMAP and Gaussian mixtures) in our own, faster code;
    "reference" is the same with umap-learn and scikit-learn, and keeps clusters as fitted.
    """
    dimensions: int = setting(10, ge=2, le=64, rebuilds=True)
    """Dimensions after the reduction."""
    local_neighbors: int = setting(10, ge=2, le=200, rebuilds=True)
    """Number of UMAP neighbours in local clustering."""
    threshold: float = setting(0.1, gt=0, lt=1, rebuilds=True)
    """Membership threshold: the lowest responsibility with which a node joins a cluster."""
    max_components: int = setting(50, ge=1, le=1000, rebuilds=True)
    """Maximum number of mixture components to try."""
    patience: int = setting(6, ge=0, rebuilds=True)
    """Stop after so many numbers of components without a lower BIC; 0 tries all."""
    epochs: int = setting(100, ge=0, le=2000, rebuilds=True)
    """Epochs of the UMAP layout; 0 lets umap-learn choose."""
    max_tokens: int = setting(3500, ge=64, rebuilds=True)
    """Maximum tokens of a cluster's texts; a larger cluster is split by clustering it again."""
    seed: int = setting(224, ge=0, lt=2**32, rebuilds=True)
    """Seed of all random numbers."""

    @property
    def min_members(self) -> int:
        """Minimum number of nodes in a cluster: 1 for "reference", else 2."""
        return 1 if self.method == "reference" else 2


class TreeSettings(SettingsSection):
    """Height of a tree."""

    max_layers: int = setting(5, ge=1, le=12, is_common=True, rebuilds=True)
    """Maximum number of summary layers."""
    top_nodes: int = setting(1, ge=1, rebuilds=True)
    """The first layer with at most this many nodes is the top layer."""


class CorpusTreeSettings(SettingsSection):
    """Corpus tree, which summarizes the whole corpus, over the top nodes of all trees."""

    enabled: bool = setting(False, is_common=True)
    """Build it after the trees; its summaries cost as much as others."""
    min_trees: int = Field(3, ge=2)
    """Minimum number of trees for which it is built."""


class RebuildSettings(SettingsSection):
    """Rebuilds of trees whose documents changed."""

    anchored: bool = True
    """Keep unchanged nodes in their clusters, and place new nodes into these. Otherwise, a changed
    layer is clustered from scratch, and most of its summaries must be written again.
    """
    max_members: int = Field(24, ge=4, le=1000)
    """Maximum number of members of a cluster; a larger one is split, unless "reference" made it."""
