"""Summaries of one layer that say nearly the same: clusters that should have been one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.nodes import Node
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.duplicates import pairs_by_vectors, pairs_by_words
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, percent, verdict
from raptor_core.settings import CheckSettings
from raptor_core.vectors import Vectors

NEAR_DUPLICATES = CheckInfo(
    "near_duplicates",
    "warn",
    "Share of summaries that say nearly what another of their layer and tree says: on a layer by "
    "their words, on `tree` by their vectors.",
)


@dataclass(frozen=True, slots=True)
class Twin:
    """A summary, the one that it repeats, and how alike they are, in [0, 1], by what."""

    node: Node
    other: Node
    likeness: float
    by: str


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """``checked`` summaries, and the pairs among them, most alike first."""

    checked: int
    twins: tuple[Twin, ...]

    @property
    def n_repeated(self) -> int:
        """Summaries that could go: of each group of near duplicates all but one."""
        leader: dict[str, str] = {}

        def find(node_id: str) -> str:
            while (up := leader.get(node_id, node_id)) != node_id:
                leader[node_id] = node_id = leader.get(up, up)
            return node_id

        joined = 0
        for twin in self.twins:
            one, other = find(twin.node.id), find(twin.other.id)
            joined += one != other
            leader[other] = one
        return joined

    @property
    def share(self) -> float:
        """Share of the checked summaries that could go."""
        return self.n_repeated / self.checked if self.checked else 0.0

    def __add__(self, other: DuplicateReport) -> DuplicateReport:
        """Both reports as one."""
        twins = sorted((*self.twins, *other.twins), key=lambda twin: (-twin.likeness, twin.node.id))
        return DuplicateReport(self.checked + other.checked, tuple(twins))


def measure_near_duplicates(
    nodes: Sequence[Node], checks: CheckSettings, vectors: Vectors | None = None
) -> DuplicateReport:
    """Near duplicates among the summaries in ``nodes``, of one layer and one or more trees.

    Equal documents in two trees give equal summaries, so only pairs of one tree count.

    Args:
        nodes: of one layer.
        checks: what counts as near.
        vectors: row for row, unit norm: compare these, not the words.
    """
    by_tree: dict[str, list[int]] = {}
    for row, node in enumerate(nodes):
        if not node.is_leaf:
            by_tree.setdefault(node.tree, []).append(row)
    twins: list[Twin] = []
    for rows in by_tree.values():
        summaries = [nodes[row] for row in rows]
        if vectors is None:
            pairs = pairs_by_words([node.text for node in summaries], checks.near_duplicate)
        else:
            least = checks.near_duplicate_similarity
            pairs = pairs_by_vectors(vectors[np.array(rows)], least)
        by = "words" if vectors is None else "cosine"
        twins += [Twin(nodes[rows[p.first]], nodes[rows[p.second]], p.likeness, by) for p in pairs]
    n_checked = sum(map(len, by_tree.values()))
    return DuplicateReport(0, ()) + DuplicateReport(n_checked, tuple(twins))


def evaluate_near_duplicates(report: DuplicateReport, checks: CheckSettings) -> Verdict:
    """Whether at most ``max_near_duplicates`` of the summaries repeat another."""
    numbers = {
        "summaries": float(report.checked),
        "near_duplicates": float(report.n_repeated),
        "near_duplicate_pairs": float(len(report.twins)),
    }
    summary = "No summary to compare."
    if report.checked:
        numbers["near_duplicate_share"] = round(report.share, DIGITS)
        summary = (
            f"{report.n_repeated} of {report.checked} summaries nearly repeat another of their "
            f"layer (at most {percent(checks.max_near_duplicates)})."
        )
    worst = [
        WorstNode(t.node.id, t.node.text, t.likeness, f"as {t.other.id} ({t.by} {t.likeness:.2f})")
        for t in report.twins
    ]
    remedy = (
        "Look for copied documents first; else raise clustering.threshold, so that fewer nodes "
        "join several clusters."
    )
    passed = report.share <= checks.max_near_duplicates
    return verdict(NEAR_DUPLICATES, passed, summary, numbers, worst, remedy)
