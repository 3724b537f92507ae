"""Publishing on a server, in the order that ``versions.py`` explains.

    1  new points, and the new counts of terms; a record of what will be left over
    2  the manifests, each where it still is the one that was read
    3  what is left over goes, and its record

Each step is waited for until all copies that live have it, so that a reader may ask any of them.
A publisher that dies before 2 changed nothing, and what it wrote goes with the next publication of
the tree; one that dies after it left what step 3 takes away, which whoever publishes next does.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engine import Batch, Condition, Match, Point, Record
from raptor_core.store.parts import split
from raptor_core.store.payload import manifest_id
from raptor_core.store.qdrant import ClientEngine
from raptor_core.store.server_terms import read_terms, terms_id, terms_point
from raptor_core.store.terms import Terms
from raptor_core.store.versions import (
    NO_VERSION,
    POINT_FIELDS,
    VERSION_FIELDS,
    Change,
    Version,
    plan_changes,
)

READ_IDS = 1000
"""Points that are asked for by id at once."""

_LEFTOVER = Match("state", ("leftover",))
_HELD = Match("state", ("live", "terms", "leftover"))


def read_versions(engine: ClientEngine, trees: Sequence[str]) -> dict[str, Version]:
    """What stands in the manifests of some trees; those that are not published are left out."""
    found: dict[str, Version] = {}
    for at in range(0, len(trees), READ_IDS):
        ids = [manifest_id(tree) for tree in trees[at : at + READ_IDS]]
        for record in engine.fetch(ids, VERSION_FIELDS, dense=False):
            if record.payload["state"] == "manifest":
                found[record.payload["tree"]] = Version.of(record.payload)
    return found


class ServerPublisher:
    """Applies batches of whole trees to a collection."""

    def __init__(self, engine: ClientEngine, where: str) -> None:
        self._engine = engine
        self._where = where
        self._is_tidy = False

    def publish(self, batch: Batch) -> dict[str, Version]:
        """Make the trees of ``batch.replaces`` what the batch says, each whole or not at all.

        Returns:
            Versions by tree; trees that are not published any more are left out.

        Raises:
            StoreRefusedError: another process published one of them meanwhile; that one stays as
                it was. Or the server takes a request for wrong, and nothing was changed.
            StoreError: the server fails. Each tree is old or new.
        """
        self._tidy()
        publication = str(uuid.uuid4())
        changes = self._plan(batch, publication)
        self._write(changes, publication)
        lost = self._switch(changes, publication)
        self._clear([change for change in changes if change.tree not in lost], publication)
        if lost:
            self._take_back([change for change in changes if change.tree in lost], publication)
            raise self._refused(sorted(lost))
        staying = (change.manifest.payload for change in changes if not change.is_drop)
        return {payload["tree"]: Version.of(payload) for payload in staying}

    def _plan(self, batch: Batch, publication: str) -> list[Change]:
        marks = dict(batch.replaces)
        trees = list(marks)
        versions: dict[str, Version] = {}
        for at in range(0, len(trees), READ_IDS):
            ids = [manifest_id(tree) for tree in trees[at : at + READ_IDS]]
            fields = (*VERSION_FIELDS, "mark")
            for record in self._engine.fetch(ids, fields, dense=False):
                if record.payload["state"] == "manifest":
                    tree = record.payload["tree"]
                    versions[tree] = Version.of(record.payload)
                    if marks[tree] != record.payload.get("mark"):
                        raise self._refused([tree])
        if unseen := [tree for tree, mark in marks.items() if mark and tree not in versions]:
            raise self._refused(unseen)
        held = self._engine.scroll(Condition((Match("tree", tuple(trees)), _HELD)), POINT_FIELDS)
        return plan_changes(batch, versions, held, publication)

    def _write(self, changes: Sequence[Change], publication: str) -> None:
        """Step 1; what the server takes for wrong is taken back."""
        terms = self._terms(changes)
        points = [point for change in changes for point in change.points]
        points += [terms_point(tree, publication, counts) for tree, counts in terms.items()]
        points += [_record(change, publication) for change in changes if _left_over(change)]
        try:
            for part in split(Batch(tuple(points))):
                self._engine.apply(part)
                if self._engine.has_copies:
                    self._engine.agreed([point.id for point in part.upserts], ())
        except StoreRefusedError:
            with suppress(StoreError):
                self._take_back(changes, publication)
            raise

    def _terms(self, changes: Sequence[Change]) -> dict[str, Terms]:
        """The counts of each tree that stays: those of before, and the difference."""
        staying = [change for change in changes if not change.is_drop]
        before = read_terms(
            self._engine, {c.tree: c.before.publication for c in staying if c.before.publication}
        )
        found: dict[str, Terms] = {}
        for change in staying:
            now = Terms.of(point.lexical for point in change.points)
            if change.tree in before:
                found[change.tree] = before[change.tree] + now - self._terms_of(change.gone)
            else:
                found[change.tree] = now + self._terms_of(change.kept)
        return found

    def _terms_of(self, ids: Sequence[str]) -> Terms:
        parts = (ids[at : at + READ_IDS] for at in range(0, len(ids), READ_IDS))
        return Terms.of(one.lexical for part in parts for one in self._engine.inspect(part))

    def _switch(self, changes: Sequence[Change], publication: str) -> set[str]:
        """Step 2; the trees whose manifests are another's."""
        before = {change.before.publication for change in changes} - {""} or {publication}
        for part in split(Batch(tuple(change.manifest for change in changes))):
            self._engine.replace(part.upserts, sorted(before))
        ids = [change.manifest.id for change in changes]
        found = [
            record
            for at in range(0, len(ids), READ_IDS)
            for record in self._engine.agreed(ids[at : at + READ_IDS], ("publication",))
        ]
        ours = {record.id for record in found if record.payload["publication"] == publication}
        return {change.tree for change in changes if change.manifest.id not in ours}

    def _clear(self, changes: Sequence[Change], publication: str) -> None:
        """Step 3."""
        ids = [point_id for change in changes for point_id in _left_over(change)]
        records = [_record_id(change.tree, publication) for change in changes]
        manifests = [change.manifest.id for change in changes if change.is_drop]
        self._remove(ids, publication, [*manifests, *records] if ids else manifests)

    def _remove(self, ids: Sequence[str], publication: str, last: Sequence[str]) -> None:
        """Delete points, then manifests of dropped trees and records, which are its own."""
        *parts, rest = [*split(Batch(deletes=tuple(ids)))] or [Batch()]
        for part in parts:
            self._engine.apply(part)
        self._engine.remove(rest, publication, last)

    def _take_back(self, changes: Sequence[Change], publication: str) -> None:
        """Delete what step 1 wrote of trees that do not come."""
        ids = [point.id for change in changes for point in change.points]
        for change in changes:
            ids += [terms_id(change.tree, publication), _record_id(change.tree, publication)]
        for part in split(Batch(deletes=tuple(ids))):
            self._engine.apply(part)

    def _tidy(self) -> None:
        """Do step 3 of publishers that died before it."""
        if self._is_tidy:
            return
        fields = ("tree", "publication", "ids")
        for record in self._engine.scroll(Condition((_LEFTOVER,)), fields):
            self._finish(record)
        self._is_tidy = True

    def _finish(self, record: Record) -> None:
        publication, name = record.payload["publication"], manifest_id(record.payload["tree"])
        found = self._engine.fetch([name], ("publication", "state"), dense=False)
        if any(manifest.payload["publication"] == publication for manifest in found):
            dropped = [one.id for one in found if one.payload["state"] == "dropped"]
            self._remove(record.payload["ids"], publication, [*dropped, record.id])

    def _refused(self, trees: Sequence[str]) -> StoreRefusedError:
        return StoreRefusedError(
            f"{self._where}: another process publishes {', '.join(map(repr, trees[:3]))}"
            f"{' and others' if len(trees) > 3 else ''}, or did since they were compared. Nothing "
            "of them was changed; repeat it, and let one build or import at a time write a tree"
        )


def _record_id(tree: str, publication: str) -> str:
    return str(uuid.uuid5(NODE_NAMESPACE, digest("leftover", publication, tree)))


def _record(change: Change, publication: str) -> Point:
    """A point that names what step 3 takes away of a tree."""
    payload = {
        "state": "leftover",
        "tree": change.tree,
        "publication": publication,
        "ids": _left_over(change),
    }
    return Point(_record_id(change.tree, publication), payload)


def _left_over(change: Change) -> list[str]:
    """Ids of the points that no reader takes for nodes once the manifest is written."""
    counts = [terms_id(change.tree, change.before.publication)]
    return [*change.gone, *change.stray, *(counts if change.before != NO_VERSION else ())]
