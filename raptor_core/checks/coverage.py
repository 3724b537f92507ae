"""The check that summaries contain something of each child, and that none is a copy of a child.

Words are weighted by rarity among the siblings, so that topic words, which all of them share, count
little. A model may paraphrase, so few common words suffice.
"""

import math
from collections import Counter
from collections.abc import Sequence

from raptor_core.audit.base import sentence_texts
from raptor_core.audit.collage import fold_case_and_spaces
from raptor_core.checks import base
from raptor_core.identity import QUOTED
from raptor_core.models.summarizing.sentence import content_terms
from raptor_core.nodes import Node

MIN_COVERAGE = 0.5
"""Minimum share of children that their summaries cover, over a layer."""


@base.check(
    "summary_coverage",
    "warn",
    "Share of children of which their summary contains some words, and summaries that repeat one "
    "child.",
)
def summary_coverage(layer: base.CheckedLayer) -> base.CheckMeasurement:
    """Measure the mean share of children that are covered, and summaries that copy a child."""
    shares: list[float] = []
    worst: list[base.WorstNode] = []
    n_children = n_covered = n_copies = 0
    for node in layer.summaries:
        children = base.children_of(node, layer.nodes_below)
        if not children:
            continue
        word_share = zip(
            children, covered_word_shares(node.text, [c.text for c in children]), strict=True
        )
        missing = [child for child, share in word_share if share < COVERED_SHARE]
        copied = _find_copied_child(node, children, layer)
        shares.append(1 - len(missing) / len(children))
        n_children += len(children)
        n_covered += len(children) - len(missing)
        n_copies += copied is not None
        if copied is not None:
            worst.append(base.WorstNode.from_node(node, -1.0, f"repeats its child {copied.id}"))
        elif missing:
            shown = ", ".join(child.id for child in missing[:3]) + " …" * (len(missing) > 3)
            why = f"omits {len(missing)} of {len(children)} children: {shown}"
            worst.append(base.WorstNode.from_node(node, shares[-1], why))
    numbers = {
        "summaries": len(shares),
        "children": n_children,
        "children_left_out": n_children - n_covered,
        "copies_of_a_child": n_copies,
        **base.distribution_figures("held_share", shares),
    }
    summary, passed = "No summary to measure.", not n_copies
    if shares:
        mean = n_covered / n_children
        numbers["coverage"] = round(mean, base.DIGITS)
        passed = passed and mean >= MIN_COVERAGE
        summary = (
            f"Summaries contain something of {base.format_percent(mean)} of their children (at "
            "least "
            f"{base.format_percent(MIN_COVERAGE)}); {n_copies} of {len(shares)} repeat one child."
        )
    remedy = "Read these summaries; raise summarizer.max_tokens, or try another summarizer.model."
    worst.sort(key=lambda entry: (entry.value, entry.node_id))
    return base.CheckMeasurement(passed, summary, numbers, worst, remedy)


def _find_copied_child(
    node: Node, children: Sequence[Node], layer: base.CheckedLayer
) -> Node | None:
    """Return the child that a summary repeats, or None.

    A summary that quotes short children, or summarizes only one, may equal a child.
    """
    is_quoted = layer.is_extractive or not QUOTED.isdisjoint(node.quality)
    if is_quoted or len(children) == 1:
        return None
    row = copied_child_index(node.text, [child.text for child in children])
    return None if row is None else children[row]


COVERED_SHARE = 0.1
"""Minimum share of a child's weighted words in its summary to count as covered."""


def covered_word_shares(summary: str, children: Sequence[str]) -> list[float]:
    """Return the weighted share of each child's content words that are in the summary.

    The share of a child without content words is 1.
    """
    terms = [content_terms(child) for child in children]
    counts = Counter(term for of_child in terms for term in of_child)
    weights = {term: math.log((len(children) + 1) / (n + 0.5)) for term, n in counts.items()}
    written = content_terms(summary)

    def weigh(some: frozenset[str]) -> float:
        return math.fsum(weights[term] for term in some)  # exact in any order

    return [weigh(each & written) / weigh(each) if each else 1.0 for each in terms]


COPY_SHARE = 0.8
"""Minimum share of a summary, and of a child, in common sentences for the summary to be a copy."""


def copied_child_index(summary: str, children: Sequence[str]) -> int | None:
    """Return the index of the child that the summary repeats sentence by sentence, or None."""
    pieces = [fold_case_and_spaces(sentence) for sentence in sentence_texts(summary)]
    n_chars = sum(map(len, pieces))
    for row, child in enumerate(map(fold_case_and_spaces, children)):
        n_shared = sum(len(piece) for piece in pieces if piece in child)
        if n_shared >= COPY_SHARE * max(n_chars, len(child)):
            return row
    return None
