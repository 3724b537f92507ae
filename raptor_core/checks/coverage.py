"""Check that a summary holds something of each of its children, and repeats none of them."""

from dataclasses import dataclass

from raptor_core.audit.coverage import copied_child, held_children
from raptor_core.checks import base
from raptor_core.identity import QUOTED
from raptor_core.nodes import Node

MIN_COVERAGE = 0.5
"""Least share of the children of a layer's summaries of which these hold something."""


@dataclass(frozen=True, slots=True)
class _Coverage:
    """Summary with its children, those that it holds, and the child that it repeats, or None."""

    node: Node
    children: list[Node]
    is_held: list[bool]
    repeated: Node | None

    @property
    def share(self) -> float:
        return sum(self.is_held) / len(self.is_held)

    @property
    def why(self) -> str:
        if self.repeated:
            return f"repeats its child {self.repeated.id}"
        pairs = zip(self.children, self.is_held, strict=True)
        missing = [child.id for child, is_held in pairs if not is_held]
        shown = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
        return f"holds nothing of {len(missing)} of {len(self.children)} children: {shown}"


@base.check(
    "summary_coverage",
    "warn",
    "Share of children of which their summary holds something, by words and vectors, and summaries "
    "that repeat one child.",
)
def summary_coverage(layer: base.CheckedLayer) -> base.CheckMeasurement:
    """Measure the mean share of children that are held, and summaries that copy a child."""
    measured = [c for node in layer.summaries if (c := _measure(node, layer))]
    shares = [coverage.share for coverage in measured]
    n_children = sum(len(coverage.children) for coverage in measured)
    n_held = sum(sum(coverage.is_held) for coverage in measured)
    copies = [coverage for coverage in measured if coverage.repeated]
    numbers = {
        "summaries": len(measured),
        "children": n_children,
        "children_left_out": n_children - n_held,
        "copies_of_a_child": len(copies),
        **base.distribution("held_share", shares),
    }
    summary = "No summary to measure."
    passed = not copies
    if measured:
        mean = n_held / n_children
        numbers["coverage"] = round(mean, base.DIGITS)
        passed = passed and mean >= MIN_COVERAGE
        summary = (
            f"Summaries hold something of {base.percent(mean)} of their children (at least "
            f"{base.percent(MIN_COVERAGE)}); {len(copies)} of {len(measured)} repeat one child."
        )
    ranked = sorted(measured, key=lambda c: (c.repeated is None, c.share, c.node.id))
    worst = [
        base.WorstNode.of(coverage.node, coverage.share, coverage.why)
        for coverage in ranked
        if coverage.repeated or coverage.share < 1
    ]
    remedy = (
        "Read the summaries named; raise summarizer.max_tokens, or try another summarizer.model."
    )
    return base.CheckMeasurement(passed, summary, numbers, worst, remedy)


def _measure(node: Node, layer: base.CheckedLayer) -> _Coverage | None:
    children = base.children_of(node, layer.below)
    if not children:
        return None
    texts, vectors = [child.text for child in children], layer.vectors
    cosines = None
    if node.id in vectors and all(child.id in vectors for child in children):
        cosines = [float(vectors[child.id] @ vectors[node.id]) for child in children]
    # A quoting summary of short children may be one of them, and a lone child leaves out none.
    is_quoted = layer.quotes or not QUOTED.isdisjoint(node.quality)
    quotes = is_quoted or len(children) == 1
    row = None if quotes else copied_child(node.text, texts)
    repeated = None if row is None else children[row]
    return _Coverage(node, children, held_children(node.text, texts, cosines), repeated)
