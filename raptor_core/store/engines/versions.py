"""Which points of a tree on a server are its nodes: what makes a publication change all at once.

A server applies a request point by point, and reads none of its requests together. So no point of
a published tree is ever changed. A publication writes its nodes as new points, which carry its
*birth*, a name that no publication had before; then it writes the manifest, a single point, which
names the births whose points are the tree's nodes, and those points that are left over; then it
deletes these. A reader takes for nodes what the manifest says that it knows, and looks afterwards
whether that still stands (``server.py``). A publisher that dies leaves the old tree before
the manifest is written and the new one after it, and neither waits for anybody.

The manifest is written only where it still is the one that was read (a conditional write), so of
two publishers of one tree one is refused. What dead or refused publishers leave has a birth that no
manifest names; it goes with the next publication of the tree. Each step is waited for until all
copies that live have it, so that a reader may ask any of them.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engines.base import LIVE, Batch, Condition, Match, Point
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.terms import TERM_FIELDS, Terms, added
from raptor_core.store.payload import Payload, manifest_id, payload_to_mark

VERSIONED = Match("state", ("manifest", "dropped"))
"""A tree that was dropped has a manifest until its points are deleted."""

VERSION_FIELDS = ("tree", "publication", "births", "gone", "birth", "n_nodes")
"""Fields of a manifest's payload that make a version."""

POINT_FIELDS = ("node_id", "tree", "birth")
"""Fields of a live point that tell whether it is a node of its tree."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a manifest says of its tree's points.

    Attributes:
        publication: the one that wrote it.
        births: of the points that are the tree's nodes.
        gone: ids of points that are none, whatever their birth; until they are deleted.
        birth: of the manifest; empty where an earlier version of this program wrote it.
        n_nodes: number of nodes that hold any word; 0 where it is not known.
    """

    publication: str = ""
    births: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    birth: str = ""
    n_nodes: int = 0

    @classmethod
    def of(cls, payload: Payload) -> Version:
        """That of a manifest's payload."""
        births, gone = payload["births"], payload.get("gone", ())
        birth, n_nodes = payload.get("birth", ""), payload.get("n_nodes", 0)
        return cls(payload["publication"], frozenset(births), frozenset(gone), birth, n_nodes)

    def has(self, payload: Payload, point_id: str) -> bool:
        """Whether a point, read with ``POINT_FIELDS``, is a node of the tree."""
        return payload["birth"] in self.births and point_id not in self.gone


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
    batch: Batch, manifests: Mapping[str, Payload], held: Sequence[Point], publication: str
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
    there: defaultdict[str, list[Point]] = defaultdict(list)
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
    found: Sequence[Point],
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
        "birth": digest("manifest", publication, tree)[:20],  # which none of its points has
        "births": sorted({*kept.values(), own} if points else set(kept.values())),
        "gone": [record.id for record in found if record.id not in kept],
    }
    lost = tuple(record.id for record in nodes if record.id not in kept)
    return Change(tree, before, points, manifest, tuple(kept), lost)


def _born(point: Point, own: str) -> Point:
    point_id = str(uuid.uuid5(NODE_NAMESPACE, digest(own, point.id)))
    return replace(point, id=point_id, payload={**point.payload, "birth": own})


def read_manifests(
    engine: ClientEngine, trees: Collection[str], fields: Sequence[str]
) -> dict[str, Payload]:
    """These fields, and ``tree``, of the manifests that trees have."""
    records = engine.fetch([manifest_id(tree) for tree in trees], ("tree", *fields), dense=False)
    return {record.payload["tree"]: record.payload for record in records}


