"""Publication of trees: the batch that makes each new tree live and removes the old one.

Points are staged first: those of a layer as soon as they have vectors (``VectorStore.stage``), the
others when their tree is published. No search returns staged points. A commit sets readers, marks
the manifests of its trees as unfinished, makes staged points live, deletes those that the new trees
lack, and writes the manifests last. It is not a transaction: for some milliseconds a search may see
nodes of both builds. If the process dies during a commit, the manifests stay unfinished; the next
build publishes these trees again and so removes every superfluous point. Many trees share a commit,
because each commit costs several disk flushes, or a request.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.nodes import Node
from raptor_core.store.base import Manifest, PublicationCounts, StoreIdentity, TreeEdition
from raptor_core.store.engines.base import (
    Condition,
    Delete,
    Engine,
    Match,
    Operation,
    Point,
    SetLive,
    SetReaders,
    Upsert,
)
from raptor_core.store.facts import NodeFilterValues, common_readers, filter_values_by_node
from raptor_core.store.lexical import passage_vector
from raptor_core.store.payload import (
    manifest_point_id,
    manifest_to_payload,
    node_to_payload,
    point_id,
)
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
"""Largest difference between the length of a published vector and 1."""

COMMIT_POINTS = 2500
"""Number of points that are written at once (8 MB at 384 dimensions), and that may change in a
commit of several calls. With trees of 100 nodes, flushing takes a hundredth of the time."""

LISTED_TREES = 500
"""Number of trees whose points are read at once."""

Readers = tuple[str, ...]


class StoredPoint(NamedTuple):
    """Fields of a stored point; the node id of a manifest is empty."""

    node_id: str = ""
    state: str = ""
    readers: Readers = ()


StoredPoints = dict[str, StoredPoint]
"""Stored points by point id."""

UNFINISHED = "unfinished"
"""``Manifest.inputs`` of a tree whose commit is in progress; it never equals a source's digest."""


@dataclass(frozen=True, slots=True)
class TreeUpdate:
    """Changes that a publication makes to a tree.

    Attributes:
        manifest: the new manifest; None drops the tree.
        staged_ids: ids of points that become live.
        deleted_ids: ids of points to delete.
        counts: numbers of nodes.
        readers: new readers by point id, for points whose readers change.
    """

    tree: str
    manifest: Manifest | None
    staged_ids: Sequence[str]
    deleted_ids: Sequence[str]
    counts: PublicationCounts
    readers: Mapping[str, Readers] = field(default_factory=dict)

    @property
    def n_points(self) -> int:
        """Number of points that change."""
        return len({*self.staged_ids, *self.readers}) + len(self.deleted_ids)

    @property
    def unfinished_manifest(self) -> Manifest:
        """The manifest of the tree while its points change."""
        manifest = self.manifest or Manifest(self.tree, "", (), 0, {}, "", "", "")
        return replace(manifest, inputs=UNFINISHED)


