"""Which points of a tree on a server are its nodes: what makes a publication change all at once.

A server applies a request point by point, and reads none of its requests together. So no point of
a published tree is ever changed. A publication writes its nodes as new points, which carry its
*birth*, a name that no publication had before; then it writes the manifest, a single point, which
names the births whose points are the tree's nodes, and those points that are left over; then it
deletes these. A reader takes for nodes what the manifest says that it knows, and looks afterwards
whether that still stands (``server_engine.py``). A publisher that dies leaves the old tree before
the manifest is written and the new one after it, and neither waits for anybody.

The manifest is written only where it still is the one that was read (a conditional write), so of
two publishers of one tree one is refused. What dead or refused publishers leave has a birth that no
manifest names; it goes with the next publication of the tree.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engine import Batch, Match, Point, Record
from raptor_core.store.payload import Payload

VERSIONED = Match("state", ("manifest", "dropped", "leftover"))
"""A tree that was dropped has a manifest until its points are deleted. An earlier version named
these in a point in state "leftover", and counted a tree's terms in one in state "terms"."""

HELD = Match("state", ("live", "terms", "leftover"))

VERSION_FIELDS = ("tree", "publication", "births", "gone")
"""Fields of a manifest's payload that make a version."""

POINT_FIELDS = ("node_id", "tree", "state", "birth")
"""Fields of a point that tell whether it is a node of its tree."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a manifest says of its tree's points.

    Attributes:
        publication: the one that wrote it.
        births: of the points that are the tree's nodes.
        gone: ids of points that are none, whatever their birth; until they are deleted.
    """

    publication: str = ""
    births: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()

    @classmethod
    def of(cls, payload: Payload) -> Version:
        """That of a manifest's payload."""
        births, gone = payload["births"], payload.get("gone", ())
        return cls(payload["publication"], frozenset(births), frozenset(gone))

    def has(self, payload: Payload, point_id: str) -> bool:
        """Whether a point, read with ``POINT_FIELDS``, is a node of the tree."""
        is_live = payload["state"] == "live" and payload.get("birth") in self.births
        return is_live and point_id not in self.gone


NO_VERSION = Version()
"""Of a tree that is not published."""


@dataclass(frozen=True, slots=True)
class Change:
    """A tree from one version to the next.

    Attributes:
        before: payload of the manifest that it has; empty where it has none.
        points: to be written before the manifest, with ids and births of this publication.
        manifest: payload of the new one, to be written where the tree's is still ``before``.
        kept: ids of the points that stay nodes.
        lost: ids of the points that are no nodes any more.
    """

    tree: str
    before: Payload
    points: tuple[Point, ...]
    manifest: Payload
    kept: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def is_drop(self) -> bool:
        """Whether the tree goes."""
        return bool(self.manifest["state"] == "dropped")


def plan_changes(
    batch: Batch, manifests: Mapping[str, Payload], held: Sequence[Record], publication: str
) -> list[Change]:
    """The changes that a batch makes of its trees, those in ``batch.replaces``.

    Args:
        batch: points and deletions by node id, and manifests.
        manifests: payloads of those that the trees have, with ``VERSION_FIELDS``.
        held: all points of these trees but manifests, with ``POINT_FIELDS``.
        publication: a name that none had before.
    """
    doomed = {*batch.deletes, *(point.id for point in batch.upserts)}
    new: defaultdict[str, list[Point]] = defaultdict(list)
    for point in batch.upserts:
        new[point.payload["tree"]].append(point)
    there: defaultdict[str, list[Record]] = defaultdict(list)
    for record in held:
        there[record.payload["tree"]].append(record)
    return [
        _change(tree, manifests.get(tree, {}), new[tree], there[tree], doomed, publication)
        for tree, _ in batch.replaces
        if tree in manifests or new[tree] or there[tree]
    ]


def _change(
    tree: str,
    before: Payload,
    new: Sequence[Point],
    found: Sequence[Record],
    doomed: set[str],
    publication: str,
) -> Change:
    version = Version.of(before) if before else NO_VERSION
    nodes = [record for record in found if version.has(record.payload, record.id)]
    kept = {r.id: r.payload["birth"] for r in nodes if r.payload["node_id"] not in doomed}
    own = digest("birth", publication, tree)[:20]
    points = tuple(_born(point, own) for point in new if point.payload["state"] == "live")
    written = next((p.payload for p in new if p.payload["state"] == "manifest"), None)
    manifest = {
        **({"state": "dropped", "tree": tree} if written is None else written),
        "publication": publication,
        "births": sorted({*kept.values(), own} if points else set(kept.values())),
        "gone": [record.id for record in found if record.id not in kept],
    }
    lost = tuple(record.id for record in nodes if record.id not in kept)
    return Change(tree, before, points, manifest, tuple(kept), lost)


def _born(point: Point, own: str) -> Point:
    point_id = str(uuid.uuid5(NODE_NAMESPACE, digest(own, point.id)))
    return replace(point, id=point_id, payload={**point.payload, "birth": own})
