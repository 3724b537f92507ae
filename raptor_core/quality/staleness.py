"""Whether what is published is what the source holds: documents changed, added, gone since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, verdict

STALENESS = CheckInfo(
    "staleness",
    "warn",
    "The published trees hold the documents that the source holds: none changed, added or gone "
    "since they were read.",
)

Hashes = Mapping[str, Mapping[str, str]]
"""Content hash by document id, by tree."""


@dataclass(frozen=True, slots=True)
class StalenessReport:
    """``published`` documents; and pairs of tree and document id that differ, sorted."""

    published: int
    changed: tuple[tuple[str, str], ...]
    added: tuple[tuple[str, str], ...]
    vanished: tuple[tuple[str, str], ...]


def measure_staleness(published: Hashes, source: Hashes) -> StalenessReport:
    """Compare manifests with the source, both of one partition."""
    built = {(tree, name): h for tree, found in published.items() for name, h in found.items()}
    there = {(tree, name): h for tree, found in source.items() for name, h in found.items()}
    both = built.keys() & there.keys()
    return StalenessReport(
        published=len(built),
        changed=tuple(sorted(place for place in both if built[place] != there[place])),
        added=tuple(sorted(there.keys() - built.keys())),
        vanished=tuple(sorted(built.keys() - there.keys())),
    )


def evaluate_staleness(report: StalenessReport) -> Verdict:
    """Whether nothing differs."""
    found = {
        "changed": report.changed,
        "added": report.added,
        "vanished": report.vanished,
    }
    stale = {what: places for what, places in found.items() if places}
    numbers = {
        "documents": float(report.published),
        **{f"documents_{what}": float(len(places)) for what, places in found.items()},
    }
    summary = f"All {report.published} documents are as the source holds them."
    if stale:
        told = ", ".join(f"{len(places)} {what}" for what, places in stale.items())
        summary = f"Of the documents, {told} in the source since they were read."
    worst = [
        WorstNode("", document, 1.0, f"document {what}", tree)
        for what, places in stale.items()
        for tree, document in places
    ]
    remedy = "Materialize the partition from `documents` on, or run `raptor build`."
    return verdict(STALENESS, not stale, summary, numbers, worst, remedy)
