"""Checks of sizes: tokens of chunks, clusters (law 3) and summaries, and children per summary.

``structure`` checks how layers connect.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from raptor_core.checks.base import (
    DIGITS,
    CheckedClusters,
    CheckedLayer,
    CheckMeasurement,
    WorstNode,
    check,
    children_of,
    distribution_figures,
)
from raptor_core.nodes import Node
from raptor_core.settings import Settings

PAPER_CHILDREN = 6.7


def count_parents(summaries: Iterable[Node]) -> Counter[str]:
    """Return the number of parents of each child, by id; soft assignment allows several."""
    return Counter(child for node in summaries for child in node.children)


@check(
    "cluster_size",
    "warn",
    f"Mean number of children per summary, within bounds (the paper's mean is {PAPER_CHILDREN}).",
)
def cluster_size(checked: CheckedClusters) -> CheckMeasurement:
    """Compare the mean number of children with ``min_children`` and ``max_children``."""
    low, high = checked.settings.checks.min_children, checked.settings.checks.max_children
    children = [float(len(cluster)) for cluster in checked.clusters]
    mean = float(np.mean(children or [low]))  # a layer without clusters passes
    summary = "No cluster to measure."
    if children:
        summary = (
            f"Clusters have {mean:.1f} nodes on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_CHILDREN})."
        )
    numbers = {"clusters": len(children), **distribution_figures("children", children)}
    if parents := Counter(node.id for cluster in checked.clusters for node in cluster):
        several = sum(n > 1 for n in parents.values()) / len(parents)
        numbers["several_parents_share"] = round(several, DIGITS)
    remedy = "Look at clustering.threshold, max_components and max_tokens."
    worst = [
        WorstNode.from_node(cluster[0], len(cluster), f"first of {len(cluster)} nodes of a cluster")
        for cluster in sorted(checked.clusters, key=len, reverse=True)
    ]
    return CheckMeasurement(low <= mean <= high, summary, numbers, worst, remedy)


@check(
    "token_budget",
    "error",
    "No cluster has more tokens than the summarizer may read (clustering.max_tokens).",
)
def token_budget(checked: CheckedClusters) -> CheckMeasurement:
    """Measure the number of clusters over the token budget."""
    budget = checked.settings.clustering.max_tokens
    sized = [(sum(node.n_tokens for node in cluster), cluster) for cluster in checked.clusters]
    over = sorted((s for s in sized if s[0] > budget), key=lambda s: (-s[0], s[1][0].id))
    numbers = {
        "over_budget": len(over),
        "budget_tokens": budget,
        **distribution_figures("cluster_tokens", [n_tokens for n_tokens, _ in sized]),
    }
    summary = (
        f"{len(over)} of {len(sized)} clusters have more than {budget} tokens."
        if over
        else f"All {len(sized)} clusters keep the budget of {budget} tokens."
    )
    worst = [
        WorstNode.from_node(
            cluster[0], n, f"first of {len(cluster)} nodes with {n} tokens together"
        )
        for n, cluster in over
    ]
    remedy = "Build the layer again; if it fails again, the clusterer ignores max_tokens."
    return CheckMeasurement(not over, summary, numbers, worst, remedy)


PAPER_RATIO = 0.28


def compression_ratios(
    nodes: Iterable[Node], below: Mapping[str, Node]
) -> list[tuple[Node, float]]:
    """Return summaries with the ratios of their tokens to those of their children.

    Summaries are left out if a child is not in ``below``, or the children have no tokens.
    """
    measured = []
    for node in nodes:
        children = children_of(node, below)
        child_tokens = sum(child.n_tokens for child in children)
        if child_tokens and len(children) == len(node.children):
            measured.append((node, node.n_tokens / child_tokens))
    return measured


@check(
    "compression_ratio",
    "warn",
    "Mean ratio of a summary's tokens to those of its children, within bounds "
    f"(the paper's mean is {PAPER_RATIO}).",
)
def compression_ratio(layer: CheckedLayer) -> CheckMeasurement:
    """Compare the mean ratio with ``min_compression`` and ``max_compression``."""
    low, high = layer.settings.checks.min_compression, layer.settings.checks.max_compression
    measured = compression_ratios(layer.summaries, layer.nodes_below)
    ratios = [ratio for _, ratio in measured]
    numbers = {
        "summaries": len(measured),
        "unmeasured": len(layer.summaries) - len(measured),
        **distribution_figures("ratio", ratios),
    }
    mean = float(np.mean(ratios or [low]))  # a layer without summaries passes
    summary = "No summary to measure."
    if ratios:
        summary = (
            f"Summaries have {mean:.2f} of their children's tokens on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_RATIO})."
        )
    measured.sort(key=lambda pair: pair[1], reverse=mean >= low)
    worst = [
        WorstNode.from_node(node, ratio, f"{ratio:.2f} of its children") for node, ratio in measured
    ]
    remedy = "Change summarizer.ratio, min_tokens or max_tokens, or the bounds of this check."
    return CheckMeasurement(low <= mean <= high, summary, numbers, worst, remedy)


@check(
    "chunk_length",
    "warn",
    "Tokens of the chunks, and share of those over chunking.max_tokens or over the embedder's "
    "limit.",
)
def chunk_length(chunks: Sequence[Node], settings: Settings) -> CheckMeasurement:
    """Measure the share of chunks over the token limits."""
    limit, embedded = settings.chunking.max_tokens, settings.known_embedder_token_limit or math.inf
    over = [node for node in chunks if node.n_tokens > min(limit, embedded)]
    over.sort(key=lambda node: (-node.n_tokens, node.id))
    n_over, n_long = (sum(n.n_tokens > most for n in over) for most in (limit, embedded))
    numbers = {
        "chunks": len(chunks),
        **distribution_figures("chunk_tokens", [node.n_tokens for node in chunks]),
        "over_limit_share": round(n_over / max(1, len(chunks)), DIGITS),
        "over_window_share": round(n_long / max(1, len(chunks)), DIGITS),
    }
    summary = f"{n_over} of {len(chunks)} chunks are over {limit} tokens."
    if n_long:
        summary += f" {n_long} are over the embedder's limit of {embedded} tokens."
    worst = [WorstNode.from_node(node, node.n_tokens, f"{node.n_tokens} tokens") for node in over]
    remedy = f"{settings.long_text_warning}."
    if n_over:
        remedy = "The chunker breaks its contract to keep chunking.max_tokens."
    return CheckMeasurement(not over, summary, numbers, worst, remedy)