class ServerPublisher:
    """Applies batches of whole trees to a collection."""

    def __init__(self, engine: ClientEngine) -> None:
        self._engine = engine

    def publish(self, batch: Batch) -> dict[str, Version]:
        """Make the trees of ``batch.replaces`` what the batch says, each whole or not at all.

        Returns:
            Versions by tree; trees that are not published any more are left out.

        Raises:
            StoreRefusedError: another process published one of them meanwhile; that one stays as
                it was. Or the server takes a request for wrong, and nothing was changed.
            StoreError: the server fails. Each tree is old or new.
        """
        publication = str(uuid.uuid4())
        changes = self._plan(batch, publication)
        self._write(changes)
        ours = self._switch(changes, publication)
        self.settle(publication, [change.manifest for change in changes if change.tree in ours])
        if lost := [change for change in changes if change.tree not in ours]:
            self._take_back(lost)
            raise self._refused([change.tree for change in lost])
        return {
            change.tree: Version.of({**change.manifest, "gone": ()})
            for change in changes
            if not change.is_drop
        }

    def _plan(self, batch: Batch, publication: str) -> list[Change]:
        marks = dict(batch.replaces)
        stored = read_manifests(self._engine, marks, (*VERSION_FIELDS, "mark", *TERM_FIELDS))
        if lost := [t for t, mark in marks.items() if stored.get(t, {}).get("mark") != mark]:
            raise self._refused(lost)
        held = self._engine.scroll(Condition((Match("tree", tuple(marks)), LIVE)), POINT_FIELDS)
        return plan_changes(batch, stored, held, publication)

    def _write(self, changes: Sequence[Change]) -> None:
        """Step 1; what the server takes for wrong is taken back."""
        try:
            points = tuple(point for change in changes for point in change.points)
            self._engine.apply(Batch(points))
            self._engine.agreed([point.id for point in points], ())
        except StoreRefusedError:
            with suppress(StoreError):
                self._take_back(changes)
            raise

    def _take_back(self, changes: Iterable[Change]) -> None:
        ids = tuple(point.id for change in changes for point in change.points)
        self._engine.apply(Batch(deletes=ids))

    def _switch(self, changes: Sequence[Change], publication: str) -> set[str]:
        """Step 2; the trees whose manifests are ours then."""
        before = {change.before["publication"] for change in changes if change.before}
        manifests = [
            Point(manifest_id(change.tree), {**change.manifest, **self._terms(change)})
            for change in changes
        ]
        self._engine.replace(manifests, sorted(before or {publication}))
        found = self._engine.agreed([point.id for point in manifests], ("tree", "publication"))
        now = [record.payload for record in found]
        return {one["tree"] for one in now if one["publication"] == publication}

    def _terms(self, change: Change) -> Payload:
        """Counts of a tree that stays, as its manifest has them.

        They are those of before, and the difference; where they are not known, or damaged nodes
        were taken away since, those of all its nodes.
        """
        if change.is_drop:
            return {}
        parts = [Terms.of(point.lexical for point in change.points)]
        mark = payload_to_mark(change.before)
        n_nodes = len(change.kept) + len(change.lost)
        if mark and mark.n_nodes == n_nodes:
            lost = Terms.of(self._engine.words(change.lost))
            parts += [Terms.of_payload(change.before), -lost]
        else:
            parts.append(Terms.of(self._engine.words(change.kept)))
        return added(parts).to_payload()

    def settle(self, publication: str, manifests: Sequence[Payload]) -> None:
        """Step 3, of trees that were published together; again is allowed."""
        ids = tuple(point_id for manifest in manifests for point_id in manifest.get("gone", ()))
        if not ids and all(manifest["state"] == "manifest" for manifest in manifests):
            return
        names = [manifest_id(manifest["tree"]) for manifest in manifests]
        self._engine.settle(ids, publication, names)

    def _refused(self, trees: Sequence[str]) -> StoreRefusedError:
        return StoreRefusedError(
            f"{self._engine.where}: another process publishes {', '.join(map(repr, trees[:3]))}"
            f"{' and others' if len(trees) > 3 else ''}, or did since they were compared. Nothing "
            "of them was changed; repeat it, and let one build or import at a time write a tree"
        )
