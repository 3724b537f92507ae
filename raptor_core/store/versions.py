"""Which points of a tree on a server are its nodes: what makes a publication change all at once.

A server applies a request point by point, and reads none of its requests together. So no point of
a published tree is ever changed. A publication writes its nodes as new points, which carry its
*birth*, a name that no publication had before; then it writes the manifest, a single point, which
names the births whose points are the tree's nodes, and those of their points that are no more; then
it deletes what no manifest names. A reader takes for nodes what the manifest says that it knows,
and looks afterwards whether that still stands (``server_engine.py``). A publisher that dies leaves
the old tree before the manifest is written and the new one after it, and neither waits for anybody.

The manifest is written only where it still is the one that was read (a conditional write), so of
two publishers of one tree one is refused. What dead or refused publishers leave has a birth that no
manifest names; it goes with the next publication of the tree.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engine import Batch, Point, Record
from raptor_core.store.payload import Payload, manifest_id

VERSION_FIELDS = ("state", "tree", "publication", "births", "gone")
"""Fields of a manifest's payload that make a version."""

POINT_FIELDS = ("node_id", "tree", "state", "birth")
"""Fields of a point that tell whether it is a node of its tree."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a manifest says of its tree's points.

    Attributes:
        publication: the one that wrote it.
        births: of the points that are the tree's nodes.
        gone: ids of points with such a birth that are none.
    """

    publication: str = ""
    births: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()

    @classmethod
    def of(cls, payload: Payload) -> Version:
        """That of a manifest's payload."""
        return cls(payload["publication"], frozenset(payload["births"]), frozenset(payload["gone"]))

    def has(self, record: Record) -> bool:
        """Whether a point, read with ``POINT_FIELDS``, is a node of the tree."""
        payload = record.payload
        is_live = payload["state"] == "live" and payload.get("birth") in self.births
        return is_live and record.id not in self.gone


NO_VERSION = Version()
"""Of a tree that is not published."""


@dataclass(frozen=True, slots=True)
class Change:
    """A tree from one version to the next.

    Attributes:
        points: to be written before the manifest, with ids and births of this publication.
        manifest: to be written where the tree's is still ``before``.
        kept: ids of the points that stay nodes.
        gone: ids of the points that are no nodes any more.
        stray: ids of points that were none before.
    """

    tree: str
    before: Version
    points: tuple[Point, ...]
    manifest: Point
    kept: tuple[str, ...]
    gone: tuple[str, ...]
    stray: tuple[str, ...]

    @property
    def is_drop(self) -> bool:
        """Whether the tree goes."""
        return bool(self.manifest.payload["state"] == "dropped")


def plan_changes(
    batch: Batch, versions: Mapping[str, Version], held: Sequence[Record], publication: str
) -> list[Change]:
    """The changes that a batch makes of its trees, those in ``batch.replaces``.

    Args:
        batch: points and deletions by node id, and manifests.
        versions: of the trees that are published.
        held: all points of these trees but manifests, with ``POINT_FIELDS``.
        publication: a name that none had before.
    """
    doomed = {*batch.deletes, *(point.id for point in batch.upserts)}
    new = _by_tree(batch.upserts)
    there: dict[str, list[Record]] = {tree: [] for tree, _ in batch.replaces}
    for record in held:
        there[record.payload["tree"]].append(record)
    return [
        _change(tree, versions.get(tree, NO_VERSION), new.get(tree, []), found, doomed, publication)
        for tree, found in there.items()
        if tree in versions or tree in new or found
    ]


def _by_tree(points: Iterable[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.payload["tree"], []).append(point)
    return found


def _change(
    tree: str,
    before: Version,
    new: Sequence[Point],
    found: Sequence[Record],
    doomed: set[str],
    publication: str,
) -> Change:
    nodes = [record for record in found if before.has(record)]
    kept = [record for record in nodes if record.payload["node_id"] not in doomed]
    gone = [record for record in nodes if record.payload["node_id"] in doomed]
    is_node = {record.id for record in nodes}
    own = birth(publication, tree)
    points = tuple(_born(point, own) for point in new if point.payload["state"] == "live")
    births = {record.payload["birth"] for record in kept} | ({own} if points else set())
    version = {
        "publication": publication,
        "births": sorted(births),
        "gone": sorted(record.id for record in gone if record.payload["birth"] in births),
    }
    written = next((p.payload for p in new if p.payload["state"] == "manifest"), None)
    payload = {"state": "dropped", "tree": tree} if written is None else written
    return Change(
        tree,
        before,
        points,
        Point(manifest_id(tree), {**payload, **version}),
        tuple(record.id for record in kept),
        tuple(record.id for record in gone),
        tuple(record.id for record in found if record.id not in is_node),
    )


def birth(publication: str, tree: str) -> str:
    """Name of a publication's points of one tree."""
    return digest("birth", publication, tree)[:20]


def _born(point: Point, own: str) -> Point:
    point_id = str(uuid.uuid5(NODE_NAMESPACE, digest(own, point.id)))
    return replace(point, id=point_id, payload={**point.payload, "birth": own})
