"""Versions of trees on a server: a manifest names the points that are its tree's nodes.

A server applies requests point by point, without transactions. So no point of a published tree is
ever changed. A publication (1) writes its nodes as new points with a new *birth*, a name of this
publication and tree; (2) writes the manifest, a single point that names the births of the tree's
nodes and the ids of obsolete points, where it is still the version that was read; (3) deletes the
obsolete points. A publisher that dies leaves the old tree before step 2, and the new one after it.
The next publication of the tree deletes points whose birth no manifest names. Each step waits until
all live copies have it. ADR 9 has the reasons, ``server.py`` the reader.
"""

import math
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from raptor_core.errors import StoreError, StoreRefusedError
from raptor_core.identity import NODE_NAMESPACE, digest
from raptor_core.store.engines.base import LIVE, Batch, Condition, Match, Point
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.terms import NO_TERMS, TERM_FIELDS, CorpusTerms, TermCounts
from raptor_core.store.payload import Payload, manifest_id

VERSIONED = Match("state", ("manifest", "dropped"))
"""Match for manifests; a dropped tree has one until its points are deleted."""

VERSION_FIELDS = ("tree", "publication", "births", "gone")
"""Fields of a manifest's payload that make a version."""

POINT_FIELDS = ("node_id", "tree", "birth")
"""Fields of a live point that decide whether it is a node of its tree."""


@dataclass(frozen=True, slots=True)
class Version:
    """Version of a published tree, as its manifest stores it.

    ``publication`` wrote the manifest. Points with one of ``births`` are the tree's nodes, except
    the ``obsolete`` ones, which are ids of points to delete.
    """

    publication: str = ""
    births: frozenset[str] = frozenset()
    obsolete: frozenset[str] = frozenset()

    @classmethod
    def of(cls, payload: Payload) -> "Version":
        """Return the version that a manifest's payload stores."""
        births, obsolete = frozenset(payload["births"]), frozenset(payload.get("gone", ()))
        return cls(payload["publication"], births, obsolete)

    def has(self, payload: Payload, point_id: str) -> bool:
        """Return whether a point, read with ``POINT_FIELDS``, is a node of the tree."""
        return payload["birth"] in self.births and point_id not in self.obsolete


NO_VERSION = Version()
"""Version of a tree that is not published."""


@dataclass(frozen=True, slots=True)
class VersionChange:
    """Change of a tree to its next version.

    ``points`` are written before the new ``manifest``, which is written where ``previous``, the
    payload of the old one or {}, is still current. ``kept`` are ids of points that remain nodes.
    """

    tree: str
    previous: Payload
    points: tuple[Point, ...]
    manifest: Payload
    kept: tuple[str, ...]


def plan_changes(
    batch: Batch, manifests: Mapping[str, Payload], stored: Sequence[Point], publication: str
) -> list[VersionChange]:
    """Return the changes of the trees in ``batch.replaces``, by node ids.

    ``manifests`` have ``VERSION_FIELDS``. ``stored`` are all other points of these trees, with
    ``POINT_FIELDS``.
    """
    replaced = {*batch.deletes, *(point.id for point in batch.upserts)}
    new, old = _by_tree(batch.upserts), _by_tree(stored)
    return [
        _change(tree, manifests.get(tree, {}), new[tree], old[tree], replaced, publication)
        for tree, _ in batch.replaces
        if tree in manifests or new[tree] or old[tree]
    ]


def _by_tree(points: Iterable[Point]) -> defaultdict[str, list[Point]]:
    rows: defaultdict[str, list[Point]] = defaultdict(list)
    for point in points:
        rows[point.payload["tree"]].append(point)
    return rows


def _change(
    tree: str,
    previous: Payload,
    new: Sequence[Point],
    stored: Sequence[Point],
    replaced: set[str],
    publication: str,
) -> VersionChange:
    version = Version.of(previous) if previous else NO_VERSION
    kept = {
        record.id: record.payload["birth"]
        for record in stored
        if version.has(record.payload, record.id) and record.payload["node_id"] not in replaced
    }
    birth = digest("birth", publication, tree)[:20]
    points = tuple(
        replace(
            point,
            id=str(uuid.uuid5(NODE_NAMESPACE, digest(birth, point.id))),
            payload={**point.payload, "birth": birth},
        )
        for point in new
        if point.payload["state"] == "live"
    )
    written = next((p.payload for p in new if p.payload["state"] == "manifest"), None)
    manifest = {
        **({"state": "dropped", "tree": tree} if written is None else written),
        "publication": publication,
        "birth": digest("manifest", publication, tree)[:20],  # differs from those of its points
        "births": sorted({*kept.values(), birth} if points else set(kept.values())),
        "gone": [record.id for record in stored if record.id not in kept],
    }
    return VersionChange(tree, previous, points, manifest, tuple(kept))


