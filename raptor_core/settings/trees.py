"""Settings of clustering, of the layers of a tree, of the corpus tree and of rebuilds."""

from typing import Literal

from pydantic import Field

from raptor_core.settings.base import Part, setting


class ClusteringSettings(Part):
    """Clustering of a layer (paper, section 3)."""

    method: Literal["raptor", "reference"] = setting("raptor", rebuilds=True)
    """"raptor" is the paper's UMAP and Gaussian mixtures by our kernels, "reference" the same by
    umap-learn and scikit-learn, with clusters as they were fitted.
    """
    dimensions: int = setting(10, ge=2, le=64, rebuilds=True)
    """Dimensions after the reduction."""
    local_neighbors: int = setting(10, ge=2, le=200, rebuilds=True)
    """Neighbours of UMAP in the local step."""
    threshold: float = setting(0.1, gt=0, lt=1, rebuilds=True)
    """Membership threshold, the least responsibility of a component for a node."""
    max_components: int = setting(50, ge=1, le=1000, rebuilds=True)
    """Most components that are tried."""
    patience: int = setting(6, ge=0, rebuilds=True)
    """Number of component counts without a better BIC after which the search stops; 0 tries all.
    """
    epochs: int = setting(100, ge=0, le=2000, rebuilds=True)
    """Epochs of the UMAP layout; 0 is umap-learn's choice."""
    max_tokens: int = setting(3500, ge=64, rebuilds=True)
    """Most tokens of a cluster's text; a larger cluster is clustered again."""
    seed: int = setting(224, ge=0, lt=2**32, rebuilds=True)
    """Seed of everything random."""

    @property
    def min_members(self) -> int:
        """Least number of nodes in a cluster: 2, or 1 as fitted by "reference"."""
        return 1 if self.method == "reference" else 2


class TreeSettings(Part):
    """End of a tree."""

    max_layers: int = setting(5, ge=1, le=12, is_common=True, rebuilds=True)
    """Most layers of summaries."""
    top_nodes: int = setting(1, ge=1, rebuilds=True)
    """A layer with this many nodes or fewer is the top layer."""


class CorpusTreeSettings(Part):
    """Corpus tree: themes of the whole corpus, built over the top nodes of all trees."""

    enabled: bool = setting(False, is_common=True)
    """Build it after the trees; its summaries are paid for like all others."""
    min_trees: int = Field(3, ge=2)
    """Least number of trees over which it is built."""


class RebuildSettings(Part):
    """Rebuilds of trees whose documents changed."""

    anchored: bool = True
    """Keep unchanged nodes in their clusters and place new ones. Without it every changed layer is
    clustered again, and most of its summaries are paid for again.
    """
    max_members: int = Field(24, ge=4, le=1000)
    """Most members of a cluster; a larger one is split. A fit by "reference" is not
    split.
    """
