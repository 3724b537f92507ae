"""Whether the store holds the trees as they were built, from what the source holds (law 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.collage import folded
from raptor_core.identity import embedding_key
from raptor_core.nodes import Node
from raptor_core.quality.checks import Measured, WorstNode, check, percent
from raptor_core.quality.statistics import DIGITS
from raptor_core.settings import CheckSettings
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
_MIN_COLLAPSED = 10
"""Nodes of a layer from which a mean cosine near 1 is no accident of a few alike."""
_EQUAL = "whose vector is that of another text"


@check(
    "embedding",
    "error",
    "Every node has a vector of the store's model and dimension, finite and of norm 1, hardly "
    "any has that of another text, and no layer's vectors have collapsed into one direction.",
)
def embedding(
    nodes: Sequence[Node],
    vectors: Mapping[str, Vectors],
    identity: StoreIdentity,
    checks: CheckSettings,
) -> Measured:
    """Whether every vector is sound, and at most ``max_equal_vectors`` are those of other texts.

    A layer of ten nodes or more has a mean cosine of ``max_mean_cosine`` at the most. ``vectors``
    are by embedding key, ``identity`` is the store's that they are for.
    """
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
    for what, members in zip(counted, wrong.values(), strict=True):
        numbers[f"vectors_{what}"] = len(members)
    numbers["vectors_equal"] = len(equal)
    share, bound = len(equal) / max(1, len(nodes)), checks.max_equal_vectors
    if nodes:
        numbers["vectors_equal_share"] = round(share, DIGITS)
    cosines = _mean_cosines([node.layer for node, _ in sized], rows, finite)
    numbers |= {f"layer_{layer}_mean_cosine": cosine for layer, (_, cosine) in cosines.items()}
    collapsed = checks.max_mean_cosine
    for layer, (n, cosine) in cosines.items():
        if n >= _MIN_COLLAPSED and cosine > collapsed:
            what = f"of layer {layer}, whose mean cosine is {cosine} (at most {collapsed})"
            wrong[what] = [node for node, _ in sized if node.layer == layer]
    if share > bound:
        wrong[f"{_EQUAL} (at most {percent(bound)})"] = equal
    told = "; ".join(f"{len(members)} nodes {what}" for what, members in wrong.items() if members)
    summary = told or f"All {len(nodes)} nodes have sound vectors of {identity.embedder_model}"
    worst = [
        WorstNode.of(n, n.n_tokens, f"node {what}")
        for what, members in (wrong if told else {_EQUAL: equal}).items()
        for n in members
    ]
    remedy = "Materialize the layers' embeddings again; if it stays, the embedder is at fault."
    return Measured(not told, f"{summary}.", numbers, worst, remedy)


def _mean_cosines(
    layers: Sequence[int], rows: NDArray[Any], sound: NDArray[Any]
) -> dict[int, tuple[int, float]]:
    """Nodes, and mean cosine of two of them, by layer: near 1 where the vectors have collapsed.

    Layers of one node have none. The norm of the sum of n unit vectors holds all of their pairs.
    """
    by_layer, of_row = {}, np.array(layers)
    for layer in sorted(set(layers)):
        members = rows[(of_row == layer) & sound]
        if (n := len(members)) > 1:
            total = float(np.square(members.sum(axis=0, dtype=np.float64)).sum())
            by_layer[layer] = n, round((total - n) / (n * (n - 1)), DIGITS)
    return by_layer


def _is_of_embedder(node: Node, identity: StoreIdentity) -> bool:
    wanted = embedding_key(node.embedding_text, identity.embedder_fingerprint)
    return node.embedding_key == wanted


def _equal(stored: Sequence[tuple[Node, Vectors]]) -> list[Node]:
    """Nodes whose vector's bytes are also those of a text that differs in more than case."""
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
        "points_live": n_live,
        "points_expected": n_expected,
        **{f"points_{what}": len(ids) for what, ids in wrong.items()},
        "manifests_disagreeing": n_disagreeing,
    }
    told = [f"{len(ids)} points {what}" for what, ids in wrong.items() if ids]
    if n_disagreeing:
        told.append(f"{n_disagreeing} manifests count other nodes than were built")
    summary = "; ".join(told) or f"All {n_expected} points are in the store, and no other"
    worst = [
        WorstNode(node_id, "", 1.0, f"point {what}")
        for what, ids in wrong.items()
        for node_id in ids
    ]
    remedy = "Publish the partition again; it replaces every point of its trees."
    return Measured(not told, f"{summary}.", numbers, worst, remedy)


Hashes = Mapping[str, Mapping[str, str]]
"""Content hash by document id, by tree."""


@check(
    "staleness",
    "warn",
    "The published trees hold the documents that the source holds: none changed, added or gone "
    "since they were read.",
)
def staleness(published: Hashes, source: Hashes) -> Measured:
    """Whether nothing differs between what was published and what the source holds."""
    built, there = (
        {(tree, document): h for tree, held in side.items() for document, h in held.items()}
        for side in (published, source)
    )
    differing = {
        "changed": {place for place in built.keys() & there.keys() if built[place] != there[place]},
        "added": there.keys() - built.keys(),
        "vanished": built.keys() - there.keys(),
    }
    numbers = {
        "documents": len(built),
        **{f"documents_{what}": len(places) for what, places in differing.items()},
    }
    told = ", ".join(f"{len(places)} {what}" for what, places in differing.items() if places)
    summary = f"All {len(built)} documents are as the source holds them."
    if told:
        summary = f"Of the documents, {told} in the source since they were read."
    worst = [
        WorstNode("", document, 1.0, f"document {what}", tree)
        for what, places in differing.items()
        for tree, document in sorted(places)
    ]
    remedy = "Materialize the partition from `documents` on, or run `raptor build`."
    return Measured(not told, summary, numbers, worst, remedy)