def read_manifests(
    engine: ClientEngine, trees: Collection[str], fields: Sequence[str]
) -> dict[str, Payload]:
    """Return these fields, and ``tree``, of the trees' manifests, by tree."""
    records = engine.fetch([manifest_id(tree) for tree in trees], ("tree", *fields), dense=False)
    return {record.payload["tree"]: record.payload for record in records}


class ServerPublisher:
    """Publisher of trees to a collection."""

    def __init__(self, engine: ClientEngine) -> None:
        self._engine = engine

    def publish(self, batch: Batch) -> dict[str, Version]:
        """Publish or drop the trees of ``batch.replaces``; return the versions of published trees.

        Raises:
            StoreRefusedError: another process published a tree meanwhile; this tree stays as it
                was. Or the server refuses a request, and no tree was changed.
            StoreError: the server fails. Each tree is old or new.
        """
        publication = str(uuid.uuid4())
        changes = self._plan(batch, publication)
        self._write(changes)
        published = self._switch(changes, publication)
        done = [change.manifest for change in changes if change.tree in published]
        self.finish(publication, done)
        if refused := [change for change in changes if change.tree not in published]:
            self._take_back(refused)
            raise self._refusal([change.tree for change in refused])
        return {
            change.tree: Version.of({**change.manifest, "gone": ()})
            for change in changes
            if change.manifest["state"] != "dropped"
        }

    def _plan(self, batch: Batch, publication: str) -> list[VersionChange]:
        marks = dict(batch.replaces)
        stored = read_manifests(self._engine, marks, (*VERSION_FIELDS, "mark"))
        if changed := [t for t, mark in marks.items() if stored.get(t, {}).get("mark") != mark]:
            raise self._refusal(changed)
        nodes = self._engine.scroll(Condition((Match("tree", tuple(marks)), LIVE)), POINT_FIELDS)
        return plan_changes(batch, stored, nodes, publication)

    def _write(self, changes: Sequence[VersionChange]) -> None:
        """Do step 1; delete these points where the server refuses some of them."""
        try:
            points = tuple(point for change in changes for point in change.points)
            self._engine.apply(Batch(points))
            self._engine.fetch_agreed([point.id for point in points], ())
        except StoreRefusedError:
            with suppress(StoreError):
                self._take_back(changes)
            raise

    def _take_back(self, changes: Iterable[VersionChange]) -> None:
        ids = tuple(point.id for change in changes for point in change.points)
        self._engine.apply(Batch(deletes=ids))

    def _switch(self, changes: Sequence[VersionChange], publication: str) -> set[str]:
        """Do step 2; return the trees that have manifests of this publication."""
        previous = {change.previous["publication"] for change in changes if change.previous}
        manifests = [
            Point(manifest_id(change.tree), {**change.manifest, **self._terms(change)})
            for change in changes
        ]
        self._engine.replace(manifests, sorted(previous or {publication}))
        ids = [point.id for point in manifests]
        stored = [p.payload for p in self._engine.fetch_agreed(ids, ("tree", "publication"))]
        return {payload["tree"] for payload in stored if payload["publication"] == publication}

    def _terms(self, change: VersionChange) -> Payload:
        """Return the term counts of a tree for its manifest; none for a dropped tree."""
        if change.manifest["state"] == "dropped":
            return {}
        kept = self._engine.lexical_vectors(change.kept)
        return TermCounts.of((*kept, *(point.lexical for point in change.points))).to_payload()

    def finish(self, publication: str, manifests: Sequence[Payload]) -> None:
        """Do step 3 for trees that were published together; it may be repeated."""
        ids = tuple(point_id for manifest in manifests for point_id in manifest.get("gone", ()))
        if not ids and all(manifest["state"] == "manifest" for manifest in manifests):
            return
        names = [manifest_id(manifest["tree"]) for manifest in manifests]
        self._engine.finish(ids, publication, names)

    def _refusal(self, trees: Sequence[str]) -> StoreRefusedError:
        return StoreRefusedError(
            f"{self._engine.where}: another process publishes {', '.join(map(repr, trees[:3]))}"
            f"{' and others' if len(trees) > 3 else ''}, or has published them since they were "
            "compared. These trees were not changed. Repeat it, and let only one build or import "
            "at a time write a tree"
        )


