"""How much shorter a summary is than what it summarizes (paper, table 10: 0.28)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.distribution import Distribution, distribution
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, children_of, verdict
from raptor_core.settings import CheckSettings

PAPER_RATIO = 0.28
PAPER_SUMMARY_TOKENS = 131
PAPER_CHILD_TOKENS = 85.6
COMPRESSION = CheckInfo(
    "compression_ratio",
    "warn",
    "Mean of a summary's tokens over its children's tokens, against the bounds set "
    f"(the paper's mean is {PAPER_RATIO}).",
)


@dataclass(frozen=True, slots=True)
class Compression:
    """One summary: its tokens, its children's together, and how many children it has."""

    node_id: str
    text: str
    n_tokens: int
    child_tokens: int
    n_children: int

    @property
    def ratio(self) -> float:
        """Summary tokens over children's tokens, above 0."""
        return self.n_tokens / self.child_tokens

    @property
    def strangeness(self) -> float:
        """Distance to the paper's ratio: twice as long is as strange as half as long."""
        return abs(math.log(max(self.ratio, 1e-6) / PAPER_RATIO))


@dataclass(frozen=True, slots=True)
class CompressionReport:
    """All summaries of a layer that have a ratio, in the layer's order.

    ``unmeasured`` counts summaries without one: a child is unknown, or no child has a token.
    """

    summaries: tuple[Compression, ...]
    unmeasured: int

    @property
    def ratios(self) -> list[float]:
        """The ratios, in the layer's order."""
        return [summary.ratio for summary in self.summaries]

    @property
    def ratio(self) -> Distribution:
        """Distribution of the ratios."""
        return distribution(self.ratios)


def measure_compression(nodes: Sequence[Node], below: Mapping[str, Node]) -> CompressionReport:
    """Ratio of every summary in ``nodes``; ``below`` maps id to node of the layer below."""
    found = []
    summaries = [node for node in nodes if not node.is_leaf]
    for node in summaries:
        children = children_of(node, below)
        child_tokens = sum(child.n_tokens for child in children)
        if child_tokens and len(children) == len(node.children):
            found.append(_compression(node, child_tokens))
    return CompressionReport(tuple(found), len(summaries) - len(found))


def _compression(node: Node, child_tokens: int) -> Compression:
    return Compression(node.id, node.text, node.n_tokens, child_tokens, len(node.children))


def evaluate_compression(report: CompressionReport, checks: CheckSettings) -> Verdict:
    """Whether the layer's mean ratio lies within ``min_compression`` and ``max_compression``."""
    low, high = checks.min_compression, checks.max_compression
    ratio = report.ratio
    numbers = {
        "summaries": float(ratio.n),
        "unmeasured": float(report.unmeasured),
        **ratio.numbers("ratio"),
        **distribution([s.n_tokens for s in report.summaries]).numbers("summary_tokens"),
        **distribution([s.child_tokens / s.n_children for s in report.summaries]).numbers(
            "child_tokens"
        ),
    }
    passed = not ratio.n or low <= ratio.mean <= high
    return verdict(
        COMPRESSION,
        passed,
        _summary(ratio, low, high),
        numbers,
        _worst(report),
        _remedy(ratio, low),
    )


def _summary(ratio: Distribution, low: float, high: float) -> str:
    if not ratio.n:
        return "No summary to measure."
    return (
        f"Summaries have {ratio.mean:.2f} of their children's tokens on average "
        f"(bounds {low:g} to {high:g}, paper {PAPER_RATIO})."
    )


def _worst(report: CompressionReport) -> list[WorstNode]:
    ranked = sorted(report.summaries, key=lambda s: (-s.strangeness, s.node_id))
    return [
        WorstNode(s.node_id, s.text, s.ratio, f"{s.n_tokens} tokens from {s.child_tokens}")
        for s in ranked[:5]
    ]


def _remedy(ratio: Distribution, low: float) -> str:
    if ratio.mean < low:
        return "Raise summarizer.ratio, min_tokens or max_tokens, or lower checks.min_compression."
    return "Lower summarizer.ratio, min_tokens or max_tokens, or raise checks.max_compression."
