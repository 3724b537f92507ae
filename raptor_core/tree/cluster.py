"""From one layer to the clusters that the next is made of, or to the tree's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from raptor_core.errors import InvariantError
from raptor_core.nodes import End, Fit, Layer, Tree
from raptor_core.tree.anchoring import arrange, cohesion, why_from_scratch
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import earlier_clusters, planning_vectors
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters over one layer, or why there are none.

    ``groups`` are the node ids of each cluster in document order, ``slots`` the clusters'
    identities, ``responsibilities`` those of ``Clusters``, empty for clusters that were kept or
    changed since they were fitted. ``end`` is given exactly when ``groups`` is empty: the layer is
    the tree's top; ``fit`` is given otherwise.
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
    """Cluster the last of a tree's finished layers, near the clusters of its published state.

    ``layers`` are all from the leaves to the one to cluster. Where the tree goes on from
    ``previous``, only the leaves' vectors decide; those of upper layers are measured by.

    Raises:
        ClusteringError: the settings allow no clustering.
        InvariantError: the clusterer broke its contract.
    """
    top, number = layers[-1], len(layers) - 1
    end = end_before(len(top.nodes), number, components)
    if end:
        return Clustering(tree, number, (), End(number, end))
    reason = why_from_scratch(previous, layers[0].nodes, components)
    earlier, own_vectors = None, top.vectors
    if previous and not reason:
        vectors = planning_vectors([layer.nodes for layer in layers], layers[0].vectors, previous)
        top = Layer(top.nodes, vectors)
        earlier = earlier_clusters(previous, number)
    made = arrange(tree, top, components, earlier, reason)
    if not 0 < len(made.members) < len(top.nodes):
        raise InvariantError(
            f"tree {tree!r}: clustering {len(top.nodes)} nodes of layer {number} gave "
            f"{len(made.members)} clusters; a layer must shrink. This is a defect of the "
            "clusterer: report it with the settings"
        )
    groups = tuple(tuple(top.nodes[row].id for row in rows) for rows in made.members)
    fit = _measured(made.fit, own_vectors, made.members)
    return Clustering(
        tree, number, groups, None, made.details, made.slots, fit, made.responsibilities
    )


def _measured(fit: Fit, vectors: Vectors, members: Sequence[Sequence[int]]) -> Fit:
    """The fit with its cohesion by the layer's own vectors, where they are made already.

    A plan has none; the layer was arranged by planning vectors.
    """
    if not vectors.shape[1]:
        return fit
    now = cohesion(vectors, members)
    return replace(fit, cohesion=now, fitted_cohesion=now + fit.fitted_cohesion - fit.cohesion)


def end_before(n_nodes: int, number: int, components: Components) -> str:
    """Why a layer of so many nodes is the top; empty when the tree goes on."""
    limits = components.settings.tree
    if n_nodes <= limits.top_nodes:
        return f"{n_nodes} nodes, at most tree.top_nodes = {limits.top_nodes}"
    if number >= limits.max_layers:
        return f"tree.max_layers = {limits.max_layers} reached with {n_nodes} nodes"
    if n_nodes < 2:
        return "one node"
    return ""
