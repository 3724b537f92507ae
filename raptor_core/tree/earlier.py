"""What a rebuild uses of the published tree: its clusters, and planning vectors of its layers.

Both exist before any summary is written, so a plan can predict the calls of a rebuild exactly.
``docs/adr/0004`` defines planning vectors. ``cluster`` uses both; ``published`` reads the tree.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.identity import digest
from raptor_core.nodes import ClusterFit, Node, Tree
from raptor_core.vectors import Vectors

SAME_DIRECTION = 0.9
"""Minimum cosine of the children's mean to the published one for a summary to keep its vector."""


@dataclass(frozen=True, eq=False)
class EarlierClusters:
    """The clusters over a layer of a published tree, and their fit.

    ``slots[i]`` is the slot of cluster ``i``; ``member_ids[i]`` and ``ids[i]`` are those of its
    members.
    """

    slots: tuple[str, ...]
    member_ids: tuple[tuple[str, ...], ...]
    ids: tuple[tuple[str, ...], ...]
    fit: ClusterFit

    @property
    def digest(self) -> str:
        """Digest of everything in these clusters on which anchored clustering depends."""
        rows = zip(self.slots, self.member_ids, self.ids, strict=True)
        return digest("earlier", json.dumps([*rows, asdict(self.fit)]))


def earlier_clusters(previous: Tree | None, layer: int) -> EarlierClusters | None:
    """Return the clusters over ``layer`` of a published tree, or None if it has none."""
    if previous is None or layer >= len(previous.fits):
        return None
    above = previous.layers[layer + 1].nodes
    return EarlierClusters(
        slots=tuple(node.slot for node in above),
        member_ids=tuple(tuple(c.stable_id for c in previous.children(node.id)) for node in above),
        ids=tuple(node.children for node in above),
        fit=previous.fits[layer],
    )


def planning_vectors(
    layers: Sequence[Sequence[Node]], leaf_vectors: Vectors, previous: Tree
) -> Vectors:
    """Compute planning vectors for the last of ``layers``, which needs no texts of summaries.

    The layers are from the leaves up; ``leaf_vectors`` has shape ``(len(layers[0]), n_dims)``.
    """
    below = {node.id: row for node, row in zip(layers[0], leaf_vectors, strict=True)}
    for number, nodes in enumerate(layers[1:], 1):
        means = {node.id: mean_direction([below[c] for c in node.children]) for node in nodes}
        below = _expected_vectors(nodes, means, previous, number)
    return np.stack([below[node.id] for node in layers[-1]])


def _expected_vectors(
    nodes: Sequence[Node], means: Mapping[str, Vectors], previous: Tree, number: int
) -> dict[str, Vectors]:
    """Return planning vectors of a layer by id; ``means`` are mean directions of children."""
    if number >= len(previous.layers):
        return dict(means)
    published, below = previous.layers[number], previous.layers[number - 1]
    row_of = dict(zip((node.id for node in below.nodes), below.vectors, strict=True))
    published_means = np.stack(
        [mean_direction([row_of[c] for c in node.children]) for node in published.nodes]
    )
    shift = (published.vectors - published_means).mean(axis=0)
    vectors = {node.id: mean_direction([means[node.id], shift]) for node in nodes}
    rows = {node.slot: row for row, node in enumerate(published.nodes)}
    for node in nodes:
        row = rows.get(node.slot)
        if row is not None and float(published_means[row] @ means[node.id]) >= SAME_DIRECTION:
            vectors[node.id] = published.vectors[row]
    return vectors


def mean_direction(rows: Sequence[Vectors] | NDArray[np.float64]) -> Vectors:
    """Return the normalized sum of the rows."""
    total = np.sum(rows, axis=0, dtype=np.float64)
    norm = max(float(np.linalg.norm(total)), 1e-12)
    return np.asarray(total / norm, dtype=np.float32)
