"""Values of a plan: the plan of all trees, of one tree, and of one layer.

``plan`` makes them; ``raptor_assets`` and the command show them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node, Tree
from raptor_core.settings.base import BudgetSettings

NOTHING = Usage()
ESTIMATE_ERROR = 0.5
"""Largest relative error of a layer whose size follows from the usual size of clusters."""
UPPER_ERROR = 0.5
"""Largest relative error of an upper layer whose nodes have mean directions of children."""
LIKELY_REPEATS, MOST_REPEATS = 0.1, 0.5
"""Poor answers of a chat model that are asked for again, as shares of the summaries."""
TOKEN_ERROR = 0.25
"""Largest relative error of the lengths of texts, and of the tree's token counter."""

Action = Literal["build", "rebuild", "keep", "drop"]


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """Plan of one layer of summaries.

    Attributes:
        layer: number of the layer, from 1.
        n_kept: nodes that remain unchanged.
        n_added: nodes with new content.
        n_removed: nodes of the published tree that are removed.
        n_touched: clusters that remain with changed content.
        n_new: clusters that did not exist.
        n_split: clusters that grew over their bounds and are split.
        n_merged: clusters that end: they became too small, or another cluster absorbed them.
        fitted: reason of a new fit of clusters; empty without one.
        n_reused: added nodes whose text is in the store already.
        lower_bound: distinct ancestors in this layer of changed leaves, which every rebuild must
            make; an estimate where ``error`` is not 0.
        cost: cost of the summaries to make.
        error: largest relative error of the calls to expect; 0.0 if they are known.
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
    cost: Usage = NOTHING
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class TreePlan:
    """Plan of one tree.

    Attributes:
        tree: name of the tree.
        action: "build", "rebuild", "keep" or "drop".
        reason: why it is built from scratch; empty if it continues from the published tree.
        n_leaves_kept, n_leaves_added, n_leaves_removed: numbers of leaves.
        layers: plans of the layers of summaries, from 1.
        embedding: cost of embedding; summaries count by their expected length.
        exact: true if the calls are known, false if sizes of layers are estimated.
        end: why the tree ends at its top layer; empty if that is estimated.
    """

    tree: str
    action: Action
    reason: str = ""
    n_leaves_kept: int = 0
    n_leaves_added: int = 0
    n_leaves_removed: int = 0
    layers: tuple[LayerPlan, ...] = ()
    embedding: Usage = NOTHING
    exact: bool = True
    end: str = ""

    @property
    def summaries(self) -> Usage:
        """Cost of the summaries to make, in all layers."""
        return sum((layer.cost for layer in self.layers), NOTHING)

    @property
    def lower_bound(self) -> int:
        """Distinct ancestors of changed leaves, in all layers; no bound unless ``exact``."""
        return sum(layer.lower_bound for layer in self.layers)


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """Plan of all trees, ordered by name.

    Attributes:
        calls_model: whether a model writes summaries.
        audits: expected cost of a paid judge.
        most_audits: the most that it can cost, with answers that are invalid.
    """

    trees: tuple[TreePlan, ...]
    calls_model: bool = False
    audits: Usage = NOTHING
    most_audits: Usage = NOTHING

    @property
    def summaries(self) -> Usage:
        """Cost of the summaries to make."""
        return sum((tree.summaries for tree in self.trees), NOTHING)

    @property
    def embedding(self) -> Usage:
        """Cost of the texts to embed."""
        return sum((tree.embedding for tree in self.trees), NOTHING)

    @property
    def cost(self) -> Usage:
        """Cost of summaries, embedding and audits."""
        return self.summaries + self.embedding + self.audits

    @property
    def lower_bound(self) -> int:
        """Summaries that every rebuild must make; an estimate unless ``exact``."""
        return sum(tree.lower_bound for tree in self.trees)

    @property
    def summaries_range(self) -> tuple[int, int]:
        """Least and greatest number of summaries to expect; equal if all are known."""
        layers = [layer for tree in self.trees for layer in tree.layers]
        off = math.ceil(sum(layer.error * layer.cost.calls for layer in layers))
        return max(self.summaries.calls - off, 0), self.summaries.calls + off

    @property
    def repeats(self) -> int:
        """Number of poor answers that are likely to be asked for again."""
        return round(self.calls_model * LIKELY_REPEATS * self.summaries.calls)

    @property
    def calls_range(self) -> tuple[int, int]:
        """Least and greatest number of calls for summaries, with repeats of poor answers."""
        least, most = self.summaries_range
        return least, most + math.ceil(self.calls_model * MOST_REPEATS * most)

    @property
    def usd_range(self) -> tuple[float, float] | None:
        """Least and greatest cost to expect, in US dollars; None if a price is not set."""
        prices = (self.summaries.usd, self.embedding.usd, self.audits.usd, self.most_audits.usd)
        if None in prices:
            return None
        summaries, embedding, audits, most_audits = (usd or 0.0 for usd in prices)
        each = summaries / max(self.summaries.calls, 1)
        least, most = (calls * each + embedding for calls in self.calls_range)
        return (least + audits) * (1 - TOKEN_ERROR), (most + most_audits) * (1 + TOKEN_ERROR)

    def exceeded(self, budget: BudgetSettings) -> tuple[str, ...]:
        """Return the bounds of a budget that the expected cost passes, such as "usd"."""
        cost = self.cost
        bounds = {"calls": cost.calls, "tokens": cost.tokens, "usd": cost.usd or 0.0}
        limits = ((name, getattr(budget, name)) for name in bounds)
        return tuple(name for name, most in limits if most is not None and bounds[name] > most)

    @property
    def exact(self) -> bool:
        """True if the calls of every tree are known."""
        return all(tree.exact for tree in self.trees)

    def as_dict(self) -> dict[str, Any]:
        """Return the totals and the plans of all trees as values for JSON."""
        return {
            "exact": self.exact,
            "summaries": asdict(self.summaries),
            "summaries_range": list(self.summaries_range),
            "repeats": self.repeats,
            "calls_range": list(self.calls_range),
            "embedding": asdict(self.embedding),
            "audits": asdict(self.audits),
            "most_audits": asdict(self.most_audits),
            "cost": asdict(self.cost),
            "usd_range": self.usd_range,
            "lower_bound": self.lower_bound,
            "trees": [{**asdict(tree), "summaries": asdict(tree.summaries)} for tree in self.trees],
        }


def nodes_of(tree: Tree | None, layer: int) -> Sequence[Node]:
    """Return the nodes of a layer; none if the tree or the layer does not exist."""
    return tree.layers[layer].nodes if tree and layer < len(tree.layers) else ()
