"""Clustering of a layer, from scratch or by updating the clusters of the published tree.

``docs/adr/0004`` explains anchored clustering. ``cluster`` decides whether a layer has clusters,
``earlier`` reads those of the published tree, and ``raptor_core.clustering`` has the methods.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering.anchored import (
    AnchoredClusters,
    ClusterBounds,
    cluster_anchored,
    match_earlier_clusters,
    mean_cosine_to_others,
)
from raptor_core.clustering.base import Clusters
from raptor_core.identity import slot_id
from raptor_core.nodes import ClusterFit, Layer
from raptor_core.threads import one_blas_thread
from raptor_core.tree.components import Components
from raptor_core.tree.earlier import EarlierClusters, mean_direction
from raptor_core.vectors import Vectors

REFIT_SHARE = 0.25
"""Share of nodes placed since the last fit above which touched clusters may be fitted again."""
COHESION_LOSS = 0.02
"""Share of cohesion that a layer may lose by placing, and by which a new fit must be better."""
Members = Sequence[Sequence[int]]


class ArrangedClusters(NamedTuple):
    """The clusters of a layer, their slots, and the fit that they come from."""

    clusters: Clusters
    slots: tuple[str, ...]
    fit: ClusterFit


class LayerClusterer:
    """Clusters a layer of at least two nodes with the clusterer of ``components``."""

    def __init__(self, layer: Layer, components: Components) -> None:
        self._nodes = layer.nodes
        self._vectors = layer.vectors
        self._clusterer = components.clusterer
        self._embedder = components.embedder.fingerprint
        self._is_anchored = components.settings.rebuild.anchored
        self._bounds = ClusterBounds(
            components.settings.rebuild.max_members, components.settings.clustering.max_tokens
        )

    @cached_property
    def _n_tokens(self) -> NDArray[np.int64]:
        return np.array([node.n_tokens for node in self._nodes], dtype=np.int64)

    @one_blas_thread
    def cluster_from_scratch(self, reason: str) -> ArrangedClusters:
        """Cluster the layer from scratch; the fit records the ``reason``."""
        clusters = self._clusterer.cluster(self._vectors, self._n_tokens)
        by_members = dict(zip(clusters.members, clusters.responsibilities, strict=False))
        if self._limits_first_fits and max(map(len, clusters.members)) > self._bounds.max_members:
            split = self._split_large_and_limit(clusters.members)
            clusters = Clusters(split.members, {**clusters.details, **split.details})
        value = mean_cohesion(self._vectors, clusters.members)
        fit = ClusterFit(self._clusterer.fingerprint, 0, value, value, reason, self._embedder)
        slots = self._assign_slots(clusters.members, (-1,) * len(clusters.members), None)
        shares = tuple(by_members.get(rows, ()) for rows in clusters.members) if by_members else ()
        return ArrangedClusters(replace(clusters, responsibilities=shares), slots, fit)

    @property
    def _limits_first_fits(self) -> bool:
        """Whether ``rebuild.max_members`` also limits first fits, which the paper does not do."""
        keeps = getattr(self._clusterer, "keeps_fits", False)
        return self._is_anchored and self._clusterer.anchorable and not keeps

    @one_blas_thread
    def update_clusters(self, earlier: EarlierClusters) -> ArrangedClusters:
        """Return the published clusters with the current nodes, whose vectors are for planning."""
        if {node.id for node in self._nodes} == {i for ids in earlier.ids for i in ids}:
            return self._keep_clusters(earlier)
        return self._anchor_clusters(earlier)

    def _keep_clusters(self, earlier: EarlierClusters) -> ArrangedClusters:
        """Return the earlier clusters, whatever the vectors: a second rebuild is a no-op."""
        pairs = zip(self._remaining_rows(earlier), earlier.slots, strict=True)
        ordered = sorted((tuple(rows), slot) for rows, slot in pairs)
        kept = Clusters(tuple(rows for rows, _ in ordered), {"clusters": float(len(ordered))})
        return ArrangedClusters(
            kept, tuple(slot for _, slot in ordered), replace(earlier.fit, reason="")
        )

    def _anchor_clusters(self, earlier: EarlierClusters) -> ArrangedClusters:
        """Keep untouched clusters, place new nodes, and fit touched clusters again if needed."""
        ids = {node.id for node in self._nodes}
        touched = {at for at, members in enumerate(earlier.ids) if not ids.issuperset(members)}
        kept = self._remaining_rows(earlier)
        clusters = self._apply_limits(kept, touched)
        fit = self._measure_drift(earlier, clusters)
        if fit.reason:
            untouched = {tuple(rows) for at, rows in enumerate(kept) if at not in touched}
            clusters, fit = self._refit_changed_clusters(
                clusters, untouched.intersection(clusters.members), fit
            )
            clusters = replace(
                clusters, earlier_indices=match_earlier_clusters(clusters.members, kept)
            )
        slots = self._assign_slots(clusters.members, clusters.earlier_indices, earlier)
        return ArrangedClusters(Clusters(clusters.members, clusters.details), slots, fit)

    def _measure_drift(self, earlier: EarlierClusters, new: AnchoredClusters) -> ClusterFit:
        """Return the fit after placing new nodes; a ``reason`` means that it must be repeated."""
        placed = {anchor for anchors in earlier.member_ids for anchor in anchors}
        n, n_new = len(self._nodes), sum(node.stable_id not in placed for node in self._nodes)
        n_placed = earlier.fit.n_placed + n_new
        current, fitted = mean_cohesion(self._vectors, new.members), earlier.fit.fitted_cohesion
        reason = ""
        if n_placed > REFIT_SHARE * n:
            reason = f"{n_placed} of {n} nodes were placed since the last fit"
        elif current < fitted * (1 - COHESION_LOSS):
            reason = f"cohesion fell from {fitted:.3f} to {current:.3f}"
        if earlier.fit.embedder != self._embedder:
            fitted, reason = current, "another embedder made the clusters"
        return ClusterFit(
            earlier.fit.fingerprint, n_placed, fitted, current, reason, earlier.fit.embedder
        )

    def _refit_changed_clusters(
        self, clusters: AnchoredClusters, unchanged: Collection[tuple[int, ...]], fit: ClusterFit
    ) -> tuple[AnchoredClusters, ClusterFit]:
        """Fit all clusters except the ``unchanged`` ones again, unless that is hardly better.

        Because smaller clusters are always more cohesive, nodes must also be closer to the other
        members of their cluster.
        """
        changed = [rows for rows in clusters.members if rows not in unchanged]
        rows = np.array(sorted({row for members in changed for row in members}), dtype=np.int64)
        if len(rows) < 2:
            return clusters, replace(fit, reason="")
        vectors = self._vectors
        new = self._clusterer.cluster(vectors[rows], self._n_tokens[rows]).members
        groups = [*sorted(unchanged), *(rows[list(members)].tolist() for members in new)]
        refit = self._split_large_and_limit(groups)
        fitted = [members for members in refit.members if members not in unchanged]
        previous, current = (mean_cohesion(vectors, members) for members in (changed, fitted))
        is_more_cohesive = previous < current * (1 - COHESION_LOSS)
        current = mean_cohesion(vectors, refit.members)
        if not is_more_cohesive or _mean_cosine_to_others(
            vectors, fitted
        ) <= _mean_cosine_to_others(vectors, changed):
            return clusters, replace(fit, fitted_cohesion=max(fit.cohesion, current), reason="")
        n_placed = round(fit.n_placed * (1 - len(rows) / len(self._nodes)))
        reason = f"{fit.reason}: {len(changed)} touched clusters fitted again"
        return refit, ClusterFit(
            fit.fingerprint, n_placed, current, current, reason, self._embedder
        )

    def _split_large_and_limit(self, members: Members) -> AnchoredClusters:
        """Split clusters with more than ``rebuild.max_members``, and apply all limits."""
        most = self._bounds.max_members
        return self._apply_limits(
            members, [k for k, rows in enumerate(members) if len(rows) > most]
        )

    def _apply_limits(self, members: Members, touched: Collection[int]) -> AnchoredClusters:
        """Apply the limits to clusters; see ``raptor_core.clustering.anchored``."""
        return cluster_anchored(
            self._vectors, self._n_tokens, members, touched, self._clusterer, self._bounds
        )

    def _remaining_rows(self, earlier: EarlierClusters) -> list[list[int]]:
        """Return for each earlier cluster the rows of the members that still exist."""
        row_of = {node.stable_id: row for row, node in enumerate(self._nodes)}
        return [
            sorted(row_of[anchor] for anchor in anchors if anchor in row_of)
            for anchors in earlier.member_ids
        ]

    def _assign_slots(
        self, members: Members, origins: Sequence[int], earlier: EarlierClusters | None
    ) -> tuple[str, ...]:
        """Return the slot of each cluster: that of the cluster it comes from, or a new one."""
        nodes, used = self._nodes, set(earlier.slots) if earlier else set()
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


def _mean_cosine_to_others(vectors: Vectors, members: Members) -> float:
    """Return the mean cosine of each member to the centre of the other members."""
    rows_of = [vectors[list(rows)].astype(np.float64) for rows in members]
    return float(np.average([*map(mean_cosine_to_others, rows_of)], weights=[*map(len, rows_of)]))


def mean_cohesion(vectors: Vectors, members: Members) -> float:
    """Return the mean cosine of each member to its cluster's centre, over all memberships."""
    total, count = 0.0, 0
    for rows in members:
        selected = vectors[list(rows)].astype(np.float64)
        total += float((selected @ mean_direction(selected)).sum())
        count += len(rows)
    return total / max(count, 1)
