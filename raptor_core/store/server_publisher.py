"""Publishing on a server, in the order that ``versions.py`` explains.

    1  new points
    2  the manifests, each where it still is the one that was read, with the new counts of terms
       and the ids of what is left over
    3  what is left over goes, and its ids

Each step is waited for until all copies that live have it, so that a reader may ask any of them.
A publisher that dies before 2 changed nothing, and what it wrote goes with the next publication of
the tree; one that dies after it left what step 3 takes away, which whoever publishes next does.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engine import Batch, Condition, Match, Point
from raptor_core.store.payload import Payload, manifest_id, payload_to_mark
from raptor_core.store.qdrant import ClientEngine
from raptor_core.store.terms import TERM_FIELDS, Terms, added
from raptor_core.store.versions import (
    HELD,
    POINT_FIELDS,
    VERSION_FIELDS,
    Change,
    Version,
    plan_changes,
)


def read_manifests(
    engine: ClientEngine, trees: Collection[str], fields: Sequence[str]
) -> dict[str, Payload]:
    """These fields, and ``tree``, of the manifests that trees have."""
    records = engine.fetch([manifest_id(tree) for tree in trees], ("tree", *fields), dense=False)
    return {record.payload["tree"]: record.payload for record in records}


def read_terms(engine: ClientEngine, trees: Collection[str]) -> dict[str, Terms]:
    """The counts of trees; those that an earlier version published have a point of their own."""
    found = read_manifests(engine, trees, ("state", "publication", *TERM_FIELDS))
    old = [
        str(uuid.uuid5(NODE_NAMESPACE, digest("terms", one["publication"], tree)))
        for tree, one in found.items()
        if one["state"] == "manifest" and "terms" not in one
    ]
    points = engine.fetch(old, ("tree", *TERM_FIELDS), dense=False) if old else []
    found |= {record.payload["tree"]: record.payload for record in points}
    return {tree: Terms.of_payload(one) for tree, one in found.items() if "terms" in one}


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
            change.tree: Version(publication, frozenset(change.manifest["births"]))
            for change in changes
            if not change.is_drop
        }

    def _plan(self, batch: Batch, publication: str) -> list[Change]:
        marks = dict(batch.replaces)
        stored = read_manifests(self._engine, marks, (*VERSION_FIELDS, "mark", *TERM_FIELDS))
        if lost := [t for t, mark in marks.items() if stored.get(t, {}).get("mark") != mark]:
            raise self._refused(lost)
        held = self._engine.scroll(Condition((Match("tree", tuple(marks)), HELD)), POINT_FIELDS)
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
        if "terms" in change.before and mark and mark.n_nodes == n_nodes:
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
