"""How many children a summary has, and how many tokens its cluster holds (law 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from raptor_core.nodes import Node
from raptor_core.quality.distribution import DIGITS, distribution
from raptor_core.quality.history import measure_mean_drift
from raptor_core.quality.subjects import CheckedLayer
from raptor_core.quality.verdicts import N_WORST, Measured, WorstNode, check, children_of

PAPER_CHILDREN = 6.7


def parent_counts(summaries: Iterable[Node]) -> Counter[str]:
    """How many parents each node under ``summaries`` has, by id: several by soft membership."""
    return Counter(child for node in summaries for child in node.children)


@check(
    "cluster_size",
    "warn",
    "Mean number of children per summary, against the bounds set "
    f"(the paper's mean is {PAPER_CHILDREN}).",
)
def cluster_size(layer: CheckedLayer) -> Measured:
    """Whether the layer's mean lies within ``min_children`` and ``max_children``."""
    low, high = layer.settings.checks.min_children, layer.settings.checks.max_children
    children = distribution([len(node.children) for node in layer.summaries])
    passed = not children.n or low <= children.mean <= high
    summary = "No cluster to measure."
    if children.n:
        summary = (
            f"Summaries have {children.mean:.1f} children on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_CHILDREN})."
        )
    numbers = {"clusters": float(children.n), **children.numbers("children")}
    if parents := parent_counts(layer.summaries):
        several = sum(n > 1 for n in parents.values()) / len(parents)
        numbers["several_parents_share"] = round(several, DIGITS)
    remedy = "Look at clustering.threshold, max_components and max_tokens: clusters are " + (
        "too small." if children.mean < low else "too large."
    )
    ranked = sorted(layer.summaries, key=lambda n: (-len(n.children), n.id))[:N_WORST]
    worst = [WorstNode.of(n, len(n.children), f"{len(n.children)} children") for n in ranked]
    return Measured(passed, summary, numbers, worst, remedy)


@check(
    "cluster_size_drift",
    "warn",
    "Mean number of children per summary of the layer against earlier builds of this partition.",
)
def cluster_size_drift(layer: CheckedLayer) -> Measured:
    """Whether the layer's mean is near that of earlier builds."""
    return measure_mean_drift(layer, cluster_size, "children_mean")


@check(
    "token_budget",
    "error",
    "No cluster holds more tokens than the summarizer may read (clustering.max_tokens).",
)
def token_budget(layer: CheckedLayer) -> Measured:
    """Whether every cluster keeps the budget."""
    budget = layer.settings.clustering.max_tokens
    sized = [
        (sum(child.n_tokens for child in children_of(node, layer.below)), node)
        for node in layer.summaries
    ]
    over = sorted((s for s in sized if s[0] > budget), key=lambda s: (-s[0], s[1].id))
    tokens = distribution([n_tokens for n_tokens, _ in sized])
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
        WorstNode.of(node, n_tokens, f"{n_tokens} tokens in {len(node.children)} children")
        for n_tokens, node in over
    ]
    remedy = "Build the layer again; if it stays, the clusterer breaks its contract on max_tokens."
    return Measured(not over, summary, numbers, worst, remedy)
