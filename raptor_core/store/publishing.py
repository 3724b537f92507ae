"""Commits of many trees: a commit costs some flushes of the disk, or some requests.

Each tree is compared with the stored one, and the points to write are kept until a commit is full.
The trees of a commit become live together; a crash leaves all of them old or all new.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Manifest, PublicationCounts, StoreIdentity
from raptor_core.store.engines.base import LIVE, MANIFEST, Batch, Condition, Engine, Match, Point
from raptor_core.store.facts import Facts, facts_by_node
from raptor_core.store.lexical import passage_vector
from raptor_core.store.payload import manifest_id, manifest_to_payload, node_digest, node_to_payload
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
"""Largest difference from 1 of the length of a vector that is published."""

COMMIT_POINTS = 2500
"""Points that a commit of several trees writes or deletes, some 8 MB at 384 dimensions. With trees
of 100 nodes the flushes take a hundredth of the time."""

LISTED_TREES = 500
"""Trees whose points are read at once."""

_STATE_FIELDS = ("tree", "digest", "embedded")


class PublicationBatch:
    """Trees that are published in commits; the last commit is at the end."""

    def __init__(
        self,
        engine: Engine,
        live_vectors: Callable[[Iterable[str]], dict[str, Vectors]],
        commit: Callable[[Batch], None],
        identity: StoreIdentity,
    ) -> None:
        """Begin without a tree; ``live_vectors`` is the store's look-up."""
        self._engine = engine
        self._live_vectors = live_vectors
        self._commit = commit
        self._identity = identity
        self._points: list[Point] = []
        self._deletes: list[str] = []
        self._trees: set[str] = set()
        self._marks: dict[str, str | None] = {}
        self._failure: StoreError | None = None

    def publish(self, editions: Sequence[Edition]) -> list[PublicationCounts]:
        """Publish each edition as ``VectorStore.publish`` does; return the changes of each.

        Trees of several calls become live together where they fit one commit.

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
        stored = self._listed(names)
        planned = [_planned(e.manifest, e.nodes, stored[e.manifest.tree]) for e in editions]
        vectors = self._vectors(planned, editions)
        written = [plan.points(vectors) for plan in planned]
        for plan, points in zip(planned, written, strict=True):
            self._add(plan.manifest.tree, points, plan.deletes)
        return [plan.result for plan in planned]

    def _vectors(
        self, planned: "Sequence[TreeUpdate]", editions: Sequence[Edition]
    ) -> dict[str, Vectors]:
        """Return the vectors of changed nodes by embedding key, from editions or live nodes."""
        new = {key: vector for edition in editions for key, vector in edition.vectors.items()}
        changed = [node for plan in planned for node in plan.changed]
        embedded = [node for node in changed if node.embedding_key in new]
        if embedded:
            rows = np.stack([new[node.embedding_key] for node in embedded])
            check_vectors(embedded, rows, self._identity)
        rest = [node.embedding_key for node in changed if node.embedding_key not in new]
        return {**(self._live_vectors(rest) if rest else {}), **new}

    def _listed(self, trees: Sequence[str]) -> dict[str, list[Point]]:
        """Return the live nodes of each tree, after its mark, so that a later mark is noticed."""
        nodes_of: dict[str, list[Point]] = {tree: [] for tree in trees}
        for at in range(0, len(trees), LISTED_TREES):
            part = tuple(trees[at : at + LISTED_TREES])
            manifests = Condition((Match("tree", part), MANIFEST))
            for tree in part:
                self._marks.pop(tree, None)
            for record in self._engine.scroll(manifests, ("tree", "mark")):
                self._marks[record.payload["tree"]] = record.payload.get("mark")
            nodes = Condition((Match("tree", part), LIVE))
            for record in self._engine.scroll(nodes, _STATE_FIELDS):
                nodes_of[record.payload["tree"]].append(record)
        return nodes_of

    def drop(self, trees: Collection[str]) -> int:
        """Remove trees as ``VectorStore.drop`` does; return the number of their live nodes."""
        names = sorted(set(trees))
        self._begin(names)
        stored = self._listed(names)
        for tree, records in stored.items():
            manifest = [manifest_id(tree)] if tree in self._marks else []
            self._add(tree, [], [*(record.id for record in records), *manifest])
        return sum(map(len, stored.values()))

    def _begin(self, trees: Iterable[str]) -> None:
        """Commit the pending trees where one of these is among them."""
        if self._failure:
            raise self._failure
        if not self._trees.isdisjoint(trees):
            self._flush()

    def _add(self, tree: str, points: Sequence[Point], deletes: Sequence[str]) -> None:
        n_gathered = len(self._points) + len(self._deletes)
        if n_gathered + len(points) + len(deletes) > COMMIT_POINTS:
            self._flush()
        self._points += points
        self._deletes += deletes
        self._trees.add(tree)

    def end(self) -> None:
        """Commit the pending trees; raise StoreError where this or a previous commit failed."""
        self._begin(self._trees)
        self._failure = StoreError("this publication has ended; begin another")

    def _flush(self) -> None:
        if not self._trees:
            return
        replaces = tuple((tree, self._marks.get(tree)) for tree in sorted(self._trees))
        batch = Batch(tuple(self._points), tuple(self._deletes), replaces=replaces)
        self._points, self._deletes, self._trees = [], [], set()
        try:
            self._commit(batch)
        except StoreError as error:
            self._failure = error
            raise


@dataclass(frozen=True, slots=True)
class TreeUpdate:
    """Changes of a tree that publishing makes: nodes to write, with facts, and ids to delete."""

    manifest: Manifest
    changed: tuple[Node, ...]
    facts: Mapping[str, Facts]
    deletes: tuple[str, ...]
    result: PublicationCounts

    def points(self, vectors: Mapping[str, Vectors]) -> list[Point]:
        """Return the points to write, the manifest last; a quarantined node's has no vectors."""
        hidden = set(self.manifest.quarantined)
        if missing := without_vectors(self.manifest, self.changed, vectors):
            node = missing[0]
            raise StoreError(
                f"tree {self.manifest.tree!r} cannot be published: node {node.id} (layer "
                f"{node.layer}, position {node.position}) has no vector, and neither have "
                f"{len(missing) - 1} others; embed them first. The tree stays as it was"
            )
        written = []
        for node in self.changed:
            is_shown = node.id not in hidden
            state = {"state": "live", "build_id": self.manifest.build_id, "embedded": is_shown}
            dense = vectors[node.embedding_key] if is_shown else None
            words = passage_vector(node.text) if is_shown else None
            payload = {**node_to_payload(node, self.facts[node.id]), **state}
            written.append(Point(node.id, payload, dense, words))
        tree = Point(manifest_id(self.manifest.tree), manifest_to_payload(self.manifest))
        return [*written, tree]


