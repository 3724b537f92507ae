"""What publishing writes, as pure functions from what is stored to a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, Published, StoreIdentity
from raptor_core.store.damage import checked_payload
from raptor_core.store.engine import Batch, Point, Record
from raptor_core.store.lexical import passage_vector
from raptor_core.store.payload import (
    Payload,
    manifest_id,
    manifest_to_payload,
    node_digest,
    node_to_payload,
)
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
STATE_FIELDS = ("tree", "state", "digest", "embedded")


def check_vectors(nodes: Sequence[Node], vectors: Vectors, identity: StoreIdentity) -> None:
    """Refuse vectors of another shape, and any that is not a finite unit vector.

    Raises:
        StoreMismatchError: the shape is not ``(len(nodes), n_dims)``.
        StoreError: a row is not finite or its norm is not 1.
    """
    expected = (len(nodes), identity.n_dims)
    if vectors.shape != expected:
        raise StoreMismatchError(
            f"store {identity.corpus!r} expects vectors of shape {expected} from "
            f"{identity.embedder_model}; got {vectors.shape}"
        )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(norms - 1) <= UNIT_TOLERANCE))
    if wrong.size:
        row = int(wrong[0])
        raise StoreError(
            f"the vector of node {nodes[row].id} of tree {nodes[row].tree!r} has norm "
            f"{norms[row]}; an embedder yields unit vectors ({wrong.size} of {len(nodes)} wrong)"
        )


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication before its vectors are known."""

    changed: tuple[tuple[Node, Payload], ...]
    deletes: tuple[str, ...]
    result: Published


def plan_publication(
    manifest: Manifest, nodes: Sequence[Node], stored: Sequence[Record]
) -> Publication:
    """Compare the new tree with ``stored``, all its points with their state and digest.

    A node whose live point has the same digest is not written again, unless its quarantine has
    begun or ended. A quarantined node's point has no vectors, so no search finds it.

    Raises:
        StoreError: a node belongs to another tree, or an id comes twice.
    """
    _check_nodes(manifest, nodes)
    live = {
        r.id: (r.payload["digest"], r.payload["embedded"])
        for r in stored
        if r.payload["state"] == "live"
    }
    hidden = set(manifest.quarantined)
    changed = tuple(
        (node, node_to_payload(node))
        for node in nodes
        if node.id not in live or live[node.id] != (node_digest(node), node.id not in hidden)
    )
    updated = sum(node.id in live for node, _ in changed)
    named = {node.id for node in nodes}
    result = Published(
        added=len(changed) - updated,
        updated=updated,
        unchanged=len(nodes) - len(changed),
        removed=sum(point_id not in named for point_id in live),
    )
    deletes = tuple(sorted(r.id for r in stored if r.id not in named))
    return Publication(changed, deletes, result)


def _check_nodes(manifest: Manifest, nodes: Sequence[Node]) -> None:
    foreign = next((node for node in nodes if node.tree != manifest.tree), None)
    if foreign is not None:
        raise StoreError(
            f"node {foreign.id} belongs to tree {foreign.tree!r} and cannot be published "
            f"under {manifest.tree!r}"
        )
    if len({node.id for node in nodes}) != len(nodes):
        raise StoreError(f"tree {manifest.tree!r}: a node id comes twice among {len(nodes)} nodes")


def publication_batch(
    manifest: Manifest, publication: Publication, vectors: Mapping[str, Vectors]
) -> Batch:
    """The batch that makes the tree live; ``vectors`` by embedding key.

    Raises:
        StoreError: a changed node has no vector.
    """
    hidden = set(manifest.quarantined)
    missing = [
        node
        for node, _ in publication.changed
        if node.id not in hidden and node.embedding_key not in vectors
    ]
    if missing:
        node = missing[0]
        raise StoreError(
            f"tree {manifest.tree!r} cannot be published: node {node.id} (layer {node.layer}, "
            f"position {node.position}) has no vector, neither given nor in the store, nor have "
            f"{len(missing) - 1} others; embed them first. It stays as it was"
        )
    upserts = [
        _live_point(node, payload, manifest, None if node.id in hidden else vectors)
        for node, payload in publication.changed
    ]
    upserts.append(Point(manifest_id(manifest.tree), manifest_to_payload(manifest)))
    return Batch(tuple(upserts), publication.deletes)


def _live_point(
    node: Node, payload: Payload, manifest: Manifest, vectors: Mapping[str, Vectors] | None
) -> Point:
    """``vectors`` is None for a node in quarantine."""
    dense = None if vectors is None else vectors[node.embedding_key]
    written = checked_payload({**payload, "state": "live", "build_id": manifest.build_id}, dense)
    if dense is None:
        return Point(node.id, written)
    return Point(node.id, written, dense, passage_vector(node.text))