class PublicationBatch:
    """Trees that are published in shared commits; ``commit_pending`` makes the last commit."""

    def __init__(self, engine: Engine, identity: StoreIdentity) -> None:
        self._engine = engine
        self._identity = identity
        self._updates: dict[str, TreeUpdate] = {}
        self._failure: StoreError | None = None
        self.changes_points = False

    def publish(self, editions: Sequence[TreeEdition]) -> list[PublicationCounts]:
        """Publish each edition like ``VectorStore.publish``, and return what changed for each.

        The trees of a call share a commit, and so do several calls if they are small enough.

        Raises:
            StoreError: a vector is missing or is not a unit vector, and the call's trees stay as
                they were; or a commit failed, which ``commit_pending`` raises again.
            StoreMismatchError: the length of a vector differs from the store's.
        """
        stored = self._read_stored_points([edition.manifest.tree for edition in editions])
        filter_values = {
            name: known for e in editions for name, known in filter_values_by_node(e.nodes).items()
        }
        updates: list[TreeUpdate] = []
        new: dict[str, Node] = {}
        for edition in editions:
            _check_nodes_belong_to_tree(edition)
            points = {point_id(node, filter_values[node.id]): node for node in edition.nodes}
            of_tree = stored[edition.manifest.tree]
            updates.append(_compare_with_stored(edition.manifest, points, of_tree))
            new |= {name: node for name, node in points.items() if name not in of_tree}
        vectors = {key: vector for edition in editions for key, vector in edition.vectors.items()}
        write_staged_points(self._engine, self._identity, new, filter_values, vectors)
        self._add_updates(updates)
        return [update.counts for update in updates]

    def drop(self, trees: Collection[str]) -> int:
        """Remove trees like ``VectorStore.drop``; return the number of their live nodes."""
        stored = self._read_stored_points(sorted(set(trees)))
        updates = [_make_removal_update(tree, points) for tree, points in stored.items()]
        self._add_updates(updates)
        return sum(update.counts.removed for update in updates)

    def commit_pending(self) -> None:
        """Commit the pending trees; raise StoreError if this or a previous commit failed."""
        self._commit()
        self._failure = StoreError("this publication has ended; begin another")

    def _read_stored_points(self, trees: Sequence[str]) -> dict[str, StoredPoints]:
        """Return the points of each tree by point id, including its manifest."""
        if self._failure or not self._updates.keys().isdisjoint(trees):
            self._commit()
        stored: defaultdict[str, StoredPoints] = defaultdict(dict)
        for at in range(0, len(trees), LISTED_TREES):
            of_trees = Condition((Match("tree", tuple(trees[at : at + LISTED_TREES])),))
            fields = ("tree", "node_id", "state", "readers")
            for record in self._engine.scroll(of_trees, fields):
                values = record.payload
                readers = tuple(values.get("readers", ()))
                point = StoredPoint(values.get("node_id", ""), values["state"], readers)
                stored[values["tree"]][record.id] = point
        return stored

    def _add_updates(self, updates: Sequence[TreeUpdate]) -> None:
        """Add the changes of a call to the pending commit."""
        n_points = sum(each.n_points for each in (*self._updates.values(), *updates))
        if n_points > COMMIT_POINTS:
            self._commit()
        self._updates |= {update.tree: update for update in updates}
        self.changes_points |= any(update.staged_ids or update.deleted_ids for update in updates)

    def _commit(self) -> None:
        """Make points live, delete others, write the manifests, and delete those of dropped trees.

        Readers are set first, so that a manifest never has fewer readers than its nodes. The
        manifest of a build is written last, so that it never exists without all of its nodes.
        """
        if self._failure:
            raise self._failure
        updates, self._updates = list(self._updates.values()), {}
        operations: list[Operation] = [
            *_group_reader_changes(updates),
            Upsert(_manifest_points(each.unfinished_manifest for each in updates if each.n_points)),
            SetLive(tuple(name for each in updates for name in each.staged_ids)),
            Delete(tuple(name for each in updates for name in each.deleted_ids)),
            Upsert(_manifest_points(each.manifest for each in updates if each.manifest)),
            Delete(
                tuple(manifest_point_id(each.tree) for each in updates if each.manifest is None)
            ),
        ]
        operations = [operation for operation in operations if operation[0]]
        try:
            if operations:
                self._engine.apply(operations)
        except StoreError as error:
            self._failure = error
            raise


def _group_reader_changes(updates: Sequence[TreeUpdate]) -> list[SetReaders]:
    """Group the changes of readers by points that get the same readers."""
    ids: defaultdict[Readers, list[str]] = defaultdict(list)
    for update in updates:
        for name, readers in update.readers.items():
            ids[readers].append(name)
    return [SetReaders(tuple(names), readers) for readers, names in sorted(ids.items())]


def _manifest_points(manifests: Iterable[Manifest]) -> tuple[Point, ...]:
    return tuple(Point(manifest_point_id(m.tree), manifest_to_payload(m)) for m in manifests)


