"""What the store holds of a tree, against what was built and what its manifest says (law 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from raptor_core.quality.verdicts import N_WORST, CheckInfo, Verdict, WorstNode, verdict
from raptor_core.store.base import Manifest

STORE = CheckInfo(
    "store",
    "error",
    "Qdrant holds exactly the points of the manifest: none missing, orphaned or double.",
)


@dataclass(frozen=True, slots=True)
class StoreReport:
    """One tree. ``missing``, ``orphans``, ``duplicates`` are sorted node ids.

    ``manifest_nodes`` is -1 when the tree has no manifest.
    """

    expected: int
    live: int
    manifest_nodes: int
    missing: tuple[str, ...]
    orphans: tuple[str, ...]
    duplicates: tuple[str, ...]

    @property
    def manifest_agrees(self) -> bool:
        """Whether the manifest counts the nodes that were built; no nodes need no manifest."""
        return max(self.manifest_nodes, 0) == self.expected


def measure_store(
    manifest: Manifest | None,
    live_ids: Iterable[str],
    expected_ids: Iterable[str],
) -> StoreReport:
    """Compare a published tree's points with the ids of its built nodes."""
    live, expected = list(live_ids), set(expected_ids)
    counts = Counter(live)
    return StoreReport(
        expected=len(expected),
        live=len(live),
        manifest_nodes=-1 if manifest is None else sum(manifest.layer_sizes),
        missing=tuple(sorted(expected - counts.keys())),
        orphans=tuple(sorted(counts.keys() - expected)),
        duplicates=tuple(sorted(i for i, n in counts.items() if n > 1)),
    )


def evaluate_store(reports: Sequence[StoreReport]) -> Verdict:
    """Whether the store agrees, over all trees of a partition."""
    found = {
        "missing": [i for r in reports for i in r.missing],
        "orphaned": [i for r in reports for i in r.orphans],
        "double": [i for r in reports for i in r.duplicates],
    }
    disagreeing = sum(not r.manifest_agrees for r in reports)
    numbers = {
        "points_live": float(sum(r.live for r in reports)),
        "points_expected": float(sum(r.expected for r in reports)),
        **{f"points_{what}": float(len(ids)) for what, ids in found.items()},
        "manifests_disagreeing": float(disagreeing),
    }
    told = [f"{len(ids)} points {what}" for what, ids in found.items() if ids]
    if disagreeing:
        told.append(f"{disagreeing} manifests count other nodes than were built")
    summary = (
        "; ".join(told) + "."
        if told
        else f"All {int(numbers['points_expected'])} points are in the store, and no other."
    )
    worst = [
        WorstNode(node_id, "", 1.0, f"point {what}")
        for what, ids in found.items()
        for node_id in ids[:N_WORST]
    ]
    remedy = "Publish the partition again; it replaces every point of its trees."
    return verdict(STORE, not told, summary, numbers, worst, remedy)
