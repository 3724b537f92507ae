"""What the store holds of a tree, against what was built and what its manifest says (law 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from raptor_core.quality.verdicts import N_WORST, Measured, WorstNode, check
from raptor_core.store.base import Manifest


@dataclass(frozen=True, slots=True)
class StoredTree:
    """One published tree: its manifest, the ids of its points, and those of its built nodes."""

    manifest: Manifest | None
    live_ids: Iterable[str]
    expected_ids: Iterable[str]


@check(
    "store",
    "error",
    "Qdrant holds exactly the points of the manifest: none missing, orphaned or double.",
)
def store(trees: Sequence[StoredTree]) -> Measured:
    """Whether the store agrees, over all trees of a partition; no nodes need no manifest."""
    wrong: dict[str, list[str]] = {"missing": [], "orphaned": [], "double": []}
    n_live = n_expected = n_disagreeing = 0
    for tree in trees:
        live, expected = Counter(tree.live_ids), set(tree.expected_ids)
        wrong["missing"] += sorted(expected - live.keys())
        wrong["orphaned"] += sorted(live.keys() - expected)
        wrong["double"] += sorted(i for i, n in live.items() if n > 1)
        n_live += live.total()
        n_expected += len(expected)
        n_disagreeing += sum(tree.manifest.layer_sizes if tree.manifest else ()) != len(expected)
    numbers = {
        "points_live": float(n_live),
        "points_expected": float(n_expected),
        **{f"points_{what}": float(len(ids)) for what, ids in wrong.items()},
        "manifests_disagreeing": float(n_disagreeing),
    }
    told = [f"{len(ids)} points {what}" for what, ids in wrong.items() if ids]
    if n_disagreeing:
        told.append(f"{n_disagreeing} manifests count other nodes than were built")
    summary = "; ".join(told) or f"All {n_expected} points are in the store, and no other"
    worst = [
        WorstNode(node_id, "", 1.0, f"point {what}")
        for what, ids in wrong.items()
        for node_id in ids[:N_WORST]
    ]
    remedy = "Publish the partition again; it replaces every point of its trees."
    return Measured(not told, f"{summary}.", numbers, worst, remedy)
