"""How many children a summary has, and how many tokens its cluster holds (law 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.distribution import Distribution, distribution
from raptor_core.quality.verdicts import (
    N_WORST,
    CheckInfo,
    Verdict,
    WorstNode,
    children_of,
    verdict,
)
from raptor_core.settings import CheckSettings

PAPER_CHILDREN = 6.7
CLUSTER_SIZE = CheckInfo(
    "cluster_size",
    "warn",
    "Mean number of children per summary, against the bounds set "
    f"(the paper's mean is {PAPER_CHILDREN}).",
)
TOKEN_BUDGET = CheckInfo(
    "token_budget",
    "error",
    "No cluster holds more tokens than the summarizer may read (clustering.max_tokens).",
)


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """One summary: its children, and the tokens of those that are known."""

    node_id: str
    text: str
    n_children: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class ClusterSizeReport:
    """All clusters of a layer in the layer's order, and the budget they must keep, in tokens."""

    clusters: tuple[ClusterSize, ...]
    budget_tokens: int

    @property
    def sizes(self) -> list[int]:
        """Children per summary, in the layer's order."""
        return [cluster.n_children for cluster in self.clusters]

    @property
    def children(self) -> Distribution:
        """Distribution of children per summary."""
        return distribution(self.sizes)

    @property
    def tokens(self) -> Distribution:
        """Distribution of tokens per cluster."""
        return distribution([cluster.n_tokens for cluster in self.clusters])

    @property
    def over_budget(self) -> list[ClusterSize]:
        """Clusters that hold more tokens than the budget, largest first."""
        over = [c for c in self.clusters if c.n_tokens > self.budget_tokens]
        return sorted(over, key=lambda c: (-c.n_tokens, c.node_id))


def measure_cluster_size(
    nodes: Sequence[Node], below: Mapping[str, Node], budget_tokens: int
) -> ClusterSizeReport:
    """Children and tokens of every cluster behind the summaries in ``nodes``."""
    clusters = tuple(
        ClusterSize(
            node.id,
            node.text,
            len(node.children),
            sum(child.n_tokens for child in children_of(node, below)),
        )
        for node in nodes
        if not node.is_leaf
    )
    return ClusterSizeReport(clusters, budget_tokens)


def evaluate_cluster_size(report: ClusterSizeReport, checks: CheckSettings) -> Verdict:
    """Whether the layer's mean lies within ``min_children`` and ``max_children``."""
    low, high = checks.min_children, checks.max_children
    children = report.children
    passed = not children.n or low <= children.mean <= high
    summary = "No cluster to measure."
    if children.n:
        summary = (
            f"Summaries have {children.mean:.1f} children on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_CHILDREN})."
        )
    numbers = {"clusters": float(children.n), **children.numbers("children")}
    remedy = "Look at clustering.threshold, max_components and max_tokens: clusters are " + (
        "too small." if children.mean < low else "too large."
    )
    ranked = sorted(report.clusters, key=lambda c: (-c.n_children, c.node_id))[:N_WORST]
    worst = [WorstNode(c.node_id, c.text, c.n_children, f"{c.n_children} children") for c in ranked]
    return verdict(CLUSTER_SIZE, passed, summary, numbers, worst, remedy)


def evaluate_token_budget(report: ClusterSizeReport) -> Verdict:
    """Whether every cluster keeps the budget."""
    over, budget = report.over_budget, report.budget_tokens
    tokens = report.tokens
    numbers = {
        "over_budget": float(len(over)),
        "budget_tokens": float(budget),
        **tokens.numbers("cluster_tokens"),
    }
    summary = (
        f"{len(over)} of {tokens.n} clusters hold more than {budget} tokens."
        if over
        else f"All {tokens.n} clusters keep the budget of {budget} tokens."
    )
    worst = [
        WorstNode(c.node_id, c.text, c.n_tokens, f"{c.n_tokens} tokens in {c.n_children} children")
        for c in over
    ]
    remedy = "Build the layer again; if it stays, the clusterer breaks its contract on max_tokens."
    return verdict(TOKEN_BUDGET, not over, summary, numbers, worst, remedy)
