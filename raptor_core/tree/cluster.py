"""From one layer to the clusters that the next is made of, or to the tree's end.

A layer without earlier clusters is fitted as a whole. An anchored one keeps the memberships of all
nodes that are still there (``raptor_core.clustering.anchored``), by their anchors: a leaf's id, a
summary's slot. So a summary whose text changed stays where it was in the layer above. Where much
of it changed, its touched clusters are fitted anew, together, if that is more cohesive: they are
summarized again anyhow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from raptor_core.blas import one_blas_thread
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
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import Earlier, earlier_clusters, mean_direction, planning_vectors
from raptor_core.vectors import Vectors

NEW_SHARE = 0.5
"""A tree of which more leaves than these are new is built as if it were the first time."""

REFIT_SHARE = 0.25
"""A layer of which more nodes than these changed may have its touched clusters fitted anew."""

Members = Sequence[Sequence[int]]


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
    made = _arranged(top, components, earlier, reason)
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


@dataclass(frozen=True, eq=False)
class _Arranged:
    """Clusters of a layer by row, each with its slot, and how they came about."""

    members: tuple[tuple[int, ...], ...]
    slots: tuple[str, ...]
    fit: Fit
    details: Mapping[str, float]
    responsibilities: tuple[tuple[float, ...], ...] = ()


def why_from_scratch(previous: Tree | None, leaves: Sequence[Node], components: Components) -> str:
    """Why a tree cannot go on from its published state; empty where it can."""
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
    if n_new > NEW_SHARE * len(leaves):
        return f"{n_new} of {len(leaves)} leaves are new"
    return ""


@one_blas_thread
def _arranged(
    layer: Layer, components: Components, earlier: Earlier | None, reason: str
) -> _Arranged:
    """Clusters over a layer of at least two nodes.

    Where the tree goes on from an ``earlier`` state, the layer has planning vectors; None fits it,
    for a ``reason``.

    Raises:
        ClusteringError: no clustering can keep the token budget.
    """
    if earlier is None:
        return _fitted(layer, components, reason or "a new layer")
    if {node.id for node in layer.nodes} == {one for ids in earlier.ids for one in ids}:
        return _unchanged(layer, earlier)
    return _anchored(layer, components, earlier)


def _token_counts(layer: Layer) -> NDArray[np.int64]:
    return np.array([node.n_tokens for node in layer.nodes], dtype=np.int64)


def _fitted(layer: Layer, components: Components, reason: str) -> _Arranged:
    found = components.clusterer.cluster(layer.vectors, _token_counts(layer))
    likely = dict(zip(found.members, found.responsibilities, strict=False))
    if _splits_fits(components) and max(map(len, found.members)) > _bounds(components).max_members:
        split = _bounded(found.members, layer, components)
        found = Clusters(split.members, {**found.details, **split.details})
    now = cohesion(layer.vectors, found.members)
    fit = Fit(components.clusterer.fingerprint, 0, now, now, reason)
    slots = _slots(layer.nodes, found.members, (-1,) * len(found.members), None)
    shares = tuple(likely.get(rows, ()) for rows in found.members) if likely else ()
    return _Arranged(found.members, slots, fit, found.details, shares)


def _splits_fits(components: Components) -> bool:
    """Whether ``rebuild.max_members`` holds for a first fit: not for one as the paper has it."""
    chosen = components.settings
    ours = chosen.clustering.method == "raptor" and chosen.clustering.engine == "compiled"
    return ours and chosen.rebuild.anchored and components.clusterer.anchorable


def _unchanged(layer: Layer, earlier: Earlier) -> _Arranged:
    """The earlier clusters as they are: a second rebuild changes nothing, whatever the vectors."""
    pairs = zip(_kept(layer.nodes, earlier), earlier.slots, strict=True)
    ordered = sorted((tuple(rows), slot) for rows, slot in pairs)
    return _Arranged(
        members=tuple(rows for rows, _ in ordered),
        slots=tuple(slot for _, slot in ordered),
        fit=replace(earlier.fit, reason=""),
        details={"clusters": float(len(ordered))},
    )


def _anchored(layer: Layer, components: Components, earlier: Earlier) -> _Arranged:
    ids = {node.id for node in layer.nodes}
    touched = {at for at, before in enumerate(earlier.ids) if not ids.issuperset(before)}
    kept = _kept(layer.nodes, earlier)
    found = _lawful(kept, touched, layer, components)
    fit = _drifted(layer, components, earlier, kept, found)
    if fit.reason:
        still = {tuple(rows) for at, rows in enumerate(kept) if at not in touched}
        cold = still.intersection(found.members)
        found, fit = _refitted(layer, components, found, cold, fit)
        found = replace(found, origins=match_origins(found.members, kept))
    slots = _slots(layer.nodes, found.members, found.origins, earlier)
    return _Arranged(found.members, slots, fit, found.details)


def _drifted(
    layer: Layer, components: Components, earlier: Earlier, kept: Members, found: AnchoredClusters
) -> Fit:
    """The fit after placing; its reason says why touched clusters may have to be fitted anew."""
    limits, n = components.settings.rebuild, len(layer.nodes)
    known = {anchor for anchors in earlier.anchors for anchor in anchors}
    now = cohesion(layer.vectors, found.members)
    left = cohesion(layer.vectors, [rows for rows in kept if len(rows) > 1])
    # What left with removed nodes, or came with vectors that were only expected, is no drift.
    fitted = earlier.fit.fitted_cohesion + left - earlier.fit.cohesion
    least = fitted * (1 - limits.max_cohesion_loss)
    n_placed = earlier.fit.n_placed + sum(node.anchor not in known for node in layer.nodes)
    n_changed = len({node.id for node in layer.nodes}.difference(*earlier.ids))
    reason = ""
    if n_changed > REFIT_SHARE * n:
        reason = f"{n_changed} of {n} nodes changed"
    elif now < least and now < left:
        reason = f"drift: cohesion {now:.3f} under {least:.3f}"
    elif n_placed > limits.max_placed * n:
        share = f"{n_placed / n:.0%} placed since the last fit"
        reason = f"drift: {share}, over {limits.max_placed:.0%}"
    return Fit(earlier.fit.fingerprint, n_placed, fitted, now, reason)


def _refitted(
    layer: Layer,
    components: Components,
    found: AnchoredClusters,
    cold: Collection[tuple[int, ...]],
    fit: Fit,
) -> tuple[AnchoredClusters, Fit]:
    """The clusters with all but the ``cold`` ones fitted anew, where that is so much better.

    Otherwise as they are. Smaller clusters are the more cohesive, whatever is in them: nodes must
    be closer to the others of their cluster, too.
    """
    warm = [rows for rows in found.members if rows not in cold]
    rows = np.array(sorted({row for members in warm for row in members}), dtype=np.int64)
    if len(rows) < 2:
        return found, replace(fit, reason="")
    anew = components.clusterer.cluster(layer.vectors[rows], _token_counts(layer)[rows]).members
    groups = [*sorted(cold), *(rows[list(one)].tolist() for one in anew)]
    tried = _bounded(groups, layer, components)
    others = [one for one in tried.members if one not in cold]
    was, now = (cohesion(layer.vectors, members) for members in (warm, others))
    is_better = was < now * (1 - components.settings.rebuild.max_cohesion_loss)
    now = cohesion(layer.vectors, tried.members)
    if not is_better or _closeness(layer.vectors, others) <= _closeness(layer.vectors, warm):
        return found, replace(fit, fitted_cohesion=max(fit.cohesion, now), reason="")
    n_placed = round(fit.n_placed * (1 - len(rows) / len(layer.nodes)))
    told = f"{fit.reason}: {len(warm)} touched clusters fitted anew"
    return tried, Fit(fit.fingerprint, n_placed, now, now, told)


def _closeness(vectors: Vectors, members: Members) -> float:
    """Mean cosine of every member to the centre of the others in its cluster."""
    found = [vectors[list(rows)].astype(np.float64) for rows in members]
    return float(np.average([*map(mutual_similarity, found)], weights=[*map(len, found)]))


def _bounded(members: Members, layer: Layer, components: Components) -> AnchoredClusters:
    """Fitted clusters, lawful together, those over ``rebuild.max_members`` split."""
    most = _bounds(components).max_members
    large = [at for at, rows in enumerate(members) if len(rows) > most]
    return _lawful(members, large, layer, components)


def _lawful(
    members: Members, touched: Collection[int], layer: Layer, components: Components
) -> AnchoredClusters:
    """Return these clusters of a layer as ``cluster_anchored`` changes them."""
    clusterer, bounds = components.clusterer, _bounds(components)
    return cluster_anchored(
        layer.vectors, _token_counts(layer), members, touched, clusterer, bounds
    )


def _bounds(components: Components) -> Bounds:
    chosen = components.settings
    return Bounds(chosen.rebuild.max_members, chosen.clustering.max_tokens)


def _kept(nodes: Sequence[Node], earlier: Earlier) -> list[list[int]]:
    """For each earlier cluster the rows that are left of it."""
    row_of = {node.anchor: row for row, node in enumerate(nodes)}
    return [
        sorted(row_of[anchor] for anchor in anchors if anchor in row_of)
        for anchors in earlier.anchors
    ]


def _slots(
    nodes: Sequence[Node],
    members: Members,
    origins: Sequence[int],
    earlier: Earlier | None,
) -> tuple[str, ...]:
    taken = set(earlier.slots) if earlier else set()
    slots = []
    for rows, origin in zip(members, origins, strict=True):
        slot = earlier.slots[origin] if earlier and origin >= 0 else ""
        occurrence = 0
        while not slot:
            keys = (nodes[row].content_key for row in rows)
            candidate = slot_id(nodes[0].tree, nodes[0].layer + 1, keys, occurrence)
            slot = "" if candidate in taken else candidate
            occurrence += 1
        taken.add(slot)
        slots.append(slot)
    return tuple(slots)


def cohesion(vectors: Vectors, members: Members) -> float:
    """Mean cosine of every member to the centre of its cluster, over all memberships."""
    total, count = 0.0, 0
    for rows in members:
        found = vectors[list(rows)].astype(np.float64)
        total += float((found @ mean_direction(found)).sum())
        count += len(rows)
    return total / max(count, 1)
