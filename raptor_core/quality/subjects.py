"""What checks are run on: a layer of summaries, and the finished trees of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from raptor_core.nodes import Node, Tree
from raptor_core.quality.verdicts import children_of
from raptor_core.settings import Settings

LayerMeans = Mapping[str, float]
"""Means of one layer in one build, by name: what its later builds are compared with."""


@dataclass(frozen=True)
class CheckedLayer:
    """One layer of summaries, of one or more trees; it may be empty.

    Attributes:
        nodes: in order of position.
        below: node of the layer below by id.
        settings: with the bounds.
        past: means of earlier builds, oldest first.
        quotes: the summaries are their children's own sentences: no model made junk of them or
            cut them, whatever they look like.
    """

    nodes: Sequence[Node]
    below: Mapping[str, Node]
    settings: Settings
    past: Sequence[LayerMeans] = ()
    quotes: bool = False

    @cached_property
    def summaries(self) -> list[Node]:
        """The nodes that are no leaves."""
        return [node for node in self.nodes if not node.is_leaf]

    @property
    def written(self) -> list[Node]:
        """The summaries that a model wrote."""
        return [] if self.quotes else self.summaries

    def texts_below(self, node: Node) -> list[str]:
        """Texts of the node's children."""
        return [child.text for child in children_of(node, self.below)]


@dataclass(frozen=True)
class CheckedTrees:
    """The trees of a partition."""

    trees: Sequence[Tree]
    settings: Settings

    @cached_property
    def layers(self) -> list[list[Node]]:
        """The nodes of all trees, layer by layer from the leaves up."""
        depth = max((len(tree.layers) for tree in self.trees), default=0)
        return [
            [n for tree in self.trees if at < len(tree.layers) for n in tree.layers[at].nodes]
            for at in range(depth)
        ]