def _make_removal_update(tree: str, stored: StoredPoints) -> TreeUpdate:
    """Return the removal of a tree and its points; its manifest is deleted last."""
    deletes = sorted(stored.keys() - {manifest_point_id(tree)})
    counts = PublicationCounts(0, 0, 0, removed=len(_live_node_ids(stored)))
    return TreeUpdate(tree, None, (), deletes, counts)


def _live_node_ids(stored: StoredPoints) -> set[str]:
    """Return the ids of live nodes."""
    return {point.node_id for point in stored.values() if point.state == "live"}


def _check_nodes_belong_to_tree(edition: TreeEdition) -> None:
    """Raise StoreError if a node belongs to another tree."""
    tree = edition.manifest.tree
    if foreign := next((node for node in edition.nodes if node.tree != tree), None):
        raise StoreError(
            f"node {foreign.id} belongs to tree {foreign.tree!r} and cannot be published "
            f"under {tree!r}"
        )


def _compare_with_stored(
    manifest: Manifest, points: Mapping[str, Node], stored: StoredPoints
) -> TreeUpdate:
    """Compare the points of the new tree with its stored points, by their content-derived ids."""
    known = {name: stored.get(name, StoredPoint()) for name in points}
    not_live = sorted(name for name in points if known[name].state != "live")
    of_points = {name: common_readers(n.documents, manifest.readers) for name, n in points.items()}
    readers = {name: new for name, new in of_points.items() if new != known[name].readers}
    deletes = sorted(stored.keys() - points.keys() - {manifest_point_id(manifest.tree)})
    live = _live_node_ids(stored)
    written = {points[name].id for name in not_live}
    counts = PublicationCounts(
        added=len(written - live),
        updated=len(written & live),
        unchanged=len(points) - len(not_live),
        removed=len(live.difference(node.id for node in points.values())),
        readers=len(readers.keys() - set(not_live)),
        new_ids=tuple(sorted(written - live)),
    )
    return TreeUpdate(manifest.tree, manifest, not_live, deletes, counts, readers)


def write_staged_points(
    engine: Engine,
    identity: StoreIdentity,
    nodes: Mapping[str, Node],
    filter_values: Mapping[str, NodeFilterValues],
    vectors: Mapping[str, Vectors],
) -> None:
    """Write nodes as staged points, by point id.

    Raises:
        StoreError: a vector is missing or is not a unit vector; nothing of its part was written.
    """
    names = list(nodes)
    for at in range(0, len(names), COMMIT_POINTS):
        part = {name: nodes[name] for name in names[at : at + COMMIT_POINTS]}
        _check_vectors(list(part.values()), vectors, identity)
        points = (
            Point(
                name,
                node_to_payload(node, filter_values[node.id], "staged"),
                vectors[node.embedding_key],
                passage_vector(node.text),
            )
            for name, node in part.items()
        )
        engine.apply([Upsert(tuple(points))])


def _check_vectors(
    nodes: Sequence[Node], vectors: Mapping[str, Vectors], identity: StoreIdentity
) -> None:
    """Reject nodes without a vector, and vectors that are not finite unit vectors of the store."""
    if missing := [node for node in nodes if node.embedding_key not in vectors]:
        node = missing[0]
        raise StoreError(
            f"tree {node.tree!r} cannot be published: node {node.id} (layer {node.layer}, position "
            f"{node.position}) and {len(missing) - 1} others have no vector; embed them first. The "
            "tree stays as it was"
        )
    rows = np.stack([vectors[node.embedding_key] for node in nodes])
    expected = (len(nodes), identity.n_dims)
    if rows.shape != expected:
        raise StoreMismatchError(
            f"store {identity.corpus!r} expects vectors of shape {expected} from "
            f"{identity.embedder_model}; got {rows.shape}"
        )
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(norms - 1) <= UNIT_TOLERANCE))
    if wrong.size:
        row = int(wrong[0])
        raise StoreError(
            f"the vector of node {nodes[row].id} of tree {nodes[row].tree!r} has norm "
            f"{norms[row]}; embedders must return unit vectors ({wrong.size} of {len(nodes)} wrong)"
        )
