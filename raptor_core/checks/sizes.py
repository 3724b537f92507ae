"""Checks of sizes: tokens of chunks, clusters (law 3) and summaries, and children of a summary.

``structure`` checks how layers connect.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.checks.base import (
    DIGITS,
    N_WORST,
    CheckedClusters,
    CheckedLayer,
    CheckMeasurement,
    WorstNode,
    check,
    children_of,
    distribution,
)
from raptor_core.nodes import Node
from raptor_core.settings import Settings

PAPER_CHILDREN = 6.7


def parent_counts(summaries: Iterable[Node]) -> Counter[str]:
    """Return the number of parents of each child by id; soft assignment allows several."""
    return Counter(child for node in summaries for child in node.children)


@check(
    "cluster_size",
    "warn",
    "Mean number of children per summary, against the bounds set "
    f"(the paper's mean is {PAPER_CHILDREN}).",
)
def cluster_size(checked: CheckedClusters) -> CheckMeasurement:
    """Measure the mean number of children against ``min_children`` and ``max_children``."""
    low, high = checked.settings.checks.min_children, checked.settings.checks.max_children
    children = [float(len(cluster)) for cluster in checked.clusters]
    mean = float(np.mean(children or [low]))  # a layer without clusters passes
    summary = "No cluster to measure."
    if children:
        summary = (
            f"Clusters have {mean:.1f} nodes on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_CHILDREN})."
        )
    numbers = {"clusters": len(children), **distribution("children", children)}
    if parents := Counter(node.id for cluster in checked.clusters for node in cluster):
        several = sum(n > 1 for n in parents.values()) / len(parents)
        numbers["several_parents_share"] = round(several, DIGITS)
    remedy = "Look at clustering.threshold, max_components and max_tokens: clusters are " + (
        "too small." if mean < low else "too large."
    )
    ranked = sorted(checked.clusters, key=lambda cluster: (-len(cluster), cluster[0].id))
    worst = [
        WorstNode.of(cluster[0], len(cluster), f"first of {len(cluster)} nodes of a cluster")
        for cluster in ranked[:N_WORST]
    ]
    return CheckMeasurement(low <= mean <= high, summary, numbers, worst, remedy)


@check(
    "token_budget",
    "error",
    "No cluster holds more tokens than the summarizer may read (clustering.max_tokens).",
)
def token_budget(checked: CheckedClusters) -> CheckMeasurement:
    """Measure the number of clusters over the token budget."""
    budget = checked.settings.clustering.max_tokens
    sized = [(sum(node.n_tokens for node in cluster), cluster) for cluster in checked.clusters]
    over = sorted((s for s in sized if s[0] > budget), key=lambda s: (-s[0], s[1][0].id))
    numbers = {
        "over_budget": len(over),
        "budget_tokens": budget,
        **distribution("cluster_tokens", [n_tokens for n_tokens, _ in sized]),
    }
    summary = (
        f"{len(over)} of {len(sized)} clusters hold more than {budget} tokens."
        if over
        else f"All {len(sized)} clusters keep the budget of {budget} tokens."
    )
    worst = [
        WorstNode.of(cluster[0], n, f"first of {len(cluster)} nodes with {n} tokens together")
        for n, cluster in over
    ]
    remedy = "Build the layer again; if it stays, the clusterer breaks its contract on max_tokens."
    return CheckMeasurement(not over, summary, numbers, worst, remedy)


PAPER_RATIO = 0.28


@dataclass(frozen=True, slots=True)
class Compression:
    """Summary, and the total tokens of its children, above 0."""

    node: Node
    child_tokens: int

    @property
    def ratio(self) -> float:
        """Tokens of the summary over tokens of its children."""
        return self.node.n_tokens / self.child_tokens

    @property
    def deviation(self) -> float:
        """Absolute logarithm of the ratio over the paper's ratio."""
        return abs(math.log(max(self.ratio, 1e-6) / PAPER_RATIO))


def compressions(nodes: Iterable[Node], below: Mapping[str, Node]) -> list[Compression]:
    """Return the compression of every summary whose children, by id in ``below``, have tokens."""
    measured = []
    for node in nodes:
        children = children_of(node, below)
        child_tokens = sum(child.n_tokens for child in children)
        if child_tokens and len(children) == len(node.children):
            measured.append(Compression(node, child_tokens))
    return measured


@check(
    "compression_ratio",
    "warn",
    "Mean of a summary's tokens over its children's tokens, against the bounds set "
    f"(the paper's mean is {PAPER_RATIO}).",
)
def compression_ratio(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the mean ratio against ``min_compression`` and ``max_compression``."""
    low, high = layer.settings.checks.min_compression, layer.settings.checks.max_compression
    measured = compressions(layer.summaries, layer.below)
    ratios = [entry.ratio for entry in measured]
    child_tokens = [entry.child_tokens / len(entry.node.children) for entry in measured]
    numbers = {
        "summaries": len(measured),
        "unmeasured": len(layer.summaries) - len(measured),
        **distribution("ratio", ratios),
        **distribution("summary_tokens", [entry.node.n_tokens for entry in measured]),
        **distribution("child_tokens", child_tokens),
    }
    mean = float(np.mean(ratios or [low]))  # a layer without summaries passes
    summary = "No summary to measure."
    if ratios:
        summary = (
            f"Summaries have {mean:.2f} of their children's tokens on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_RATIO})."
        )
    change, bound = "Lower", "raise checks.max_compression"
    if mean < low:
        change, bound = "Raise", "lower checks.min_compression"
    ranked = sorted(measured, key=lambda entry: (-entry.deviation, entry.node.id))[:N_WORST]
    worst = [
        WorstNode.of(
            entry.node, entry.ratio, f"{entry.node.n_tokens} tokens from {entry.child_tokens}"
        )
        for entry in ranked
    ]
    remedy = f"{change} summarizer.ratio, min_tokens or max_tokens, or {bound}."
    return CheckMeasurement(low <= mean <= high, summary, numbers, worst, remedy)


@check(
    "chunk_length",
    "warn",
    "Tokens of the chunks, and share of those over chunking.max_tokens or over what the embedder "
    "reads at once.",
)
def chunk_length(chunks: Sequence[Node], settings: Settings) -> CheckMeasurement:
    """Measure chunks over the limits of tokens."""
    limit, window = settings.chunking.max_tokens, settings.max_window_tokens or math.inf
    over = sorted(
        (node for node in chunks if node.n_tokens > min(limit, window)),
        key=lambda node: (-node.n_tokens, node.id),
    )
    n_over = sum(node.n_tokens > limit for node in chunks)
    n_long = sum(node.n_tokens > window for node in chunks)
    numbers = {
        "chunks": len(chunks),
        **distribution("chunk_tokens", [node.n_tokens for node in chunks]),
        "over_limit_share": round(n_over / max(1, len(chunks)), DIGITS),
        "over_window_share": round(n_long / max(1, len(chunks)), DIGITS),
    }
    summary = f"{n_over} of {len(chunks)} chunks are over {limit} tokens."
    if n_long:
        summary += f" {n_long} are over the {window} tokens that the embedder reads at once."
    worst = [WorstNode.of(node, node.n_tokens, f"{node.n_tokens} tokens") for node in over]
    remedy = f"{settings.window_caution}."
    if n_over:
        remedy = "The chunker breaks its contract on chunking.max_tokens."
    return CheckMeasurement(not over, summary, numbers, worst, remedy)
