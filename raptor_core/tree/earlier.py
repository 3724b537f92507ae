"""What a rebuild knows of the published tree: its clusters, and vectors to arrange layers by.

All of it is known before any summary is written: content keys need no texts, and where a vector
would, the layer is arranged by *planning vectors*: a summary has the vector that its slot was
published with, one in a new slot, or whose children have become others, the mean direction of its
children, moved as far as the published summaries lie from theirs. That is why a plan can foretell
the calls of a rebuild exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from raptor_core.identity import digest
from raptor_core.nodes import Fit, Node, Tree
from raptor_core.vectors import Vectors

SAME_DIRECTION = 0.9
"""A summary of whose children the mean keeps so close to what it was is about the same things."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """The clusters over one layer of a published tree.

    ``slots[i]`` is the slot of cluster ``i``; ``anchors[i]`` and ``ids[i]`` are its members'.
    """

    slots: tuple[str, ...]
    anchors: tuple[tuple[str, ...], ...]
    ids: tuple[tuple[str, ...], ...]
    fit: Fit

    @property
    def digest(self) -> str:
        """Digest of all that clusters anchored on these depend on."""
        rows = zip(self.slots, self.anchors, self.ids, strict=True)
        return digest("earlier", json.dumps([*rows, asdict(self.fit)]))


def earlier_clusters(previous: Tree | None, layer: int) -> Earlier | None:
    """The clusters over ``layer`` of a published tree; None above its top or without one."""
    if previous is None or layer >= len(previous.fits):
        return None
    above = previous.layers[layer + 1].nodes
    return Earlier(
        slots=tuple(node.slot for node in above),
        anchors=tuple(tuple(c.anchor for c in previous.children(node.id)) for node in above),
        ids=tuple(node.children for node in above),
        fit=previous.fits[layer],
    )


def planning_vectors(
    layers: Sequence[Sequence[Node]], leaf_vectors: Vectors, previous: Tree
) -> Vectors:
    """Vectors to arrange the last of ``layers`` by, row for row, without reading its texts.

    Args:
        layers: nodes of layer 0 and of each one above it, with slots; texts are not read.
        leaf_vectors: of layer 0, shape ``(len(layers[0]), n_dims)``.
        previous: the tree that is published.
    """
    below = {node.id: row for node, row in zip(layers[0], leaf_vectors, strict=True)}
    for number, nodes in enumerate(layers[1:], 1):
        means = {node.id: mean_direction([below[c] for c in node.children]) for node in nodes}
        below = _expected(nodes, means, previous, number)
    return np.stack([below[node.id] for node in layers[-1]])


def _expected(
    nodes: Sequence[Node], means: Mapping[str, Vectors], previous: Tree, number: int
) -> dict[str, Vectors]:
    """Vectors of a layer's summaries, whose children have the mean directions ``means``."""
    if number >= len(previous.layers):
        return dict(means)
    was, under = previous.layers[number], previous.layers[number - 1]
    row_of = dict(zip((node.id for node in under.nodes), under.vectors, strict=True))
    before = np.stack([mean_direction([row_of[c] for c in node.children]) for node in was.nodes])
    usual = (was.vectors - before).mean(axis=0)
    found = {node.id: mean_direction([means[node.id], usual]) for node in nodes}
    rows = {node.slot: row for row, node in enumerate(was.nodes)}
    for node in nodes:
        row = rows.get(node.slot)
        if row is not None and float(before[row] @ means[node.id]) >= SAME_DIRECTION:
            found[node.id] = was.vectors[row]
    return found


def mean_direction(rows: Sequence[Vectors] | NDArray[np.float64]) -> Vectors:
    """Unit vector of the rows' sum."""
    total = np.sum(rows, axis=0, dtype=np.float64)
    norm = max(float(np.linalg.norm(total)), 1e-12)
    return np.asarray(total / norm, dtype=np.float32)