KNOWN_SECONDS = 30.0
"""Largest age of the term counts of trees that no read returned."""

RECENT_SECONDS, MAX_RECENT = 10.0, 50
"""How long after a change a tree is checked together with others, and how many are at most."""


class KnownVersions:
    """Last known version of each tree of a collection. Threads may share it."""

    def __init__(self, points: ClientEngine) -> None:
        self._points = points
        self._versions: dict[str, Version] = {}
        self._change_times: dict[str, float] = {}
        self._unfinished: list[Payload] = []
        self._refreshed_at = -math.inf
        self._terms = CorpusTerms()
        self._changed: set[str] = set()
        self._are_terms_due = False
        self._lock = threading.RLock()

    def of(self, trees: Iterable[Any] | None = None) -> dict[str, Version]:
        """Return the known version by tree, or ``NO_VERSION``; None is all trees with a version."""
        known = self._versions
        return {t: known.get(t, NO_VERSION) for t in set(known if trees is None else trees)}

    @property
    def are_changing(self) -> bool:
        """Whether a tree has changed recently."""
        return bool(self._change_times)

    def refresh(self, max_seconds: float = math.inf) -> None:
        """Read the versions of all trees, unless the last time is at most ``max_seconds`` ago."""
        with self._lock:
            if time.monotonic() - self._refreshed_at < max_seconds:
                return
            fields = (*VERSION_FIELDS, "state")
            stored = [r.payload for r in self._points.scroll(Condition((VERSIONED,)), fields)]
            versions = {payload["tree"]: Version.of(payload) for payload in stored}
            self._update({**self._versions, **versions}, versions)
            self._unfinished = [p for p in stored if p.get("gone") or p["state"] == "dropped"]
            self._are_terms_due = True
            self._refreshed_at = time.monotonic()

    def take_unfinished(self) -> list[Payload]:
        """Return the manifests whose publications left points to delete, each once."""
        self.refresh(KNOWN_SECONDS)
        unfinished, self._unfinished = self._unfinished, []
        return unfinished

    def learn_published(self, trees: Iterable[str], versions: Mapping[str, Version]) -> None:
        """Keep the versions that this process has published; a tree without any was dropped."""
        self._update(trees, versions)
        self._are_terms_due = True

    def check(self, publications: Mapping[str, str]) -> list[str]:
        """Return the trees whose manifests are of other publications, and keep their versions.

        The request includes trees that changed recently, so that the next read knows them.
        """
        if not publications:
            return []
        checked = {**self._recently_changed(), **publications}
        stored = read_manifests(self._points, checked, VERSION_FIELDS)
        versions = {tree: Version.of(payload) for tree, payload in stored.items()}
        with self._lock:  # versions that another thread has read since may be newer
            known = self.of(checked)
            current = [t for t, name in checked.items() if known[t].publication == name]
            if changed := [t for t in current if versions.get(t, NO_VERSION) != known[t]]:
                self._update(changed, versions)
        valid = {t for t in current if versions.get(t, NO_VERSION).publication == checked[t]}
        return [tree for tree in publications if tree not in valid]

    def _recently_changed(self) -> dict[str, str]:
        """Return the publications of the trees that changed last."""
        since = time.monotonic() - RECENT_SECONDS
        with self._lock:
            self._change_times = {t: at for t, at in self._change_times.items() if at > since}
            trees = list(self._change_times)[-MAX_RECENT:]
            return {tree: self._versions.get(tree, NO_VERSION).publication for tree in trees}

    def _update(self, trees: Iterable[str], versions: Mapping[str, Version]) -> None:
        with self._lock:
            # Other threads iterate over the dictionary, so it is replaced.
            known = dict(self._versions)
            for tree in trees:
                previous = known.pop(tree, NO_VERSION)
                if tree in versions:
                    known[tree] = versions[tree]
                if previous.publication != versions.get(tree, NO_VERSION).publication:
                    self._changed.add(tree)
                    self._change_times.pop(tree, None)
                    if previous is not NO_VERSION:
                        self._change_times[tree] = time.monotonic()
            self._versions = known

    def terms(self) -> CorpusTerms:
        """Return the term counts of all trees; those of changed trees are read where due."""
        self.refresh(KNOWN_SECONDS)
        with self._lock:
            if self._are_terms_due:
                stored = read_manifests(self._points, self._changed, TERM_FIELDS)
                terms = {t: TermCounts.of_payload(p) for t, p in stored.items() if "terms" in p}
                self._terms.put({tree: terms.get(tree, NO_TERMS) for tree in self._changed})
                self._changed, self._are_terms_due = set(), False
            return self._terms
