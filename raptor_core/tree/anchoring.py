"""The clusters of one layer from those of the tree that is published: kept, placed or fitted anew.

A layer without earlier clusters is fitted as a whole. An anchored one keeps the memberships of all
nodes that are still there (``raptor_core.clustering.anchored``), by their anchors: a leaf's id, a
summary's slot. So a summary whose text changed stays where it was in the layer above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from raptor_core.blas import one_blas_thread
from raptor_core.clustering.anchored import Bounds, anchored
from raptor_core.clustering.base import Clusters
from raptor_core.clustering.groups import cohesion
from raptor_core.identity import slot_id
from raptor_core.nodes import Fit, Layer, Node, Tree
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import Earlier

NEW_SHARE = 0.5
"""A tree of which more leaves than these are new is built as if it were the first time."""

Members = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Arranged:
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
def arrange(
    tree: str, layer: Layer, components: Components, earlier: Earlier | None, reason: str = ""
) -> Arranged:
    """Clusters over a layer of at least two nodes.

    Args:
        tree: name of the tree.
        layer: with planning vectors, where the tree goes on from an earlier state.
        components: clusterer and settings.
        earlier: the clusters over this layer in that state; None to fit the layer.
        reason: why it is fitted.

    Raises:
        ClusteringError: no clustering can keep the token budget.
    """
    n_tokens = np.array([node.n_tokens for node in layer.nodes], dtype=np.int64)
    if earlier is None:
        return _fitted(tree, layer, n_tokens, components, reason or "a new layer")
    if {node.id for node in layer.nodes} == {one for ids in earlier.ids for one in ids}:
        return _unchanged(layer, earlier)
    return _anchored(tree, layer, n_tokens, components, earlier)


def _n_known(nodes: Sequence[Node], earlier: Earlier) -> int:
    known = {anchor for anchors in earlier.anchors for anchor in anchors}
    return sum(node.anchor in known for node in nodes)


def _fitted(
    tree: str,
    layer: Layer,
    n_tokens: NDArray[np.int64],
    components: Components,
    reason: str,
) -> Arranged:
    found = components.clusterer.cluster(layer.vectors, n_tokens)
    found = _bounded(found, layer, n_tokens, components)
    now = cohesion(layer.vectors, found.members)
    fit = Fit(
        fingerprint=components.clusterer.fingerprint,
        n_placed=0,
        fitted_cohesion=now,
        cohesion=now,
        reason=reason,
    )
    slots = _slots(tree, layer.nodes, found.members, (-1,) * len(found.members), None)
    return Arranged(found.members, slots, fit, found.details, found.responsibilities)


def _bounded(
    found: Clusters, layer: Layer, n_tokens: NDArray[np.int64], components: Components
) -> Clusters:
    """Fitted clusters, those over ``rebuild.max_members`` split as if they had grown over it."""
    bounds = _bounds(components)
    large = [at for at, rows in enumerate(found.members) if len(rows) > bounds.max_members]
    chosen = components.settings.clustering
    ours = chosen.method == "raptor" and chosen.engine == "compiled"
    if not large or not ours or not components.settings.rebuild.anchored:
        return found
    split = anchored(layer.vectors, n_tokens, found.members, large, components.clusterer, bounds)
    likely = dict(zip(found.members, found.responsibilities, strict=False))
    return Clusters(
        split.members,
        {**found.details, **split.details},
        tuple(likely.get(rows, ()) for rows in split.members),
    )


def _bounds(components: Components) -> Bounds:
    limits = components.settings.rebuild
    max_tokens = components.settings.clustering.max_tokens
    return Bounds(limits.max_members, max_tokens, limits.max_cohesion_loss)


def _unchanged(layer: Layer, earlier: Earlier) -> Arranged:
    """The earlier clusters as they are: a second rebuild changes nothing, whatever the vectors."""
    pairs = zip(_kept(layer.nodes, earlier), earlier.slots, strict=True)
    ordered = sorted((tuple(rows), slot) for rows, slot in pairs)
    return Arranged(
        members=tuple(rows for rows, _ in ordered),
        slots=tuple(slot for _, slot in ordered),
        fit=replace(earlier.fit, reason=""),
        details={"clusters": float(len(ordered))},
    )


def _anchored(
    tree: str, layer: Layer, n_tokens: NDArray[np.int64], components: Components, earlier: Earlier
) -> Arranged:
    ids = {node.id for node in layer.nodes}
    touched = {at for at, before in enumerate(earlier.ids) if not ids.issuperset(before)}
    kept = _kept(layer.nodes, earlier)
    clusterer, bounds = components.clusterer, _bounds(components)
    found = anchored(layer.vectors, n_tokens, kept, touched, clusterer, bounds)
    now = cohesion(layer.vectors, found.members)
    anew, n_anew = (int(found.details.get(f"refitted_{of}", 0)) for of in ("clusters", "rows"))
    n_placed = earlier.fit.n_placed + len(layer.nodes) - _n_known(layer.nodes, earlier)
    fit = Fit(
        fingerprint=earlier.fit.fingerprint,
        n_placed=round(n_placed * (1 - n_anew / len(layer.nodes))),
        fitted_cohesion=now + found.drift,
        cohesion=now,
        reason=f"drift of {anew} touched clusters ({n_anew} nodes)" if anew else "",
    )
    slots = _slots(tree, layer.nodes, found.members, found.origins, earlier)
    return Arranged(found.members, slots, fit, found.details)


def _kept(nodes: Sequence[Node], earlier: Earlier) -> list[list[int]]:
    """For each earlier cluster the rows that are left of it."""
    row_of = {node.anchor: row for row, node in enumerate(nodes)}
    return [
        sorted(row_of[anchor] for anchor in anchors if anchor in row_of)
        for anchors in earlier.anchors
    ]


def _slots(
    tree: str,
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
            candidate = slot_id(tree, nodes[0].layer + 1, keys, occurrence)
            slot = "" if candidate in taken else candidate
            occurrence += 1
        taken.add(slot)
        slots.append(slot)
    return tuple(slots)
