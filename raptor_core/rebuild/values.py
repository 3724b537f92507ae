"""A plan as frozen values, tree by tree and layer by layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from raptor_core.models.money.usage import Cost
from raptor_core.nodes import Node, Tree

NOTHING = Cost()
ESTIMATE_ERROR = 0.25
"""Share by which the estimate of a first build may be off: 0.14 to 0.23 were measured."""

Action = Literal["build", "rebuild", "keep", "drop"]


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """One layer of summaries.

    Attributes:
        layer: from 1.
        n_kept: nodes that stay as they are.
        n_added: nodes with new content.
        n_removed: nodes of the published tree that go.
        n_touched: clusters that go on with changed content.
        n_new: clusters that were not there before.
        n_split: clusters that grew over their bounds and are split.
        n_merged: clusters that go, because too little is left of them or another took them in.
        fitted: why clusters are fitted anew; empty where none are.
        n_reused: added nodes whose text is in the store already.
        lower_bound: distinct ancestors in this layer of changed leaves: what no rebuild can
            spare. In a tree that is built from scratch it is the estimated size of the layer, and
            no bound: where the layers will lie follows from texts that are not written yet.
        cost: summaries to make.
        drift: share of the nodes below that were placed one by one since the last fit.
        cohesion: mean cosine of a member to its cluster's centre; 0.0 where it is not yet known.
    """

    layer: int
    n_kept: int = 0
    n_added: int = 0
    n_removed: int = 0
    n_touched: int = 0
    n_new: int = 0
    n_split: int = 0
    n_merged: int = 0
    fitted: str = ""
    n_reused: int = 0
    lower_bound: int = 0
    cost: Cost = NOTHING
    drift: float = 0.0
    cohesion: float = 0.0


@dataclass(frozen=True, slots=True)
class TreePlan:
    """One tree.

    Attributes:
        tree: its name.
        action: what happens to it.
        reason: why it is built from scratch; empty where it goes on from what is published.
        n_leaves_kept, n_leaves_added, n_leaves_removed: leaves.
        layers: of summaries, from 1.
        embedding: texts to embed; those of summaries by their expected length.
        exact: whether the calls are known; else they are estimated from the sizes of layers.
        end: why the tree ends at its top; empty where that is estimated.
    """

    tree: str
    action: Action
    reason: str = ""
    n_leaves_kept: int = 0
    n_leaves_added: int = 0
    n_leaves_removed: int = 0
    layers: tuple[LayerPlan, ...] = ()
    embedding: Cost = NOTHING
    exact: bool = True
    end: str = ""

    @property
    def summaries(self) -> Cost:
        """Summaries to make, in all layers."""
        return sum((layer.cost for layer in self.layers), NOTHING)

    @property
    def lower_bound(self) -> int:
        """Distinct ancestors of changed leaves, in all layers; where not ``exact``, no bound."""
        return sum(layer.lower_bound for layer in self.layers)


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """All trees, ordered by name."""

    trees: tuple[TreePlan, ...]

    @property
    def summaries(self) -> Cost:
        """Summaries to make."""
        return sum((tree.summaries for tree in self.trees), NOTHING)

    @property
    def embedding(self) -> Cost:
        """Texts to embed."""
        return sum((tree.embedding for tree in self.trees), NOTHING)

    @property
    def cost(self) -> Cost:
        """All that is paid for."""
        return self.summaries + self.embedding

    @property
    def lower_bound(self) -> int:
        """Summaries that no rebuild can spare; where not ``exact``, an estimate and no bound."""
        return sum(tree.lower_bound for tree in self.trees)

    @property
    def summaries_range(self) -> tuple[int, int]:
        """The least and the most summaries to expect; the same where all calls are known."""
        known = sum(tree.summaries.calls for tree in self.trees if tree.exact)
        estimated = self.summaries.calls - known
        off = math.ceil(ESTIMATE_ERROR * estimated)
        return known + max(estimated - off, 0), known + estimated + off

    @property
    def exact(self) -> bool:
        """Whether the calls of every tree are known."""
        return all(tree.exact for tree in self.trees)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the totals, then every tree."""
        return {
            "exact": self.exact,
            "summaries": asdict(self.summaries),
            "summaries_range": list(self.summaries_range),
            "embedding": asdict(self.embedding),
            "cost": asdict(self.cost),
            "lower_bound": self.lower_bound,
            "trees": [{**asdict(tree), "summaries": asdict(tree.summaries)} for tree in self.trees],
        }


def nodes_of(tree: Tree | None, layer: int) -> Sequence[Node]:
    """The nodes of a layer; none where the tree, or the layer, is not there."""
    return tree.layers[layer].nodes if tree and layer < len(tree.layers) else ()
