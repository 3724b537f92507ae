"""What a rebuild knows of the published tree: its clusters, and vectors to arrange layers by.

All of it is known before any summary is written: content keys need no texts, and where a vector
would, the layer is arranged by *planning vectors*: an unchanged summary has the vector that it was
published with, another one the mean direction of its children, moved as far as the published
summaries lie from theirs. That is why a plan can foretell the calls of a rebuild exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from raptor_core.identity import digest
from raptor_core.nodes import Fit, Node, Tree
from raptor_core.vectors import Vectors, mean_direction


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
    """Expected vectors of a layer's summaries, whose children have the mean directions ``means``.

    A summary lies beside that mean by much the same way as the others of its layer, and as it
    did before: half of both is added to it. One that is as it was has the vector that it had.
    """
    if number >= len(previous.layers):
        return dict(means)
    was, under = previous.layers[number], previous.layers[number - 1]
    known = dict(zip((node.id for node in under.nodes), under.vectors, strict=True))
    before = np.stack([mean_direction([known[c] for c in node.children]) for node in was.nodes])
    offsets = was.vectors - before
    usual = offsets.mean(axis=0)
    own = {node.anchor: offset for node, offset in zip(was.nodes, offsets, strict=True)}
    same = {node.id: vector for node, vector in zip(was.nodes, was.vectors, strict=True)}
    return {
        node.id: same[node.id]
        if node.id in same
        else mean_direction([means[node.id], usual / 2, own.get(node.anchor, 0 * usual) / 2])
        for node in nodes
    }
