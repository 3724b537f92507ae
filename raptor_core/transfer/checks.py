"""Rules for a tree of an export, which are checked before anything is written.

An export may come from anybody, with right digests. A node's id must follow from its tree and
content by ``raptor_core.identity``, so no import changes the nodes of another tree. Types and
columns are checked in ``rows.py`` and ``manifest.py``.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np

from raptor_core.curation import CURATED
from raptor_core.errors import ExportError, StoreError
from raptor_core.identity import (
    CUT_OFF,
    FALLBACK,
    embedding_key,
    leaf_id,
    marked_content_key,
    summary_content_key,
    summary_id,
)
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.payload import node_digest
from raptor_core.store.publishing import UNIT_TOLERANCE
from raptor_core.tree.publish import build_id
from raptor_core.vectors import Vectors

Rows = Sequence[Vectors | None]
"""Vectors of the nodes of a tree, row for row, each ``(n_dims,)``; None where a node has none."""


def check_tree(
    nodes: Sequence[Node], rows: Rows, manifest: Manifest, identity: StoreIdentity, where: str
) -> None:
    """Raise ExportError for a tree that differs from its manifest or that no build could publish.

    ``nodes`` come layer by layer from the leaves up, ``rows`` are their vectors, and ``identity``
    is that of the exported store. The message names the file ``where`` and the row, from 1.
    """
    layers = [(layer, len(list(group))) for layer, group in groupby(nodes, key=attrgetter("layer"))]
    if layers != list(enumerate(manifest.layer_sizes)):
        raise ExportError(
            f"{where} is not the tree {manifest.tree!r} of its manifest: (layer, nodes) are "
            f"{layers!r:.200} where layers of {manifest.layer_sizes} nodes are named; export again"
        )
    checks = _TreeChecks(manifest, identity, {node.id: node for node in nodes})
    for row, (node, vector) in enumerate(zip(nodes, rows, strict=True), 1):
        for problem in checks.problems(node, vector):
            raise ExportError(f"{where}, row {row} (node {node.id!r:.50}): {problem}; export again")
    for problem in checks.problems_of_tree(nodes):
        raise ExportError(f"{where} is not the tree {manifest.tree!r} of its manifest: {problem}")


def has_derived_id(node: Node, n_layer: int) -> bool:
    """Return whether a node's id follows from its tree and content.

    ``n_layer`` nodes are in its layer: a smaller number is in the ids of equal summaries.
    """
    if node.is_leaf:
        return node.id == leaf_id(node.tree, node.documents[0], node.content_key)
    return any(
        node.id == summary_id(node.tree, node.layer, node.content_key, occurrence)
        for occurrence in range(n_layer)
    )


def _content_key(node: Node, children: Sequence[Node]) -> str:
    key = summary_content_key([child.content_key for child in children], node.fingerprint)
    for mark in (FALLBACK, CUT_OFF):
        if mark in node.quality:
            key = marked_content_key(key, mark)
    return key


class _TreeChecks:
    """Checks of the nodes of one tree, in the order of the rows."""

    def __init__(self, manifest: Manifest, identity: StoreIdentity, by_id: dict[str, Node]) -> None:
        self._manifest = manifest
        self._identity = identity
        self._by_id = by_id
        self._hidden = set(manifest.quarantined)
        self._ids: set[str] = set()
        self._vectors: dict[str, Vectors] = {}

    def problems(self, node: Node, vector: Vectors | None) -> Iterator[str]:
        """Yield what is wrong with a node."""
        if node.tree != self._manifest.tree:
            yield f"it belongs to the tree {node.tree!r:.80}, not {self._manifest.tree!r:.80}"
        if node.id in self._ids:
            yield "its id comes twice"
        self._ids.add(node.id)
        if not node.text.strip() or node.n_tokens < 0 or node.position < 0:
            yield "it has no text, or a number below 0"
        yield from self._leaf(node) if node.is_leaf else self._summary(node)
        try:
            node_digest(node)
        except StoreError as error:
            yield str(error)
        yield from self._vector(node, vector)

    def _leaf(self, node: Node) -> Iterator[str]:
        if len(node.documents) != 1 or node.documents[0] not in self._manifest.documents:
            yield f"its documents are {node.documents!r:.80}, expected one of the manifest's"
        elif not has_derived_id(node, 0):
            yield "its id is not that of its tree, document and content key"
        if node.children or not 0 <= node.start < node.end:
            yield f"a leaf with {len(node.children)} children and span {node.start}-{node.end}"

    def _summary(self, node: Node) -> Iterator[str]:
        children = [self._by_id.get(child) for child in node.children]
        below = [child for child in children if child and child.layer == node.layer - 1]
        if len(below) != len(children) or len(set(node.children)) != len(children):
            yield f"not every child is one node of layer {node.layer - 1}"
        elif not below:
            yield "it summarizes no node"
        elif node.documents != tuple(sorted({name for c in below for name in c.documents})):
            yield "its documents are not those of its children"
        elif CURATED not in node.quality and node.content_key != _content_key(node, below):
            yield "its content key is not that of its children"
        if not has_derived_id(node, self._manifest.layer_sizes[node.layer]):
            yield "its id is not that of its tree, layer and content key"

    def _vector(self, node: Node, vector: Vectors | None) -> Iterator[str]:
        fingerprint = self._identity.embedder_fingerprint
        if node.embedding_key != embedding_key(node.embedding_text, fingerprint):
            yield "its embedding key is not that of its text and of the manifest's embedder"
        if vector is None:
            if node.id not in self._hidden:
                yield "it has no vector, and is not in quarantine"
            return
        length = float(np.linalg.norm(vector.astype(np.float64)))
        if vector.shape != (self._identity.n_dims,) or not abs(length - 1) <= UNIT_TOLERANCE:
            yield (
                f"its vector has {vector.size} numbers and length {length:.4g}, expected "
                f"{self._identity.n_dims} and 1"
            )
        if not np.array_equal(self._vectors.setdefault(node.embedding_key, vector), vector):
            yield "its vector is not that of an earlier row with the same embedding key"

    def problems_of_tree(self, nodes: Sequence[Node]) -> Iterator[str]:
        """Yield what is wrong with the nodes together."""
        top = len(self._manifest.layer_sizes) - 1
        if any(above >= below for below, above in pairwise(self._manifest.layer_sizes)):
            yield f"layers of {self._manifest.layer_sizes} nodes, expected fewer in each"
        covered = {child for node in nodes for child in node.children}
        orphans = [node.id for node in nodes if node.layer < top and node.id not in covered]
        if orphans:
            yield f"{len(orphans)} nodes below the top have no parent, first {orphans[0]}"
        if not self._hidden <= self._ids:
            yield "nodes are in quarantine that it does not hold"
        if sum(node.n_tokens for node in nodes) != self._manifest.n_tokens:
            yield "another number of tokens"
        if build_id(nodes) != self._manifest.build_id:
            yield "other nodes"
