"""How long chunks are, how many children and tokens a cluster has (law 3), how long its summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from raptor_core.nodes import Node
from raptor_core.quality.checks import (
    N_WORST,
    CheckedLayer,
    Measured,
    WorstNode,
    check,
    children_of,
    percent,
)
from raptor_core.quality.statistics import DIGITS, distribution, measure_mean_drift
from raptor_core.settings import Settings

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
    children = [float(len(node.children)) for node in layer.summaries]
    mean = float(np.mean(children or [low]))  # of no cluster within the bounds
    summary = "No cluster to measure."
    if children:
        summary = (
            f"Summaries have {mean:.1f} children on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_CHILDREN})."
        )
    numbers = {"clusters": len(children), **distribution("children", children)}
    if parents := parent_counts(layer.summaries):
        several = sum(n > 1 for n in parents.values()) / len(parents)
        numbers["several_parents_share"] = round(several, DIGITS)
    remedy = "Look at clustering.threshold, max_components and max_tokens: clusters are " + (
        "too small." if mean < low else "too large."
    )
    ranked = sorted(layer.summaries, key=lambda n: (-len(n.children), n.id))[:N_WORST]
    worst = [WorstNode.of(n, len(n.children), f"{len(n.children)} children") for n in ranked]
    return Measured(low <= mean <= high, summary, numbers, worst, remedy)


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
        WorstNode.of(node, n_tokens, f"{n_tokens} tokens in {len(node.children)} children")
        for n_tokens, node in over
    ]
    remedy = "Build the layer again; if it stays, the clusterer breaks its contract on max_tokens."
    return Measured(not over, summary, numbers, worst, remedy)


PAPER_RATIO = 0.28


@dataclass(frozen=True, slots=True)
class Compression:
    """One summary, and the tokens of its children together, above 0."""

    node: Node
    child_tokens: int

    @property
    def ratio(self) -> float:
        """Summary tokens over children's tokens, above 0."""
        return self.node.n_tokens / self.child_tokens

    @property
    def strangeness(self) -> float:
        """Distance to the paper's ratio: twice as long is as strange as half as long."""
        return abs(math.log(max(self.ratio, 1e-6) / PAPER_RATIO))


def compressions(nodes: Iterable[Node], below: Mapping[str, Node]) -> list[Compression]:
    """Of every summary in ``nodes`` that has a ratio; ``below`` maps id to node.

    One has none where a child is unknown, or no child has a token.
    """
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
def compression_ratio(layer: CheckedLayer) -> Measured:
    """Whether the layer's mean ratio lies within ``min_compression`` and ``max_compression``."""
    low, high = layer.settings.checks.min_compression, layer.settings.checks.max_compression
    measured = compressions(layer.summaries, layer.below)
    ratios = [one.ratio for one in measured]
    child_tokens = [one.child_tokens / len(one.node.children) for one in measured]
    numbers = {
        "summaries": len(measured),
        "unmeasured": len(layer.summaries) - len(measured),
        **distribution("ratio", ratios),
        **distribution("summary_tokens", [one.node.n_tokens for one in measured]),
        **distribution("child_tokens", child_tokens),
    }
    mean = float(np.mean(ratios or [low]))  # of no summary within the bounds
    summary = "No summary to measure."
    if ratios:
        summary = (
            f"Summaries have {mean:.2f} of their children's tokens on average "
            f"(bounds {low:g} to {high:g}, paper {PAPER_RATIO})."
        )
    way, bound = "Lower", "raise checks.max_compression"
    if mean < low:
        way, bound = "Raise", "lower checks.min_compression"
    ranked = sorted(measured, key=lambda one: (-one.strangeness, one.node.id))[:N_WORST]
    worst = [
        WorstNode.of(one.node, one.ratio, f"{one.node.n_tokens} tokens from {one.child_tokens}")
        for one in ranked
    ]
    remedy = f"{way} summarizer.ratio, min_tokens or max_tokens, or {bound}."
    return Measured(low <= mean <= high, summary, numbers, worst, remedy)


@check(
    "compression_drift",
    "warn",
    "Mean compression ratio of the layer against earlier builds of this partition.",
)
def compression_drift(layer: CheckedLayer) -> Measured:
    """Whether the layer's mean is near that of earlier builds."""
    return measure_mean_drift(layer, compression_ratio, "ratio_mean")


_CLOSING = "\"'”’»)]}*_`|"
_ENDS = ".!?…:;。！？।؟"


Texts = Mapping[tuple[str, str], str]
"""Texts that chunks are spans of, by tree and document."""


@check(
    "chunk_length",
    "warn",
    "Tokens of the chunks, share of those over chunking.max_tokens, and share of borders between "
    "two chunks that lie inside a sentence.",
)
def chunk_length(chunks: Sequence[Node], texts: Texts, settings: Settings) -> Measured:
    """Whether none is over the limit, and at most ``max_cut_sentences`` of the borders cut one.

    ``chunks`` are of one or more trees, in document order. A border cuts none where a line ends, or
    the text before it ends like a sentence; in a document without a text none is judged. Windows of
    words cut by their nature, and are told and not judged.
    """
    limit, bound = settings.chunking.max_tokens, settings.checks.max_cut_sentences
    over = sorted(
        (node for node in chunks if node.n_tokens > limit),
        key=lambda node: (-node.n_tokens, node.id),
    )
    borders = list(_borders(chunks, texts))
    cut = [node for node, is_cut in borders if is_cut]
    share = len(cut) / len(borders) if borders else 0.0
    judged = settings.chunking.method != "windows"
    numbers = {
        "chunks": len(chunks),
        **distribution("chunk_tokens", [node.n_tokens for node in chunks]),
        "over_limit_share": round(len(over) / max(1, len(chunks)), DIGITS),
    }
    if borders:
        numbers["cut_sentences_share"] = round(share, DIGITS)
    summary = (
        f"{len(over)} of {len(chunks)} chunks are over {limit} tokens; {percent(share)} of the "
        f"borders cut a sentence (at most {percent(bound)})."
    )
    worst = [WorstNode.of(node, node.n_tokens, f"{node.n_tokens} tokens") for node in over]
    worst += [WorstNode.of(node, node.n_tokens, "ends inside a sentence") for node in cut]
    remedy = "Look at the texts: are they read whole, with their line ends? " + (
        "The chunker breaks its contract on chunking.max_tokens."
        if over
        else "Sentences longer than chunking.max_tokens are cut: raise it."
    )
    return Measured(not over and (share <= bound or not judged), summary, numbers, worst, remedy)


def _borders(chunks: Sequence[Node], texts: Texts) -> Iterator[tuple[Node, bool]]:
    """Each chunk with one behind it in its document, and whether a sentence is cut there."""
    for before, after in pairwise(chunks):
        place = before.tree, before.documents[0]
        if place != (after.tree, after.documents[0]) or place not in texts:
            continue
        text = texts[place]
        between = text[before.end : after.start]
        told = text[before.start : before.end].rstrip().rstrip(_CLOSING)
        yield before, "\n" not in between and not told.endswith(tuple(_ENDS))
