"""Text that gives orders to the model that reads it.

Documents are fenced in every prompt, so an order is summarized as text like any other; but no fence
is sure, and whoever answers from these trees with a model of their own should know.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.injection_phrases import CHAT_MARKUP, HIDDEN, MARKUP, PHRASES, hidden
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, percent, verdict
from raptor_core.settings import CheckSettings

PROMPT_INJECTION = CheckInfo(
    "prompt_injection",
    "warn",
    "Share of chunks and summaries with text that gives orders to a language model.",
)
_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\U000e0000-\U000e007f]")


@dataclass(frozen=True, slots=True)
class Ordered:
    """A node with such text, and what the text does."""

    node: Node
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InjectionReport:
    """``checked`` nodes, and those with such text."""

    checked: int
    nodes: tuple[Ordered, ...]

    @property
    def share(self) -> float:
        """Share of the checked nodes that have such text."""
        return len(self.nodes) / self.checked if self.checked else 0.0


def orders(text: str) -> tuple[str, ...]:
    """What a text does to a model that reads it; empty for plain text.

    Words are found whatever their case, width and spacing, and with unseen characters in them.
    """
    plain = _NO_WIDTH.sub("", unicodedata.normalize("NFKC", text))
    words = " ".join(plain.casefold().split())
    found = [phrase.kind for phrase in PHRASES if phrase.is_in(words)]
    found += [MARKUP] if CHAT_MARKUP.search(plain) else []
    found += [HIDDEN] if hidden(text) else []
    return tuple(found)


def measure_injection(nodes: Iterable[Node]) -> InjectionReport:
    """Look at every text once."""
    checked, found = 0, []
    for node in nodes:
        checked += 1
        if kinds := orders(node.text):
            found.append(Ordered(node, kinds))
    return InjectionReport(checked, tuple(found))


def evaluate_injection(report: InjectionReport, checks: CheckSettings) -> Verdict:
    """Whether at most ``max_injected`` of the nodes give orders."""
    found = sorted(report.nodes, key=lambda n: (not n.node.is_leaf, -len(n.kinds), n.node.id))
    n_leaves = sum(of.node.is_leaf for of in found)
    numbers = {
        "nodes": float(report.checked),
        "chunks_with_orders": float(n_leaves),
        "summaries_with_orders": float(len(found) - n_leaves),
        "share_with_orders": report.share,
    }
    summary = (
        f"{len(found)} of {report.checked} nodes give orders to a model "
        f"(at most {percent(checks.max_injected)})."
    )
    worst = [
        WorstNode(of.node.id, of.node.text, len(of.kinds), "; ".join(of.kinds)) for of in found
    ]
    remedy = (
        "Read the passages. Leave the document out with source.exclude, or keep it and fence what "
        "a model is given; raise checks.max_injected where documents tell of such text."
    )
    return verdict(
        PROMPT_INJECTION, report.share <= checks.max_injected, summary, numbers, worst, remedy
    )
