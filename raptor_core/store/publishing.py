"""Publication of trees: the batch that makes each new tree live and removes the old one.

The points of a layer are staged as soon as they have vectors (``VectorStore.stage``); no search
returns them. A commit marks the manifests of the trees that it changes as unfinished, writes points
that are missing, makes staged points live, deletes those that the new trees do not have, and writes
the manifests last. It is no transaction: for some milliseconds a reader may see nodes of both
builds. A process that dies inside leaves manifests that are unfinished; the next build then
publishes these trees again, which removes every point that the new trees do not have. Many trees
share a commit, as it costs some flushes of the disk, or a request; the manifests of one call come
together, at its end.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Manifest, PublicationCounts, StoreIdentity
from raptor_core.store.engines.base import (
    Condition,
    Delete,
    Engine,
    Match,
    Operation,
    Point,
    SetLive,
    Upsert,
)
from raptor_core.store.facts import Facts, facts_by_node
from raptor_core.store.lexical import passage_vector
from raptor_core.store.payload import manifest_id, manifest_to_payload, node_to_payload, point_id
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
"""Largest difference from 1 of the length of a vector that is published."""

COMMIT_POINTS = 2500
"""Points that a commit of several trees writes or deletes, some 8 MB at 384 dimensions. With trees
of 100 nodes the flushes take a hundredth of the time."""

LISTED_TREES = 500
"""Trees whose points are read at once."""

StoredPoints = dict[str, tuple[str, str]]
"""Node id and state of points by point id; a manifest's node id is empty."""

UNFINISHED = "unfinished"
"""``Manifest.inputs`` of a tree that a commit is at, which no source has."""


class PublicationBatch:
    """Trees that are published in commits; the last commit is at the end."""

    def __init__(
        self,
        engine: Engine,
        live_vectors: Callable[[Iterable[str]], dict[str, Vectors]],
        identity: StoreIdentity,
    ) -> None:
        """Begin without a tree; ``live_vectors`` is the store's look-up."""
        self._engine = engine
        self._live_vectors = live_vectors
        self._identity = identity
        self._points: list[Point] = []
        self._staged: list[str] = []
        self._deletes: list[str] = []
        self._unfinished: list[Manifest] = []
        self._manifests: dict[str, Manifest | None] = {}
        self._failure: StoreError | None = None

    def publish(self, editions: Sequence[Edition]) -> list[PublicationCounts]:
        """Publish each edition as ``VectorStore.publish`` does; return the changes of each.

        Trees of several calls share a commit where they fit.

        Raises:
            StoreError: a node's vector is missing or no unit vector; the call's trees stay as they
                were. Or a commit failed, which the end raises again.
            StoreMismatchError: a vector's length is not the store's.
        """
        names = [edition.manifest.tree for edition in editions]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise StoreError(f"tree {twice!r} comes twice among {len(names)} to be published")
        self._begin(names)
        stored = self._stored(names)
        updates = [_compare(e.manifest, e.nodes, stored[e.manifest.tree]) for e in editions]
        vectors = self._vectors(updates, editions)
        written = [update.points(vectors) for update in updates]
        for update, points in zip(updates, written, strict=True):
            self._add(update.manifest, update.deletes, points, update.staged)
        self._manifests |= {edition.manifest.tree: edition.manifest for edition in editions}
        return [update.counts for update in updates]

    def _vectors(
        self, updates: "Sequence[TreeUpdate]", editions: Sequence[Edition]
    ) -> dict[str, Vectors]:
        """Return the vectors of changed nodes by embedding key, from editions or live nodes."""
        new = {key: vector for edition in editions for key, vector in edition.vectors.items()}
        changed = [node for update in updates for node in update.changed.values()]
        embedded = [node for node in changed if node.embedding_key in new]
        if embedded:
            rows = np.stack([new[node.embedding_key] for node in embedded])
            check_vectors(embedded, rows, self._identity)
        rest = [node.embedding_key for node in changed if node.embedding_key not in new]
        return {**(self._live_vectors(rest) if rest else {}), **new}

    def _stored(self, trees: Sequence[str]) -> dict[str, StoredPoints]:
        """Return the points of each tree, its manifest among them, by point id."""
        stored: defaultdict[str, StoredPoints] = defaultdict(dict)
        for at in range(0, len(trees), LISTED_TREES):
            of_trees = Condition((Match("tree", tuple(trees[at : at + LISTED_TREES])),))
            for record in self._engine.scroll(of_trees, ("tree", "node_id", "state")):
                tree, state = record.payload["tree"], record.payload["state"]
                stored[tree][record.id] = (record.payload.get("node_id", ""), state)
        return stored

    def drop(self, trees: Collection[str]) -> int:
        """Remove trees as ``VectorStore.drop`` does; return the number of their live nodes."""
        names = sorted(set(trees))
        self._begin(names)
        n_nodes = 0
        for tree, stored in self._stored(names).items():
            nodes = sorted(stored.keys() - {manifest_id(tree)})
            self._add(Manifest(tree, "", (), 0, {}, "", "", ""), nodes)
            self._manifests[tree] = None
            n_nodes += len(_live(stored))
        return n_nodes

    def _begin(self, trees: Iterable[str]) -> None:
        """Commit the pending trees where one of these is among them."""
        if self._failure:
            raise self._failure
        if not self._manifests.keys().isdisjoint(trees):
            self._commit()

    def _add(
        self,
        manifest: Manifest,
        deletes: Sequence[str],
        points: Sequence[Point] = (),
        staged: Sequence[str] = (),
    ) -> None:
        """Keep the changes of a tree for a commit, which first marks it as unfinished."""
        n_gathered = len(self._points) + len(self._staged) + len(self._deletes)
        if n_gathered + len(points) + len(staged) + len(deletes) > COMMIT_POINTS:
            self._commit()
        if points or staged or deletes:
            self._unfinished.append(replace(manifest, inputs=UNFINISHED))
        self._points += points
        self._staged += staged
        self._deletes += deletes

    def end(self) -> None:
        """Commit the pending trees; raise StoreError where this or a previous commit failed."""
        self._begin(self._manifests)
        self._failure = StoreError("this publication has ended; begin another")

    def _commit(self) -> None:
        """Write nodes, delete others, then write the manifests and delete those of dropped trees.

        A manifest comes last, so one that names a build is only there with all of its nodes.
        """
        current = [manifest for manifest in self._manifests.values() if manifest]
        dropped = [manifest_id(tree) for tree, known in self._manifests.items() if known is None]
        operations: list[Operation] = [
            Upsert(_points(self._unfinished)),
            Upsert(tuple(self._points)),
            SetLive(tuple(self._staged)),
            Delete(tuple(self._deletes)),
            Upsert(_points(current)),
            Delete(tuple(dropped)),
        ]
        operations = [operation for operation in operations if operation[0]]
        self._points, self._staged, self._deletes = [], [], []
        self._unfinished, self._manifests = [], {}
        try:
            if operations:
                self._engine.apply(operations)
        except StoreError as error:
            self._failure = error
            raise


