"""Clustering of a tree's last layer, or the decision that the tree ends there.

``layer_fit`` fits clusters or keeps those of the published tree, which ``earlier`` reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.errors import InvariantError
from raptor_core.nodes import ClusterFit, Layer, Node, Tree, TreeEnd
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import earlier_clusters, planning_vectors
from raptor_core.tree.layer_fit import LayerClusterer, mean_cohesion
from raptor_core.vectors import Vectors

NEW_SHARE = 0.5
"""Maximum share of new leaves; with more, a tree is built from scratch."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters over a layer, or the reason why it is the top layer.

    Attributes:
        groups: node ids of each cluster, in document order; empty for the top layer.
        end: why the tree ends; set only if ``groups`` is empty.
        details: numbers that explain the result; see ``Clusters``.
        slots: slot of each cluster.
        fit: last fit of the layer; None for the top layer.
        responsibilities: see ``Clusters``; empty for a cluster that was kept or changed since its
            fit.
    """

    tree: str
    layer: int
    groups: tuple[tuple[str, ...], ...]
    end: TreeEnd | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    slots: tuple[str, ...] = ()
    fit: ClusterFit | None = None
    responsibilities: tuple[tuple[float, ...], ...] = ()


def cluster_top_layer(
    tree: str, layers: Sequence[Layer], components: Components, previous: Tree | None = None
) -> Clustering:
    """Cluster the last of a tree's finished layers, and keep clusters of its published state.

    If the tree continues from its published state ``previous``, the result depends only on the
    vectors of leaves; those of upper layers are used to measure cohesion.

    Raises:
        ClusteringError: no clustering can satisfy the settings.
        InvariantError: the clusterer broke its contract.
    """
    top, number = layers[-1], len(layers) - 1
    end = end_reason(len(top.nodes), number, components)
    if end:
        return Clustering(tree, number, (), TreeEnd(number, end))
    reason = why_from_scratch(previous, layers[0].nodes, components)
    earlier, measured_vectors = None, top.vectors
    if previous and not reason:
        vectors = planning_vectors([layer.nodes for layer in layers], layers[0].vectors, previous)
        top = Layer(top.nodes, vectors)
        earlier = earlier_clusters(previous, number)
    layer_fit = LayerClusterer(top, components)
    if earlier is None:
        clusters, slots, fit = layer_fit.cluster_from_scratch(reason or "a new layer")
    else:
        clusters, slots, fit = layer_fit.update_clusters(earlier)
    if not 0 < len(clusters.members) < len(top.nodes):
        raise InvariantError(
            f"tree {tree!r}: clustering {len(top.nodes)} nodes of layer {number} gave "
            f"{len(clusters.members)} clusters; a layer must shrink. This is a bug of the "
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


def _with_cohesion(
    fit: ClusterFit, vectors: Vectors, members: Sequence[Sequence[int]]
) -> ClusterFit:
    """Return the fit with the cohesion of the layer's own vectors, instead of planning vectors.

    A plan has no vectors of upper layers, so its fit is unchanged.
    """
    if not vectors.shape[1]:
        return fit
    now = mean_cohesion(vectors, members)
    return replace(fit, cohesion=now, fitted_cohesion=now + fit.fitted_cohesion - fit.cohesion)


def end_reason(n_nodes: int, number: int, components: Components) -> str:
    """Return why a layer of ``n_nodes`` is the top layer, or "" if it is not."""
    limits = components.settings.tree
    if n_nodes <= limits.top_nodes:
        return f"the layer has no more nodes than tree.top_nodes = {limits.top_nodes}"
    if number >= limits.max_layers:
        return f"tree.max_layers = {limits.max_layers} is reached, with {n_nodes} nodes"
    return "the layer has one node" if n_nodes < 2 else ""


def why_from_scratch(previous: Tree | None, leaves: Sequence[Node], components: Components) -> str:
    """Return why a tree must be built from scratch, or ""."""
    if previous is None:
        return "first fit"
    if not components.settings.rebuild.anchored:
        return "rebuild.anchored is false"
    if not components.clusterer.anchorable:
        return "this clustering method cuts every layer anew"
    if any(fit.fingerprint != components.clusterer.fingerprint for fit in previous.fits):
        return "the clustering settings changed"
    published = {node.id for node in previous.layers[0].nodes}
    n_new = sum(node.id not in published for node in leaves)
    return f"{n_new} of {len(leaves)} leaves are new" if n_new > NEW_SHARE * len(leaves) else ""
