"""The values of a plan: of all trees, of a tree, and of a layer.

``plan`` makes them; ``raptor_assets`` shows them.
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
"""Maximum relative error of a layer whose size is estimated from the typical size of clusters."""
UPPER_ERROR = 0.5
"""Maximum relative error of an upper layer whose vectors are mean directions of children."""
LIKELY_REPEATS, MOST_REPEATS = 0.1, 0.5
"""Likely and maximum retries because of poor answers, as shares of the summaries."""
TOKEN_ERROR = 0.25
"""Maximum relative error of estimated lengths and of the tree's token counter."""

Action = Literal["build", "rebuild", "keep", "drop"]


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """The plan of a layer of summaries.

    Attributes:
        layer: number of the layer, from 1.
        n_kept: number of unchanged nodes.
        n_added: number of nodes with new content.
        n_removed: number of published nodes that are removed.
        n_touched: number of existing clusters with changed content.
        n_new: number of new clusters.
        n_split: number of clusters that are split because they have grown over their limits.
        n_merged: number of clusters that disappear, because they are too small or merged.
        fitted: why clusters are fitted again; "" if they are not.
        n_reused: number of added nodes whose text is already in the store or cache.
        lower_bound: number of ancestors of changed leaves in this layer, which every rebuild must
            make; an estimate if ``error`` is not 0.
        cost: cost of the summaries to make.
        error: maximum relative error of the number of calls; 0.0 if it is exact.
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
    """The plan of a tree.

    Attributes:
        tree: name of the tree.
        action: "build", "rebuild", "keep" or "drop".
        reason: why it is built from scratch; "" if it continues from the published tree.
        layers: plans of the layers of summaries, from 1.
        embedding: cost of embedding, with estimated lengths of summaries.
        exact: the number of calls is exact; if False, sizes of layers are estimated.
        end: why the tree ends at its top layer; "" if that is estimated.
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
    def summary_usage(self) -> Usage:
        """Cost of the summaries to make, in all layers."""
        return sum((layer.cost for layer in self.layers), NOTHING)

    @property
    def lower_bound(self) -> int:
        """Number of ancestors of changed leaves in all layers; an estimate unless ``exact``."""
        return sum(layer.lower_bound for layer in self.layers)


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """The plan of all trees, ordered by name.

    Attributes:
        calls_model: a model writes summaries.
        audit_usage: expected cost of a paid judge.
        max_audit_usage: maximum cost of a paid judge, if answers are invalid.
    """

    trees: tuple[TreePlan, ...]
    calls_model: bool = False
    audit_usage: Usage = NOTHING
    max_audit_usage: Usage = NOTHING

    @property
    def summary_usage(self) -> Usage:
        """Cost of the summaries to make."""
        return sum((tree.summary_usage for tree in self.trees), NOTHING)

    @property
    def embedding(self) -> Usage:
        """Cost of the texts to embed."""
        return sum((tree.embedding for tree in self.trees), NOTHING)

    @property
    def cost(self) -> Usage:
        """Cost of summaries, embedding and audits."""
        return self.summary_usage + self.embedding + self.audit_usage

    @property
    def lower_bound(self) -> int:
        """Number of summaries that every rebuild must make; an estimate unless ``exact``."""
        return sum(tree.lower_bound for tree in self.trees)

    @property
    def summaries_range(self) -> tuple[int, int]:
        """Minimum and maximum number of summaries to expect; equal if the plan is exact."""
        layers = [layer for tree in self.trees for layer in tree.layers]
        error = math.ceil(sum(layer.error * layer.cost.calls for layer in layers))
        return max(self.summary_usage.calls - error, 0), self.summary_usage.calls + error

    @property
    def expected_retries(self) -> int:
        """Likely number of retries because of poor answers."""
        return round(self.calls_model * LIKELY_REPEATS * self.summary_usage.calls)

    @property
    def calls_range(self) -> tuple[int, int]:
        """Minimum and maximum number of calls for summaries, including retries."""
        least, most = self.summaries_range
        return least, most + math.ceil(self.calls_model * MOST_REPEATS * most)

    @property
    def usd_range(self) -> tuple[float, float] | None:
        """Minimum and maximum cost to expect, in US dollars; None if a price is not set."""
        prices = (
            self.summary_usage.usd,
            self.embedding.usd,
            self.audit_usage.usd,
            self.max_audit_usage.usd,
        )
        if None in prices:
            return None
        summaries, embedding, audits, most_audits = (usd or 0.0 for usd in prices)
        each = summaries / max(self.summary_usage.calls, 1)
        least, most = (calls * each + embedding for calls in self.calls_range)
        return (least + audits) * (1 - TOKEN_ERROR), (most + most_audits) * (1 + TOKEN_ERROR)

    def exceeded_limits(self, budget: BudgetSettings) -> tuple[str, ...]:
        """Return the limits of a budget that the expected cost exceeds, such as "usd"."""
        cost = self.cost
        bounds = {"calls": cost.calls, "tokens": cost.tokens, "usd": cost.usd or 0.0}
        limits = ((name, getattr(budget, name)) for name in bounds)
        return tuple(name for name, most in limits if most is not None and bounds[name] > most)

    @property
    def exact(self) -> bool:
        """Whether the plans of all trees are exact."""
        return all(tree.exact for tree in self.trees)

    def as_dict(self) -> dict[str, Any]:
        """Return the totals and the plans of all trees as values for JSON."""
        return {
            "exact": self.exact,
            "summaries": asdict(self.summary_usage),
            "summaries_range": list(self.summaries_range),
            "repeats": self.expected_retries,
            "calls_range": list(self.calls_range),
            "embedding": asdict(self.embedding),
            "audits": asdict(self.audit_usage),
            "most_audits": asdict(self.max_audit_usage),
            "cost": asdict(self.cost),
            "usd_range": self.usd_range,
            "lower_bound": self.lower_bound,
            "trees": [
                {**asdict(tree), "summaries": asdict(tree.summary_usage)} for tree in self.trees
            ],
        }


def layer_nodes(tree: Tree | None, layer: int) -> Sequence[Node]:
    """Return the nodes of a layer; none if the tree or the layer does not exist."""
    return tree.layers[layer].nodes if tree and layer < len(tree.layers) else ()
