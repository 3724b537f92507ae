"""Checks of stored vectors, of published points (law 8), and of published documents."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.audit.collage import folded
from raptor_core.checks.base import DIGITS, CheckMeasurement, WorstNode, check, percent
from raptor_core.identity import embedding_key
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
MAX_EQUAL_VECTORS = 0.1
"""Share of a tree's texts whose vector may be that of another text."""
_EQUAL = "whose vector is that of another text"


@check(
    "embedding",
    "error",
    "Every node has a vector of the store's model and dimension, finite and of norm 1, and "
    "hardly any has that of another text.",
)
def embedding(
    nodes: Sequence[Node],
    vectors: Mapping[str, Vectors],
    identity: StoreIdentity,
) -> CheckMeasurement:
    """Measure the faults of vectors, and the share of texts with the vector of another text."""
    stored = [
        (node, vectors[node.embedding_key]) for node in nodes if node.embedding_key in vectors
    ]
    sized = [(node, v) for node, v in stored if v.shape == (identity.n_dims,)]
    rows = np.stack([v for _, v in sized]) if sized else np.zeros((0, identity.n_dims))
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    askew = finite & (np.abs(norms - 1) > UNIT_TOLERANCE)
    equal = _equal(sized)
    wrong = {
        "without a vector": [node for node in nodes if node.embedding_key not in vectors],
        "with a vector of another embedder": [n for n in nodes if not _is_of_embedder(n, identity)],
        f"whose vector has not {identity.n_dims} dimensions": [
            node for node, v in stored if v.shape != (identity.n_dims,)
        ],
        "whose vector is not finite": [sized[row][0] for row in np.flatnonzero(~finite)],
        "whose vector has another norm than 1": [sized[row][0] for row in np.flatnonzero(askew)],
    }
    counted = ("missing", "foreign", "of_other_dimension", "not_finite", "not_unit")
    numbers: dict[str, float] = {"nodes": len(nodes), "n_dims": identity.n_dims}
    for fault, members in zip(counted, wrong.values(), strict=True):
        numbers[f"vectors_{fault}"] = len(members)
    numbers["vectors_equal"] = len(equal)
    share, bound = len(equal) / max(1, len(nodes)), MAX_EQUAL_VECTORS
    if nodes:
        numbers["vectors_equal_share"] = round(share, DIGITS)
    if share > bound:
        wrong[f"{_EQUAL} (at most {percent(bound)})"] = equal
    faults = "; ".join(f"{len(of)} nodes {fault}" for fault, of in wrong.items() if of)
    summary = faults or f"All {len(nodes)} nodes have sound vectors of {identity.embedder_model}"
    named = (wrong if faults else {_EQUAL: equal}).items()
    worst = [WorstNode.of(n, n.n_tokens, f"node {fault}") for fault, of in named for n in of]
    remedy = "Materialize the layers' embeddings again; if it stays, the embedder is at fault."
    return CheckMeasurement(not faults, f"{summary}.", numbers, worst, remedy)


def _is_of_embedder(node: Node, identity: StoreIdentity) -> bool:
    return node.embedding_key == embedding_key(node.embedding_text, identity.embedder_fingerprint)


def _equal(stored: Sequence[tuple[Node, Vectors]]) -> list[Node]:
    """Return nodes whose vector equals that of a text that differs in more than case."""
    by_bytes: dict[bytes, list[Node]] = {}
    for node, vector in stored:
        by_bytes.setdefault(vector.tobytes(), []).append(node)
    return [
        node
        for nodes in by_bytes.values()
        if len({node.embedding_key for node in nodes}) > 1
        and len({folded(node.embedding_text) for node in nodes}) > 1
        for node in nodes
    ]


@dataclass(frozen=True, slots=True)
class StoredTree:
    """Published tree: its manifest, the ids of its points, and the ids of its nodes."""

    manifest: Manifest | None
    live_ids: Iterable[str]
    expected_ids: Iterable[str]


@check(
    "store",
    "error",
    "Qdrant holds exactly the points of the manifest: none missing, orphaned or double.",
)
def store(trees: Sequence[StoredTree]) -> CheckMeasurement:
    """Measure missing, orphaned and double points of all trees of a partition."""
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
        "points_live": n_live,
        "points_expected": n_expected,
        **{f"points_{fault}": len(ids) for fault, ids in wrong.items()},
        "manifests_disagreeing": n_disagreeing,
    }
    faults = [f"{len(ids)} points {fault}" for fault, ids in wrong.items() if ids]
    if n_disagreeing:
        faults.append(f"{n_disagreeing} manifests count other nodes than were built")
    summary = "; ".join(faults) or f"All {n_expected} points are in the store, and no other"
    worst = [
        WorstNode(node_id, "", 1.0, f"point {fault}")
        for fault, ids in wrong.items()
        for node_id in ids
    ]
    remedy = "Publish the partition again; it replaces every point of its trees."
    return CheckMeasurement(not faults, f"{summary}.", numbers, worst, remedy)


Hashes = Mapping[str, Mapping[str, str]]
"""Content hashes by document id, by tree."""


@check(
    "staleness",
    "warn",
    "The published trees hold the documents that the source holds: none changed, added or gone "
    "since they were read.",
)
def staleness(published: Hashes, source: Hashes) -> CheckMeasurement:
    """Measure the differences between the published documents and those of the source."""
    built, current = (
        {(tree, document): h for tree, hashes in side.items() for document, h in hashes.items()}
        for side in (published, source)
    )
    differing = {
        "changed": {
            place for place in built.keys() & current.keys() if built[place] != current[place]
        },
        "added": current.keys() - built.keys(),
        "vanished": built.keys() - current.keys(),
    }
    numbers = {
        "documents": len(built),
        **{f"documents_{change}": len(places) for change, places in differing.items()},
    }
    changes = ", ".join(f"{len(places)} {change}" for change, places in differing.items() if places)
    summary = f"All {len(built)} documents are as the source holds them."
    if changes:
        summary = f"Of the documents, {changes} in the source since they were read."
    worst = [
        WorstNode("", document, 1.0, f"document {change}", tree)
        for change, places in differing.items()
        for tree, document in sorted(places)
    ]
    remedy = "Materialize the partition from `documents` on, or run `raptor build`."
    return CheckMeasurement(not changes, summary, numbers, worst, remedy)
