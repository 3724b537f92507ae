"""Checks of vectors, and whether published documents are those of the source."""

from collections.abc import Mapping, Sequence

from raptor_core.audit.collage import fold_case_and_spaces
from raptor_core.checks.base import DIGITS, CheckMeasurement, WorstNode, check, format_percent
from raptor_core.nodes import Node
from raptor_core.vectors import Vectors

MAX_EQUAL_VECTORS = 0.1
"""Maximum share of a partition's nodes that have the same vector as a different text."""


@check("embedding", "error", "Hardly any node has the same vector as a different text.")
def check_equal_vectors(nodes: Sequence[Node], vectors: Mapping[str, Vectors]) -> CheckMeasurement:
    """Measure the share of nodes that have the same vector as a different text.

    Such vectors show that the embedder is broken. The store itself rejects vectors of a wrong
    length or norm.
    """
    equal = _nodes_with_equal_vectors([(node, vectors[node.embedding_key]) for node in nodes])
    share = len(equal) / max(1, len(nodes))
    numbers: dict[str, float] = {
        "nodes": len(nodes),
        "vectors_equal": len(equal),
        "vectors_equal_share": round(share, DIGITS),
    }
    summary = (
        f"{len(equal)} of {len(nodes)} nodes have the same vector as a different text "
        f"(at most {format_percent(MAX_EQUAL_VECTORS)})."
    )
    worst = [
        WorstNode.from_node(n, n.n_tokens, "has the vector of a different text") for n in equal
    ]
    remedy = "Materialize the layers' embeddings again; if it fails again, the embedder is broken."
    return CheckMeasurement(share <= MAX_EQUAL_VECTORS, summary, numbers, worst, remedy)


def _nodes_with_equal_vectors(stored: Sequence[tuple[Node, Vectors]]) -> list[Node]:
    """Return nodes whose vector equals that of a text that differs by more than case and spaces."""
    by_bytes: dict[bytes, list[Node]] = {}
    for node, vector in stored:
        by_bytes.setdefault(vector.tobytes(), []).append(node)
    return [
        node
        for nodes in by_bytes.values()
        if len({node.embedding_key for node in nodes}) > 1
        and len({fold_case_and_spaces(node.embedding_text) for node in nodes}) > 1
        for node in nodes
    ]


Hashes = Mapping[str, Mapping[str, str]]
"""Content hashes by document id, by tree."""


@check(
    "staleness",
    "warn",
    "The published trees contain the documents of the source: none was changed, added or removed "
    "since they were read.",
)
def staleness(published: Hashes, source: Hashes) -> CheckMeasurement:
    """Count the documents that differ between the published trees and the source."""
    built, current = (
        {(tree, document): h for tree, hashes in side.items() for document, h in hashes.items()}
        for side in (published, source)
    )
    changed = {place for place in built.keys() & current.keys() if built[place] != current[place]}
    differing = {"changed": changed, "added": current.keys() - built.keys()}
    differing["vanished"] = built.keys() - current.keys()
    numbers = {"documents": len(built)}
    numbers |= {f"documents_{change}": len(places) for change, places in differing.items()}
    changes = ", ".join(f"{len(places)} {change}" for change, places in differing.items() if places)
    summary = f"All {len(built)} documents are as in the source."
    if changes:
        summary = f"Of the documents, {changes} in the source since they were read."
    worst = [
        WorstNode("", document, 1.0, f"document {change}", tree)
        for change, places in differing.items()
        for tree, document in sorted(places)
    ]
    remedy = "Materialize the partition from `documents` on, or run `raptor build`."
    return CheckMeasurement(not changes, summary, numbers, worst, remedy)
