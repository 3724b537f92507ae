"""Clusters over the top layer of a tree, or the reason why the tree ends there.

``layer_fit`` fits a layer, or keeps the clusters of the published tree, which ``earlier`` reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.errors import InvariantError
from raptor_core.nodes import End, Fit, Layer, Node, Tree
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import earlier_clusters, planning_vectors
from raptor_core.tree.layer_fit import LayerFit, cohesion
from raptor_core.vectors import Vectors

NEW_SHARE = 0.5
"""Share of new leaves above which a tree is built from scratch."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters over one layer, or the reason why it is the tree's top.

    Attributes:
        groups: node ids of each cluster, in document order; empty for the top layer.
        end: reason why the tree ends; set exactly when ``groups`` is empty.
        slots: identity of each cluster.
        fit: last fit of the layer; None for the top layer.
        responsibilities: see ``Clusters``; empty for a cluster that was kept or changed since its
            fit.
    """

    tree: str
    layer: int
    groups: tuple[tuple[str, ...], ...]
    end: End | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    slots: tuple[str, ...] = ()
    fit: Fit | None = None
    responsibilities: tuple[tuple[float, ...], ...] = ()


def cluster_top(
    tree: str, layers: Sequence[Layer], components: Components, previous: Tree | None = None
) -> Clustering:
    """Cluster the last of a tree's finished layers; keep clusters of its published state.

    If the tree continues from its published state ``previous``, only the vectors of leaves decide;
    those of upper layers serve to measure the cohesion.

    Raises:
        ClusteringError: the settings allow no clustering.
        InvariantError: the clusterer broke its contract.
    """
    top, number = layers[-1], len(layers) - 1
    end = end_reason(len(top.nodes), number, components)
    if end:
        return Clustering(tree, number, (), End(number, end))
    reason = why_from_scratch(previous, layers[0].nodes, components)
    earlier, measured_vectors = None, top.vectors
    if previous and not reason:
        vectors = planning_vectors([layer.nodes for layer in layers], layers[0].vectors, previous)
        top = Layer(top.nodes, vectors)
        earlier = earlier_clusters(previous, number)
    layer_fit = LayerFit(top, components)
    if earlier is None:
        clusters, slots, fit = layer_fit.fit(reason or "a new layer")
    else:
        clusters, slots, fit = layer_fit.follow(earlier)
    if not 0 < len(clusters.members) < len(top.nodes):
        raise InvariantError(
            f"tree {tree!r}: clustering {len(top.nodes)} nodes of layer {number} gave "
            f"{len(clusters.members)} clusters; a layer must shrink. This is a defect of the "
            "clusterer: report it with the settings"
        )
    return Clustering(
        tree=tree,
        layer=number,
        groups=tuple(tuple(top.nodes[row].id for row in rows) for rows in clusters.members),
        details=clusters.details,
        slots=slots,
        fit=_with_cohesion(fit, measured_vectors, clusters.members),
        responsibilities=clusters.responsibilities,
    )


def _with_cohesion(fit: Fit, vectors: Vectors, members: Sequence[Sequence[int]]) -> Fit:
    """Return the fit with the cohesion of the layer's vectors, not of its planning vectors.

    A plan has no vectors of upper layers; it keeps the fit as it is.
    """
    if not vectors.shape[1]:
        return fit
    now = cohesion(vectors, members)
    return replace(fit, cohesion=now, fitted_cohesion=now + fit.fitted_cohesion - fit.cohesion)


def end_reason(n_nodes: int, number: int, components: Components) -> str:
    """Return the reason why a layer of ``n_nodes`` is the top; empty if the tree goes on."""
    limits = components.settings.tree
    if n_nodes <= limits.top_nodes:
        return f"{n_nodes} nodes, at most tree.top_nodes = {limits.top_nodes}"
    if number >= limits.max_layers:
        return f"tree.max_layers = {limits.max_layers} reached with {n_nodes} nodes"
    return "one node" if n_nodes < 2 else ""


def why_from_scratch(previous: Tree | None, leaves: Sequence[Node], components: Components) -> str:
    """Return the reason why a tree is built from scratch; empty if it is not."""
    if previous is None:
        return "first fit"
    if not components.settings.rebuild.anchored:
        return "rebuild.anchored is false"
    if not components.clusterer.anchorable:
        return "this clustering method cuts every layer anew"
    if any(fit.fingerprint != components.clusterer.fingerprint for fit in previous.fits):
        return "the clustering settings changed"
    known = {node.id for node in previous.layers[0].nodes}
    n_new = sum(node.id not in known for node in leaves)
    return f"{n_new} of {len(leaves)} leaves are new" if n_new > NEW_SHARE * len(leaves) else ""
