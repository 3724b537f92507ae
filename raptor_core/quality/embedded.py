"""Whether what the store would publish are the embedder's vectors: all there, sound, distinct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.audit.collage import folded
from raptor_core.identity import embedding_key
from raptor_core.nodes import Node
from raptor_core.quality.distribution import DIGITS
from raptor_core.quality.verdicts import CheckInfo, Verdict, WorstNode, percent, verdict
from raptor_core.settings import CheckSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.vectors import Vectors

EMBEDDING = CheckInfo(
    "embedding",
    "error",
    "Every node has a vector of the store's model and dimension, finite and of norm 1, and hardly "
    "any has that of another text.",
)
UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """Nodes by what is wrong with their vectors, in order.

    Attributes:
        identity: of the store: model, fingerprint, dimension.
        checked: nodes looked at.
        foreign: nodes whose embedding key is not of the store's embedder.
        missing: nodes without a vector.
        wrong_dims: nodes with a vector of another length.
        not_finite: nodes whose vector holds no number.
        not_unit: nodes whose vector's norm is not 1.
        equal: nodes of a text whose vector is also that of a text with other words.
    """

    identity: StoreIdentity
    checked: int
    foreign: tuple[Node, ...] = ()
    missing: tuple[Node, ...] = ()
    wrong_dims: tuple[Node, ...] = ()
    not_finite: tuple[Node, ...] = ()
    not_unit: tuple[Node, ...] = ()
    equal: tuple[Node, ...] = ()

    @property
    def equal_share(self) -> float:
        """Share of the nodes whose vector is also that of another text."""
        return len(self.equal) / self.checked if self.checked else 0.0


def measure_embedding(
    nodes: Iterable[Node], vectors: Mapping[str, Vectors], identity: StoreIdentity
) -> EmbeddingReport:
    """Look at the stored ``vectors``, by embedding key, of a partition's ``nodes``."""
    every = tuple(nodes)
    stored = [
        (node, vectors[node.embedding_key]) for node in every if node.embedding_key in vectors
    ]
    sized = [(node, v) for node, v in stored if v.shape == (identity.n_dims,)]
    rows = np.stack([v for _, v in sized]) if sized else np.zeros((0, identity.n_dims))
    finite = np.isfinite(rows).all(axis=1)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    unit = finite & (np.abs(norms - 1) <= UNIT_TOLERANCE)
    found = [node for node, _ in sized]
    return EmbeddingReport(
        identity=identity,
        checked=len(every),
        foreign=tuple(node for node in every if not _is_of(node, identity)),
        missing=tuple(node for node in every if node.embedding_key not in vectors),
        wrong_dims=tuple(node for node, v in stored if v.shape != (identity.n_dims,)),
        not_finite=tuple(found[row] for row in np.flatnonzero(~finite).tolist()),
        not_unit=tuple(found[row] for row in np.flatnonzero(finite & ~unit).tolist()),
        equal=tuple(_equal(sized)),
    )


def evaluate_embedding(report: EmbeddingReport, checks: CheckSettings) -> Verdict:
    """Whether every vector is sound, and at most ``max_equal_vectors`` are those of other texts."""
    wrong = {
        "without a vector": report.missing,
        "with a vector of another embedder": report.foreign,
        f"whose vector has not {report.identity.n_dims} dimensions": report.wrong_dims,
        "whose vector is not finite": report.not_finite,
        "whose vector has another norm than 1": report.not_unit,
    }
    if report.equal_share > checks.max_equal_vectors:
        bound = percent(checks.max_equal_vectors)
        wrong[f"whose vector is that of another text (at most {bound})"] = report.equal
    found = {what: nodes for what, nodes in wrong.items() if nodes}
    numbers = {
        "nodes": float(report.checked),
        "n_dims": float(report.identity.n_dims),
        "vectors_missing": float(len(report.missing)),
        "vectors_foreign": float(len(report.foreign)),
        "vectors_of_other_dimension": float(len(report.wrong_dims)),
        "vectors_not_finite": float(len(report.not_finite)),
        "vectors_not_unit": float(len(report.not_unit)),
        "vectors_equal": float(len(report.equal)),
    }
    if report.checked:
        numbers["vectors_equal_share"] = round(report.equal_share, DIGITS)
    model = report.identity.embedder_model
    summary = f"All {report.checked} nodes have sound vectors of {model}."
    if found:
        summary = "; ".join(f"{len(nodes)} nodes {what}" for what, nodes in found.items()) + "."
    worst = [
        WorstNode(n.id, n.text, float(n.n_tokens), f"node {what}")
        for what, nodes in (found or {"whose vector is that of another text": report.equal}).items()
        for n in nodes
    ]
    remedy = "Materialize the layers' embeddings again; if it stays, the embedder is at fault."
    return verdict(EMBEDDING, not found, summary, numbers, worst, remedy)


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
