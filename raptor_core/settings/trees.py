"""Settings of clustering, of the layers of a tree, of the corpus tree and of rebuilds."""

from typing import ClassVar, Literal

from pydantic import Field

from raptor_core.settings.base import Part


class ClusteringSettings(Part):
    """Clustering of a layer (paper, section 3).

    Attributes:
        method: "raptor" is the paper's UMAP and Gaussian mixtures, "contiguous" has windows of
            neighbouring nodes, "kmeans" is spherical k-means, "gmm" one mixture on the
            embeddings with a component for every ten nodes. "linkage" is average linkage,
            "louvain" has communities of nearest neighbours, and "watershed" cuts the order of the
            nodes where neighbours are least alike.
        engine: code of the method "raptor": "compiled" is built in and fast, "reference" is
            umap-learn and scikit-learn, whose clusters stay as fitted.
        join_lone_nodes: join a node that the engine "reference" leaves alone to the nearest
            cluster, as every other method does. Else it has a summary of its own.
        dimensions: dimensions after the reduction.
        local_neighbors: neighbours of UMAP in the local step.
        threshold: membership threshold, the least responsibility of a component for a node.
        max_components: most components that are tried.
        patience: number of component counts without a better BIC after which the search stops; 0
            tries all.
        epochs: epochs of the UMAP layout; 0 is umap-learn's choice.
        max_tokens: most tokens of a cluster's text; a larger cluster is clustered again.
        window: nodes in a cluster of the method "contiguous".
        cluster_size: desired nodes in a cluster of "kmeans", "linkage" and "watershed".
        seed: seed of everything random.
    """

    method: Literal["raptor", "contiguous", "kmeans", "gmm", "linkage", "louvain", "watershed"] = (
        "raptor"
    )
    engine: Literal["compiled", "reference"] = "compiled"
    join_lone_nodes: bool = False
    dimensions: int = Field(10, ge=2, le=64)
    local_neighbors: int = Field(10, ge=2, le=200)
    threshold: float = Field(0.1, gt=0, lt=1)
    max_components: int = Field(50, ge=1, le=1000)
    patience: int = Field(6, ge=0)
    epochs: int = Field(100, ge=0, le=2000)
    max_tokens: int = Field(3500, ge=64)
    window: int = Field(7, ge=2)
    cluster_size: int = Field(7, ge=2)
    seed: int = Field(224, ge=0, lt=2**32)

    @property
    def min_members(self) -> int:
        """Least number of nodes in a cluster: 2, or 1 where lone nodes stay alone."""
        is_reference = self.method == "raptor" and self.engine == "reference"
        return 1 if is_reference and not self.join_lone_nodes else 2


class TreeSettings(Part):
    """End of a tree.

    Attributes:
        max_layers: most layers of summaries.
        top_nodes: a layer with this many nodes or fewer is the top layer.
    """

    common: ClassVar[tuple[str, ...] | None] = ("max_layers",)

    max_layers: int = Field(5, ge=1, le=12)
    top_nodes: int = Field(1, ge=1)


class CorpusTreeSettings(Part):
    """Corpus tree: themes of the whole corpus, built over the top nodes of all trees.

    Attributes:
        enabled: build it after the trees; its summaries are paid for like all others.
        min_trees: least number of trees over which it is built.
    """

    common: ClassVar[tuple[str, ...] | None] = ("enabled",)

    enabled: bool = False
    min_trees: int = Field(3, ge=2)


class RebuildSettings(Part):
    """Rebuilds of trees whose documents changed.

    Attributes:
        anchored: keep unchanged nodes in their clusters and place new ones. Without it every
            changed layer is clustered again, and most of its summaries are paid for again.
        max_members: most members of a cluster; a larger one is split. A fit by the engine
            "reference" is not split.
        max_placed: share of a layer's nodes that may be placed one by one. Above it the clusters
            that a change touches are fitted again, if the fit is better.
        max_cohesion_loss: share of its cohesion that placing may cost a layer, and by which a new
            fit must be better.
    """

    anchored: bool = True
    max_members: int = Field(24, ge=4, le=1000)
    max_placed: float = Field(0.5, ge=0, le=10)
    max_cohesion_loss: float = Field(0.02, ge=0, le=1)
