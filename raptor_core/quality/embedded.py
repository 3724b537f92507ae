"""Whether what the store would publish are the embedder's vectors: all there, sound, distinct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raptor_core.audit.collage import folded
from raptor_core.identity import embedding_key
from raptor_core.nodes import Node
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.verdicts import Measured, WorstNode, check, percent
from raptor_core.settings import CheckSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
_MIN_COLLAPSED = 10
"""Nodes of a layer from which a mean cosine near 1 is no accident of a few alike."""
_EQUAL = "whose vector is that of another text"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A partition's nodes, their ``vectors`` by embedding key, and the store they are for."""

    nodes: Sequence[Node]
    vectors: Mapping[str, Vectors]
    identity: StoreIdentity
    checks: CheckSettings


@check(
    "embedding",
    "error",
    "Every node has a vector of the store's model and dimension, finite and of norm 1, hardly "
    "any has that of another text, and no layer's vectors have collapsed into one direction.",
)
def embedding(given: Embedded) -> Measured:
    """Whether every vector is sound, and at most ``max_equal_vectors`` are those of other texts.

    A layer of ten nodes or more has a mean cosine of ``max_mean_cosine`` at the most.
    """
    nodes, vectors, identity = given.nodes, given.vectors, given.identity
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
        "with a vector of another embedder": [n for n in nodes if not _is_of(n, identity)],
        f"whose vector has not {identity.n_dims} dimensions": [
            node for node, v in stored if v.shape != (identity.n_dims,)
        ],
        "whose vector is not finite": [sized[row][0] for row in np.flatnonzero(~finite)],
        "whose vector has another norm than 1": [sized[row][0] for row in np.flatnonzero(askew)],
    }
    counted = ("missing", "foreign", "of_other_dimension", "not_finite", "not_unit")
    numbers = {"nodes": float(len(nodes)), "n_dims": float(identity.n_dims)}
    for what, found in zip(counted, wrong.values(), strict=True):
        numbers[f"vectors_{what}"] = float(len(found))
    numbers["vectors_equal"] = float(len(equal))
    share, bound = len(equal) / max(1, len(nodes)), given.checks.max_equal_vectors
    if nodes:
        numbers["vectors_equal_share"] = round(share, DIGITS)
    cosines = _mean_cosines([node.layer for node, _ in sized], rows, finite)
    numbers |= {f"layer_{layer}_mean_cosine": cosine for layer, (_, cosine) in cosines.items()}
    collapsed = given.checks.max_mean_cosine
    for layer, (n, cosine) in cosines.items():
        if n >= _MIN_COLLAPSED and cosine > collapsed:
            what = f"of layer {layer}, whose mean cosine is {cosine} (at most {collapsed})"
            wrong[what] = [node for node, _ in sized if node.layer == layer]
    if share > bound:
        wrong[f"{_EQUAL} (at most {percent(bound)})"] = equal
    told = "; ".join(f"{len(found)} nodes {what}" for what, found in wrong.items() if found)
    summary = told or f"All {len(nodes)} nodes have sound vectors of {identity.embedder_model}"
    worst = [
        WorstNode.of(n, float(n.n_tokens), f"node {what}")
        for what, found in (wrong if told else {_EQUAL: equal}).items()
        for n in found
    ]
    remedy = "Materialize the layers' embeddings again; if it stays, the embedder is at fault."
    return Measured(not told, f"{summary}.", numbers, worst, remedy)


def _mean_cosines(
    layers: Sequence[int], rows: NDArray[Any], sound: NDArray[Any]
) -> dict[int, tuple[int, float]]:
    """Nodes, and mean cosine of two of them, by layer: near 1 where the vectors have collapsed.

    Layers of one node have none. The norm of the sum of n unit vectors holds all of their pairs.
    """
    found, of_row = {}, np.array(layers)
    for layer in sorted(set(layers)):
        members = rows[(of_row == layer) & sound]
        if (n := len(members)) > 1:
            total = float(np.square(members.sum(axis=0, dtype=np.float64)).sum())
            found[layer] = n, round((total - n) / (n * (n - 1)), DIGITS)
    return found


def _is_of(node: Node, identity: StoreIdentity) -> bool:
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
