"""Whether what is published is what the source holds: documents changed, added, gone since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from raptor_core.quality.verdicts import Measured, WorstNode, check

Hashes = Mapping[str, Mapping[str, str]]
"""Content hash by document id, by tree."""


class DocumentHashes(NamedTuple):
    """Documents of one partition, as they were published and as the source holds them."""

    published: Hashes
    source: Hashes


@check(
    "staleness",
    "warn",
    "The published trees hold the documents that the source holds: none changed, added or gone "
    "since they were read.",
)
def staleness(hashes: DocumentHashes) -> Measured:
    """Whether nothing differs."""
    built, there = (
        {(tree, document): h for tree, held in side.items() for document, h in held.items()}
        for side in hashes
    )
    found = {
        "changed": {place for place in built.keys() & there.keys() if built[place] != there[place]},
        "added": there.keys() - built.keys(),
        "vanished": built.keys() - there.keys(),
    }
    numbers = {
        "documents": float(len(built)),
        **{f"documents_{what}": float(len(places)) for what, places in found.items()},
    }
    told = ", ".join(f"{len(places)} {what}" for what, places in found.items() if places)
    summary = f"All {len(built)} documents are as the source holds them."
    if told:
        summary = f"Of the documents, {told} in the source since they were read."
    worst = [
        WorstNode("", document, 1.0, f"document {what}", tree)
        for what, places in found.items()
        for tree, document in sorted(places)
    ]
    remedy = "Materialize the partition from `documents` on, or run `raptor build`."
    return Measured(not told, summary, numbers, worst, remedy)
