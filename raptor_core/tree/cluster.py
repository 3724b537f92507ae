"""Clusters over the top layer of a tree, or the reason why the tree ends there.

A layer without earlier clusters is fitted as a whole; ``docs/adr/0004`` says how the others are
anchored. ``earlier`` holds the clusters of the published tree.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.anchored import (
    AnchoredClusters,
    Bounds,
    cluster_anchored,
    match_origins,
    mutual_similarity,
)
from raptor_core.clustering.base import Clusters
from raptor_core.errors import InvariantError
from raptor_core.identity import slot_id
from raptor_core.nodes import End, Fit, Layer, Node, Tree
from raptor_core.threads import one_blas_thread
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import Earlier, earlier_clusters, mean_direction, planning_vectors
from raptor_core.vectors import Vectors

NEW_SHARE = 0.5
"""Share of new leaves above which a tree is built from scratch."""
REFIT_SHARE = 0.25
"""Share of nodes placed since the last fit above which touched clusters may be fitted again."""
COHESION_LOSS = 0.02
"""Share of its cohesion that placing may cost a layer, and by which a new fit must be better."""
Members = Sequence[Sequence[int]]


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
    clusters, slots, fit = _arrange(top, components, earlier, reason)
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


_Arranged = tuple[Clusters, tuple[str, ...], Fit]
"""Clusters of a layer, with their slots and the fit that they come from."""


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


@one_blas_thread
def _arrange(
    layer: Layer, components: Components, earlier: Earlier | None, reason: str
) -> _Arranged:
    """Cluster a layer of at least two nodes.

    ``earlier`` holds the published clusters, for a layer of planning vectors. None fits the layer
    from scratch, for a ``reason``.
    """
    if earlier is None:
        return _fit(layer, components, reason or "a new layer")
    if {node.id for node in layer.nodes} == {member for ids in earlier.ids for member in ids}:
        return _keep_clusters(layer, earlier)
    return _anchor(layer, components, earlier)


def _token_counts(layer: Layer) -> NDArray[np.int64]:
    return np.array([node.n_tokens for node in layer.nodes], dtype=np.int64)


def _fit(layer: Layer, components: Components, reason: str) -> _Arranged:
    clusters = components.clusterer.cluster(layer.vectors, _token_counts(layer))
    by_members = dict(zip(clusters.members, clusters.responsibilities, strict=False))
    largest = max(map(len, clusters.members))
    if _splits_fits(components) and largest > _bounds(components).max_members:
        split = _split_large(clusters.members, layer, components)
        clusters = Clusters(split.members, {**clusters.details, **split.details})
    value = cohesion(layer.vectors, clusters.members)
    by = components.embedder.fingerprint
    fit = Fit(components.clusterer.fingerprint, 0, value, value, reason, by)
    slots = _slots(layer.nodes, clusters.members, (-1,) * len(clusters.members), None)
    shares = tuple(by_members.get(rows, ()) for rows in clusters.members) if by_members else ()
    return replace(clusters, responsibilities=shares), slots, fit


def _splits_fits(components: Components) -> bool:
    """Return whether ``rebuild.max_members`` bounds a first fit, as in no method of the paper."""
    clusterer = components.clusterer
    keeps = getattr(clusterer, "keeps_fits", False)
    return components.settings.rebuild.anchored and clusterer.anchorable and not keeps


def _keep_clusters(layer: Layer, earlier: Earlier) -> _Arranged:
    """Return the earlier clusters, whatever the vectors: a second rebuild changes nothing."""
    pairs = zip(_remaining_rows(layer.nodes, earlier), earlier.slots, strict=True)
    ordered = sorted((tuple(rows), slot) for rows, slot in pairs)
    kept = Clusters(tuple(rows for rows, _ in ordered), {"clusters": float(len(ordered))})
    return kept, tuple(slot for _, slot in ordered), replace(earlier.fit, reason="")


def _anchor(layer: Layer, components: Components, earlier: Earlier) -> _Arranged:
    ids = {node.id for node in layer.nodes}
    touched = {at for at, members in enumerate(earlier.ids) if not ids.issuperset(members)}
    kept = _remaining_rows(layer.nodes, earlier)
    clusters = _constrain(kept, touched, layer, components)
    fit = _measure_drift(layer, earlier, clusters, components.embedder.fingerprint)
    if fit.reason:
        untouched = {tuple(rows) for at, rows in enumerate(kept) if at not in touched}
        unchanged = untouched.intersection(clusters.members)
        clusters, fit = _refit(layer, components, clusters, unchanged, fit)
        clusters = replace(clusters, origins=match_origins(clusters.members, kept))
    slots = _slots(layer.nodes, clusters.members, clusters.origins, earlier)
    return Clusters(clusters.members, clusters.details), slots, fit


def _measure_drift(layer: Layer, earlier: Earlier, new: AnchoredClusters, embedder: str) -> Fit:
    """Return the fit after new nodes are placed; its reason calls for a new fit of clusters."""
    known = {anchor for anchors in earlier.anchors for anchor in anchors}
    n, n_new = len(layer.nodes), sum(node.anchor not in known for node in layer.nodes)
    n_placed = earlier.fit.n_placed + n_new
    current, fitted = cohesion(layer.vectors, new.members), earlier.fit.fitted_cohesion
    reason = ""
    if n_placed > REFIT_SHARE * n:
        reason = f"{n_placed} of {n} nodes were placed since the last fit"
    elif current < fitted * (1 - COHESION_LOSS):
        reason = f"cohesion fell from {fitted:.3f} to {current:.3f}"
    if earlier.fit.embedder != embedder:
        fitted, reason = current, "another embedder made the clusters"
    return Fit(earlier.fit.fingerprint, n_placed, fitted, current, reason, earlier.fit.embedder)


def _refit(
    layer: Layer,
    components: Components,
    clusters: AnchoredClusters,
    unchanged: Collection[tuple[int, ...]],
    fit: Fit,
) -> tuple[AnchoredClusters, Fit]:
    """Fit all clusters but the ``unchanged`` ones again; keep them if that is hardly better.

    Smaller clusters are always more cohesive. So nodes must also be closer to the other members of
    their cluster.
    """
    changed = [rows for rows in clusters.members if rows not in unchanged]
    rows = np.array(sorted({row for members in changed for row in members}), dtype=np.int64)
    if len(rows) < 2:
        return clusters, replace(fit, reason="")
    new = components.clusterer.cluster(layer.vectors[rows], _token_counts(layer)[rows]).members
    groups = [*sorted(unchanged), *(rows[list(members)].tolist() for members in new)]
    refit = _split_large(groups, layer, components)
    fitted = [members for members in refit.members if members not in unchanged]
    previous, current = (cohesion(layer.vectors, members) for members in (changed, fitted))
    is_better = previous < current * (1 - COHESION_LOSS)
    current = cohesion(layer.vectors, refit.members)
    if not is_better or _closeness(layer.vectors, fitted) <= _closeness(layer.vectors, changed):
        return clusters, replace(fit, fitted_cohesion=max(fit.cohesion, current), reason="")
    n_placed = round(fit.n_placed * (1 - len(rows) / len(layer.nodes)))
    reason = f"{fit.reason}: {len(changed)} touched clusters fitted again"
    by = components.embedder.fingerprint
    return refit, Fit(fit.fingerprint, n_placed, current, current, reason, by)


def _closeness(vectors: Vectors, members: Members) -> float:
    """Return the mean cosine of every member to the centre of the other members."""
    rows_of = [vectors[list(rows)].astype(np.float64) for rows in members]
    return float(np.average([*map(mutual_similarity, rows_of)], weights=[*map(len, rows_of)]))


def _split_large(members: Members, layer: Layer, components: Components) -> AnchoredClusters:
    """Split fitted clusters of more than ``rebuild.max_members``, and constrain all of them."""
    most = _bounds(components).max_members
    large = [at for at, rows in enumerate(members) if len(rows) > most]
    return _constrain(members, large, layer, components)


def _constrain(
    members: Members, touched: Collection[int], layer: Layer, components: Components
) -> AnchoredClusters:
    """Bring clusters of a layer within their bounds, see ``anchored``."""
    n_tokens, clusterer = _token_counts(layer), components.clusterer
    bounds = _bounds(components)
    return cluster_anchored(layer.vectors, n_tokens, members, touched, clusterer, bounds)


def _bounds(components: Components) -> Bounds:
    settings = components.settings
    return Bounds(settings.rebuild.max_members, settings.clustering.max_tokens)


def _remaining_rows(nodes: Sequence[Node], earlier: Earlier) -> list[list[int]]:
    """Return the rows of each earlier cluster's members that remain."""
    row_of = {node.anchor: row for row, node in enumerate(nodes)}
    return [
        sorted(row_of[anchor] for anchor in anchors if anchor in row_of)
        for anchors in earlier.anchors
    ]


def _slots(
    nodes: Sequence[Node], members: Members, origins: Sequence[int], earlier: Earlier | None
) -> tuple[str, ...]:
    used = set(earlier.slots) if earlier else set()
    slots = []
    for rows, origin in zip(members, origins, strict=True):
        slot = earlier.slots[origin] if earlier and origin >= 0 else ""
        occurrence = 0
        while not slot:
            keys = (nodes[row].content_key for row in rows)
            candidate = slot_id(nodes[0].tree, nodes[0].layer + 1, keys, occurrence)
            slot = "" if candidate in used else candidate
            occurrence += 1
        used.add(slot)
        slots.append(slot)
    return tuple(slots)


def cohesion(vectors: Vectors, members: Members) -> float:
    """Return the mean cosine of every member to its cluster's centre, over all memberships."""
    total, count = 0.0, 0
    for rows in members:
        selected = vectors[list(rows)].astype(np.float64)
        total += float((selected @ mean_direction(selected)).sum())
        count += len(rows)
    return total / max(count, 1)
