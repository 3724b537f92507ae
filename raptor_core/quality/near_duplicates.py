"""Summaries of one layer that say nearly the same: clusters that should have been one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.duplicates import pairs_by_vectors, pairs_by_words
from raptor_core.quality.subjects import CheckedLayer, CheckedTrees
from raptor_core.quality.verdicts import Measured, WorstNode, check, percent
from raptor_core.settings import CheckSettings

_ABOUT = (
    "Share of summaries that say nearly what another of their layer and tree says: on a layer by "
    "their words, on `tree` by their vectors."
)


@dataclass(frozen=True, slots=True)
class Twin:
    """A summary, the one that it repeats, and how alike they are, in [0, 1], by what."""

    node: Node
    other: Node
    likeness: float
    by: str


@check("near_duplicates", "warn", _ABOUT)
def near_duplicates(layer: CheckedLayer) -> Measured:
    """Whether at most ``max_near_duplicates`` of the summaries repeat another by their words.

    Equal documents in two trees give equal summaries, so only pairs of one tree count.
    """
    by_tree: dict[str, list[Node]] = {}
    for node in layer.summaries:
        by_tree.setdefault(node.tree, []).append(node)
    checks = layer.settings.checks
    twins = [
        Twin(nodes[pair.first], nodes[pair.second], pair.likeness, "words")
        for nodes in by_tree.values()
        for pair in pairs_by_words([node.text for node in nodes], checks.near_duplicate)
    ]
    return _measured(len(layer.summaries), twins, checks)


@check("near_duplicates", "warn", _ABOUT)
def near_duplicate_vectors(checked: CheckedTrees) -> Measured:
    """Whether at most ``max_near_duplicates`` of the summaries repeat another by their vectors."""
    checks = checked.settings.checks
    n_checked, twins = 0, []
    for layer in (layer for tree in checked.trees for layer in tree.layers[1:]):
        nodes = layer.nodes
        n_checked += len(nodes)
        pairs = pairs_by_vectors(layer.vectors, checks.near_duplicate_similarity)
        twins += [Twin(nodes[p.first], nodes[p.second], p.likeness, "cosine") for p in pairs]
    return _measured(n_checked, twins, checks)


def count_repeated(twins: Iterable[Twin]) -> int:
    """Summaries that could go: of each group of near duplicates all but one."""
    leader: dict[str, str] = {}

    def find(node_id: str) -> str:
        while (up := leader.get(node_id, node_id)) != node_id:
            leader[node_id] = node_id = leader.get(up, up)
        return node_id

    joined = 0
    for twin in twins:
        one, other = find(twin.node.id), find(twin.other.id)
        joined += one != other
        leader[other] = one
    return joined


def _measured(n_checked: int, twins: Sequence[Twin], checks: CheckSettings) -> Measured:
    n_repeated = count_repeated(twins)
    share = n_repeated / max(1, n_checked)
    numbers = {
        "summaries": float(n_checked),
        "near_duplicates": float(n_repeated),
        "near_duplicate_pairs": float(len(twins)),
    }
    summary = "No summary to compare."
    if n_checked:
        numbers["near_duplicate_share"] = round(share, DIGITS)
        summary = (
            f"{n_repeated} of {n_checked} summaries nearly repeat another of their "
            f"layer (at most {percent(checks.max_near_duplicates)})."
        )
    worst = [
        WorstNode.of(t.node, t.likeness, f"as {t.other.id} ({t.by} {t.likeness:.2f})")
        for t in sorted(twins, key=lambda twin: (-twin.likeness, twin.node.id))
    ]
    remedy = (
        "Look for copied documents first; else raise clustering.threshold, so that fewer nodes "
        "join several clusters."
    )
    return Measured(share <= checks.max_near_duplicates, summary, numbers, worst, remedy)