def without_vectors(
    manifest: Manifest, nodes: Iterable[Node], vectors: Container[str]
) -> list[Node]:
    """Return the nodes of a tree that lack a vector and are not in quarantine."""
    hidden = set(manifest.quarantined)
    return [n for n in nodes if n.id not in hidden and n.embedding_key not in vectors]


def _planned(manifest: Manifest, nodes: Sequence[Node], stored: Sequence[Point]) -> TreeUpdate:
    """Compare the new tree with ``stored``, all its live points with their digest.

    A node whose live point has the same digest is not written again, unless its quarantine has
    begun or ended.
    """
    foreign = next((node for node in nodes if node.tree != manifest.tree), None)
    if foreign is not None:
        raise StoreError(
            f"node {foreign.id} belongs to tree {foreign.tree!r} and cannot be published "
            f"under {manifest.tree!r}"
        )
    if len({node.id for node in nodes}) != len(nodes):
        raise StoreError(f"tree {manifest.tree!r}: a node id comes twice among {len(nodes)} nodes")
    live = {r.id: (r.payload["digest"], r.payload["embedded"]) for r in stored}
    hidden = set(manifest.quarantined)
    facts = facts_by_node(nodes)
    changed = tuple(
        node
        for node in nodes
        if (node_digest(node, facts[node.id]), node.id not in hidden) != live.get(node.id)
    )
    n_updated = sum(node.id in live for node in changed)
    deletes = sorted(live.keys() - {node.id for node in nodes})
    n_added, n_unchanged = len(changed) - n_updated, len(nodes) - len(changed)
    result = PublicationCounts(n_added, n_updated, n_unchanged, len(deletes))
    return TreeUpdate(manifest, changed, facts, tuple(deletes), result)


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
