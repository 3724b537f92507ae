"""The steps of a build, each over many trees at once."""

from raptor_core.tree.cluster import Clustering, cluster_top
from raptor_core.tree.embed import Embedded, embed_nodes
from raptor_core.tree.leaves import make_leaves
from raptor_core.tree.summarize import Summarized, summarize_clusters

__all__ = [
    "Clustering",
    "Embedded",
    "Summarized",
    "cluster_top",
    "embed_nodes",
    "make_leaves",
    "summarize_clusters",
]
