"""Law 3: whoever is below the top has a parent, and no cluster has one member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.verdicts import N_WORST, CheckInfo, Verdict, WorstNode, verdict

COVERAGE = CheckInfo(
    "coverage",
    "error",
    "Every node below has a parent, no summary has fewer than two children, and every child and "
    "every id exists exactly once.",
)


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """What breaks law 3, as nodes in the layer's order.

    Attributes:
        checked: nodes looked at, of this layer and the one below.
        orphans: nodes below without a parent, though their tree goes on above them.
        singles: summaries of fewer than two distinct children.
        unknown: summaries with a child that is not in the layer below of their tree.
        duplicates: nodes whose id occurred before.
    """

    checked: int
    orphans: tuple[Node, ...] = ()
    singles: tuple[Node, ...] = ()
    unknown: tuple[Node, ...] = ()
    duplicates: tuple[Node, ...] = ()

    def __add__(self, other: CoverageReport) -> CoverageReport:
        """Both reports as one."""
        return CoverageReport(
            self.checked + other.checked,
            self.orphans + other.orphans,
            self.singles + other.singles,
            self.unknown + other.unknown,
            self.duplicates + other.duplicates,
        )


def measure_coverage(nodes: Sequence[Node], below: Mapping[str, Node]) -> CoverageReport:
    """Hold one layer of summaries against the layer below.

    A tree without a node in ``nodes`` ended below: its nodes need no parent.
    """
    summaries = [node for node in nodes if not node.is_leaf]
    trees = {node.tree for node in summaries}
    covered = {(node.tree, child) for node in summaries for child in node.children}
    return CoverageReport(
        checked=len(nodes) + len(below),
        orphans=tuple(
            n for n in below.values() if n.tree in trees and (n.tree, n.id) not in covered
        ),
        singles=tuple(n for n in summaries if len(set(n.children)) < 2),
        unknown=tuple(n for n in summaries if _has_unknown_child(n, below)),
        duplicates=tuple(_repeated(nodes)),
    )


def measure_tree_coverage(layers: Sequence[Sequence[Node]]) -> CoverageReport:
    """Hold all layers, leaves first, against each other; they may be of several trees."""
    report = CoverageReport(0)
    below: dict[str, Node] = {}
    for nodes in layers:
        report += measure_coverage(nodes, below)
        below = {node.id: node for node in nodes}
    n_nodes = sum(len(nodes) for nodes in layers)
    across = tuple(_repeated(node for nodes in layers for node in nodes))
    return CoverageReport(n_nodes, report.orphans, report.singles, report.unknown, across)


def evaluate_coverage(report: CoverageReport) -> Verdict:
    """Whether nothing breaks law 3."""
    broken = {
        "without a parent": report.orphans,
        "with fewer than two children": report.singles,
        "with an unknown child": report.unknown,
        "with an id that occurs twice": report.duplicates,
    }
    found = {what: nodes for what, nodes in broken.items() if nodes}
    summary = "; ".join(f"{len(nodes)} nodes {what}" for what, nodes in found.items())
    numbers = {
        "nodes_checked": float(report.checked),
        "nodes_without_parent": float(len(report.orphans)),
        "clusters_of_one": float(len(report.singles)),
        "unknown_children": float(len(report.unknown)),
        "duplicate_ids": float(len(report.duplicates)),
    }
    worst = [
        WorstNode(n.id, n.text, len(n.children), f"node {what}")
        for what, nodes in found.items()
        for n in nodes[:N_WORST]
    ]
    remedy = "Build the partition again from its chunks; if it stays, the clusterer is at fault."
    told = f"{summary}." if found else f"All {report.checked} nodes are covered."
    return verdict(COVERAGE, not found, told, numbers, worst, remedy)


def _has_unknown_child(node: Node, below: Mapping[str, Node]) -> bool:
    found = (below.get(child) for child in node.children)
    return any(child is None or child.tree != node.tree for child in found)


def _repeated(nodes: Iterable[Node]) -> list[Node]:
    """Every node after the first with its id."""
    seen: Counter[str] = Counter()
    repeated = []
    for node in nodes:
        seen[node.id] += 1
        if seen[node.id] > 1:
            repeated.append(node)
    return repeated