def _points(manifests: Iterable[Manifest]) -> tuple[Point, ...]:
    return tuple(Point(manifest_id(m.tree), manifest_to_payload(m)) for m in manifests)


@dataclass(frozen=True, slots=True)
class TreeUpdate:
    """Changes of a tree that a publication makes.

    Attributes:
        manifest: the new one.
        changed: nodes to write, by point id.
        facts: facts by node id.
        staged: ids of points that become live.
        deletes: ids of points that go.
        counts: numbers of nodes.
    """

    manifest: Manifest
    changed: Mapping[str, Node]
    facts: Mapping[str, Facts]
    staged: tuple[str, ...]
    deletes: tuple[str, ...]
    counts: PublicationCounts

    def points(self, vectors: Mapping[str, Vectors]) -> list[Point]:
        """Return the points to write; a quarantined node's has no vectors."""
        hidden = set(self.manifest.quarantined)
        if missing := without_vectors(self.manifest, self.changed.values(), vectors):
            node = missing[0]
            raise StoreError(
                f"tree {self.manifest.tree!r} cannot be published: node {node.id} (layer "
                f"{node.layer}, position {node.position}) has no vector, and neither have "
                f"{len(missing) - 1} others; embed them first. The tree stays as it was"
            )
        written = []
        for name, node in self.changed.items():
            is_shown = node.id not in hidden
            dense = vectors[node.embedding_key] if is_shown else None
            words = passage_vector(node.text) if is_shown else None
            payload = node_to_payload(node, self.facts[node.id])
            written.append(Point(name, payload, dense, words))
        return written


def without_vectors(
    manifest: Manifest, nodes: Iterable[Node], vectors: Container[str]
) -> list[Node]:
    """Return the nodes of a tree that lack a vector and are not in quarantine."""
    hidden = set(manifest.quarantined)
    return [n for n in nodes if n.id not in hidden and n.embedding_key not in vectors]


def staged_points(
    nodes: Mapping[str, Node], facts: Mapping[str, Facts], vectors: Mapping[str, Vectors]
) -> list[Point]:
    """Return the points to stage of nodes by point id."""
    return [
        Point(
            name,
            node_to_payload(node, facts[node.id], "staged"),
            vectors[node.embedding_key],
            passage_vector(node.text),
        )
        for name, node in nodes.items()
    ]


def _live(stored: StoredPoints) -> set[str]:
    """Return the ids of live nodes."""
    return {node_id for node_id, state in stored.values() if state == "live"}


def _compare(manifest: Manifest, nodes: Sequence[Node], stored: StoredPoints) -> TreeUpdate:
    """Compare the new tree with its stored points, whose ids say what they hold."""
    foreign = next((node for node in nodes if node.tree != manifest.tree), None)
    if foreign is not None:
        raise StoreError(
            f"node {foreign.id} belongs to tree {foreign.tree!r} and cannot be published "
            f"under {manifest.tree!r}"
        )
    ids = {node.id for node in nodes}
    if len(ids) != len(nodes):
        raise StoreError(f"tree {manifest.tree!r}: a node id comes twice among {len(nodes)} nodes")
    facts, hidden = facts_by_node(nodes), set(manifest.quarantined)
    points = {point_id(n, facts[n.id], embedded=n.id not in hidden): n for n in nodes}
    changed = {name: node for name, node in points.items() if name not in stored}
    staged = [name for name in points.keys() & stored if stored[name][1] == "staged"]
    deletes = stored.keys() - points.keys() - {manifest_id(manifest.tree)}
    live = _live(stored)
    new = [points[name].id for name in (*changed, *staged)]
    n_updated = len(live.intersection(new))
    counts = PublicationCounts(
        added=len(new) - n_updated,
        updated=n_updated,
        unchanged=len(nodes) - len(new),
        removed=len(live - ids),
    )
    ordered = (tuple(sorted(staged)), tuple(sorted(deletes)))
    return TreeUpdate(manifest, changed, facts, *ordered, counts)


def check_vectors(nodes: Sequence[Node], vectors: Vectors, identity: StoreIdentity) -> None:
    """Refuse vectors that are not finite unit vectors of shape ``(len(nodes), n_dims)``."""
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
