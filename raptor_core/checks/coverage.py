"""The check that summaries contain something of each child, and that none is a copy of a child.

The comparison of texts is in ``raptor_core.audit.coverage``.
"""

from dataclasses import dataclass

from raptor_core.audit.coverage import copied_child, covered_children
from raptor_core.checks import base
from raptor_core.identity import QUOTED
from raptor_core.nodes import Node

MIN_COVERAGE = 0.5
"""Minimum share of children that their summaries cover, over a layer."""


@dataclass(frozen=True, slots=True)
class _Coverage:
    """A summary, its children, which of them it covers, and the child that it copies, or None."""

    node: Node
    children: list[Node]
    is_covered: list[bool]
    copied: Node | None

    @property
    def share(self) -> float:
        return sum(self.is_covered) / len(self.is_covered)

    @property
    def why(self) -> str:
        if self.copied:
            return f"repeats its child {self.copied.id}"
        pairs = zip(self.children, self.is_covered, strict=True)
        missing = [child.id for child, is_covered in pairs if not is_covered]
        shown = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
        return f"omits {len(missing)} of {len(self.children)} children: {shown}"


@base.check(
    "summary_coverage",
    "warn",
    "Share of children of which their summary contains something, by words and vectors, and "
    "summaries that repeat one child.",
)
def summary_coverage(layer: base.CheckedLayer) -> base.CheckMeasurement:
    """Measure the mean share of children that are covered, and summaries that copy a child."""
    measured = [c for node in layer.summaries if (c := _measure(node, layer))]
    shares = [coverage.share for coverage in measured]
    n_children = sum(len(coverage.children) for coverage in measured)
    n_covered = sum(sum(coverage.is_covered) for coverage in measured)
    copies = [coverage for coverage in measured if coverage.copied]
    numbers = {
        "summaries": len(measured),
        "children": n_children,
        "children_left_out": n_children - n_covered,
        "copies_of_a_child": len(copies),
        **base.distribution("held_share", shares),
    }
    summary = "No summary to measure."
    passed = not copies
    if measured:
        mean = n_covered / n_children
        numbers["coverage"] = round(mean, base.DIGITS)
        passed = passed and mean >= MIN_COVERAGE
        summary = (
            f"Summaries contain something of {base.percent(mean)} of their children (at least "
            f"{base.percent(MIN_COVERAGE)}); {len(copies)} of {len(measured)} repeat one child."
        )
    ranked = sorted(measured, key=lambda c: (c.copied is None, c.share, c.node.id))
    worst = [
        base.WorstNode.of(coverage.node, coverage.share, coverage.why)
        for coverage in ranked
        if coverage.copied or coverage.share < 1
    ]
    remedy = "Read these summaries; raise summarizer.max_tokens, or try another summarizer.model."
    return base.CheckMeasurement(passed, summary, numbers, worst, remedy)


def _measure(node: Node, layer: base.CheckedLayer) -> _Coverage | None:
    children = base.children_of(node, layer.below)
    if not children:
        return None
    texts, vectors = [child.text for child in children], layer.vectors
    cosines = None
    if node.id in vectors and all(child.id in vectors for child in children):
        cosines = [float(vectors[child.id] @ vectors[node.id]) for child in children]
    # A summary that quotes short children, or summarizes only one, may equal a child.
    is_quoted = layer.quotes or not QUOTED.isdisjoint(node.quality)
    quotes = is_quoted or len(children) == 1
    row = None if quotes else copied_child(node.text, texts)
    copied = None if row is None else children[row]
    return _Coverage(node, children, covered_children(node.text, texts, cosines), copied)
