"""How nodes become layers, when a tree ends, and how it follows its documents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from raptor_core.settings.base import Part


class ClusteringSettings(Part):
    """How a layer is clustered (paper, section 3).

    Attributes:
        method: the paper's UMAP and Gaussian mixtures, contiguous windows, spherical k-means, or
            "gmm": one mixture on the embeddings, a component for every ten nodes.
        engine: of method "raptor": compiled parts of our own, or "reference", umap-learn and
            scikit-learn themselves, whose clusters stay as fitted.
        dimensions: dimensions after the reduction.
        local_neighbors: UMAP neighbours of the local step.
        threshold: responsibility from which a node belongs to a component.
        max_components: components tried at the most.
        patience: values of k without a better BIC after which the scan stops; 0 tries all.
        epochs: of the UMAP layout; 0 is umap-learn's own choice.
        max_tokens: tokens of a cluster's text; above it the cluster is clustered again.
        window: nodes per cluster of method "contiguous".
        cluster_size: aimed-at nodes per cluster of method "kmeans".
        seed: of everything random.
    """

    method: Literal["raptor", "contiguous", "kmeans", "gmm"] = "raptor"
    engine: Literal["compiled", "reference"] = "compiled"
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


class TreeSettings(Part):
    """When a tree ends.

    Attributes:
        max_layers: summary layers at the most.
        top_nodes: a layer with this many nodes or fewer is the top.
    """

    max_layers: int = Field(5, ge=1, le=12)
    top_nodes: int = Field(1, ge=1)


class CorpusTreeSettings(Part):
    """The corpus tree: themes of the whole corpus, made of the trees' top nodes.

    Attributes:
        enabled: whether it is built once trees were published; its summaries are made, and paid
            for, as any others are.
        min_trees: from how many trees; with fewer there is none.
    """

    enabled: bool = False
    min_trees: int = Field(3, ge=2)


class RebuildSettings(Part):
    """How a tree follows its documents.

    Attributes:
        anchored: unchanged nodes keep their clusters, new ones are placed beside them; without
            it every changed layer is fitted anew, at the price of most of its summaries.
        max_members: a cluster over it is split: one that grew, and one of a fit by the method
            "raptor" with the engine "compiled".
        max_placed: share of a layer's nodes that may be placed one by one before the clusters that
            a change touches are fitted anew, if a fit is better.
        max_cohesion_loss: share of its cohesion that placing may cost a layer before that; and by
            which a fit must be better.
    """

    anchored: bool = True
    max_members: int = Field(24, ge=4, le=1000)
    max_placed: float = Field(0.5, ge=0, le=10)
    max_cohesion_loss: float = Field(0.02, ge=0, le=1)
