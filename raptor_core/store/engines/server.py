"""A server's collection as an engine: reads that nobody's publications hold up or mix.

What a tree's nodes are, its manifest says (``versions.py``). A read that is done looks at the
manifests of the trees that it met once more; where one is another by then, it reads again. It asks
nothing of other trees. ``steady`` makes one read of many, so that a whole retrieval costs one look.
How a collection is made and searched, its ``Layout`` says.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    MANIFEST,
    Batch,
    Condition,
    Match,
    Point,
    Question,
    best_first,
)
from raptor_core.store.engines.qdrant import ClientEngine, Row, Search
from raptor_core.store.engines.terms import NO_TERMS, CorpusTerms
from raptor_core.store.engines.versions import (
    NO_VERSION,
    POINT_FIELDS,
    VERSION_FIELDS,
    VERSIONED,
    ServerPublisher,
    Version,
    read_manifests,
    read_terms,
)
from raptor_core.store.lexical import Sparse
from raptor_core.store.payload import Payload

READ_SECONDS = 60.0
"""How long a read goes on that meets trees which are published again each time."""

KNOWN_SECONDS = 30.0
"""How old the counts of terms may be of trees that no read met."""

SPARE = 8
"""Points asked for besides, and one for each twenty: some may be no nodes yet, or no more."""

MANIFEST_FIELDS = ("state", "tree", "content_key", "mark", "manifest")
"""Fields of a manifest's payload but those of its version, and the terms, which may be long."""

Read = TypeVar("Read")


class ServerEngine(ClientEngine):
    """One collection on a server. Threads may share it."""

    def __init__(self, *collection: Any) -> None:
        """As a ``ClientEngine``, of which it has one for points of whatever version."""
        super().__init__(*collection)
        self._points = ClientEngine(*collection)
        self._publisher = ServerPublisher(self._points)
        self._versions: dict[str, Version] = {}
        self._unsettled: list[Payload] = []
        self._known_at = -math.inf
        self._terms = CorpusTerms()
        self._changed: set[str] = set()
        self._are_terms_due = False
        self._turn = threading.RLock()
        self._reading = threading.local()
        """Publications of the trees that a read met, and of those that it glanced at."""

    def apply(self, batch: Batch) -> None:
        """Publish the trees that a batch names; without any, delete nodes and points by id."""
        if not batch.replaces:
            nodes = self._points.scroll(Condition((Match("node_id", batch.deletes),)), ())
            ids = (*batch.deletes, *(record.id for record in nodes))
            self._points.apply(replace(batch, deletes=ids))
            return
        self._know(KNOWN_SECONDS)
        unsettled, self._unsettled = self._unsettled, []
        for manifest in unsettled:
            self._publisher.settle(manifest["publication"], [manifest])
        now = self._publisher.publish(batch)
        self._learn([tree for tree, _ in batch.replaces], now)
        self._are_terms_due = True

    def steady(self, read: Callable[[], Read]) -> Read:
        """What ``read`` gives, all of it of one version of each tree.

        Raises:
            StoreError: the same trees were published again and again for ``READ_SECONDS``.
        """
        if getattr(self._reading, "met", None) is not None:
            return read()
        give_up = time.monotonic() + READ_SECONDS
        while True:
            self._reading.met, self._reading.glanced = {}, {}
            try:
                found = read()
                moved = self._moved(self._reading.met or self._reading.glanced)
            finally:
                self._reading.met = None
            if not moved:
                return found
            if time.monotonic() > give_up:
                raise StoreError(
                    f"{self.where}: tree {moved[0]!r} was published again and again for "
                    f"{READ_SECONDS:g} s; ask again"
                )

    def _moved(self, met: Mapping[str, str]) -> list[str]:
        """The trees whose version is another by now; it is known then."""
        found = read_manifests(self._points, met, VERSION_FIELDS)
        now = {tree: Version.of(payload) for tree, payload in found.items()}
        moved = [
            tree for tree, name in met.items() if now.get(tree, NO_VERSION).publication != name
        ]
        if moved:
            self._learn(moved, now)
        return moved

    def _learn(self, trees: Iterable[str], now: Mapping[str, Version]) -> None:
        with self._turn:
            # A dictionary that other threads go through is not changed.
            known = dict(self._versions)
            for tree in trees:
                before = known.pop(tree, NO_VERSION)
                if tree in now:
                    known[tree] = now[tree]
                if before.publication != now.get(tree, NO_VERSION).publication:
                    self._changed.add(tree)
            self._versions = known

    def _know(self, max_seconds: float = math.inf) -> None:
        """Know the versions of all trees, those that no read met as of so many seconds ago."""
        with self._turn:
            if time.monotonic() - self._known_at < max_seconds:
                return
            fields = (*VERSION_FIELDS, "state")
            stored = [r.payload for r in self._points.scroll(Condition((VERSIONED,)), fields)]
            now = {payload["tree"]: Version.of(payload) for payload in stored}
            self._learn({**self._versions, **now}, now)
            self._unsettled = [p for p in stored if p.get("gone") or p["state"] == "dropped"]
            self._are_terms_due = True
            self._known_at = time.monotonic()

    def _is_node(self, payload: Payload, point_id: str, *, at_a_glance: bool = False) -> bool:
        """Whether a point is a node by the version that is known; that is looked at afterwards.

        What is glanced at is not, where something else was read: a strategy weighs hundreds of
        nodes and reads the few that it gives.
        """
        version = self._versions.get(payload["tree"], NO_VERSION)
        met = self._reading.glanced if at_a_glance else self._reading.met
        met.setdefault(payload["tree"], version.publication)
        return version.has(payload, point_id)

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """All points that match; of the nodes of trees, those of one version of each."""
        states = next((m.values for m in condition.matches if m.field == "state"), ())
        if "live" in states:
            return self.steady(lambda: self._nodes(condition, fields, dense=dense))
        if fields is None and MANIFEST in condition.matches:
            fields = MANIFEST_FIELDS
        return self._points.scroll(condition, fields, dense=dense)

    def _nodes(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool
    ) -> list[Point]:
        self._know()
        wanted = None if fields is None else tuple(dict.fromkeys((*fields, *POINT_FIELDS)))
        found = [
            replace(record, id=record.payload["node_id"])
            for record in self._points.scroll(_by_node(condition), wanted, dense=dense)
            if self._is_node(record.payload, record.id)
        ]
        if len(found) < len(condition.ids or ()):  # what was glanced at may have moved
            self._reading.met.update({**self._reading.glanced, **self._reading.met})
        return found

    def _ranked(
        self, questions: Sequence[Question], limit: int, fields: Sequence[str] | None
    ) -> list[list[Row]]:
        best = super()._ranked
        return self.steady(lambda: best(questions, limit, fields))

    def query(self, searches: Sequence[Search], fields: Sequence[str] | None) -> list[list[Row]]:
        """The best nodes of each search by their ids, or some more; again where few are nodes."""
        self._know()
        wanted = None if fields is None else (*fields, "birth")
        found: list[list[Row]] = [[] for _ in searches]
        asked = {row: self._widened(search) for row, search in enumerate(searches)}
        while asked:
            answers = self._points.query(list(asked.values()), wanted)
            again: dict[int, Search] = {}
            for (row, search), points in zip(asked.items(), answers, strict=True):
                found[row] = self._nodes_of(points, at_a_glance=bool(fields))
                if len(points) < search.limit:  # all that there are, so no tie is to be looked for
                    found[row] = sorted(found[row], key=best_first)[: searches[row].limit - 1]
                elif len(found[row]) < searches[row].limit:
                    again[row] = self._without(search, points)
            asked = again
        return found

    def _without(self, search: Search, points: Sequence[Row]) -> Search:
        """The search without those of its points that are no nodes, and what came with them."""
        condition = search.question.condition
        births = {str(value) for match in condition.hidden for value in match.values}
        ids = set(condition.hidden_ids)
        for point_id, _, payload in points:
            version = self._versions.get(payload["tree"], NO_VERSION)
            if payload["birth"] not in version.births:
                births.add(payload["birth"])
            elif point_id in version.gone:
                ids.add(point_id)
        hidden = (Match("birth", tuple(sorted(births))),) if births else ()
        narrowed = replace(condition, hidden=hidden, hidden_ids=tuple(sorted(ids)))
        return search._replace(question=search.question._replace(condition=narrowed))

    def _widened(self, search: Search) -> Search:
        """The search by node ids for some points more, its words weighed."""
        asked, condition, is_exact = search.question
        if isinstance(asked, Sparse):
            asked = self._terms_known().weighted(asked)
        question = Question(asked, _by_node(condition), is_exact)
        return search._replace(question=question, limit=search.limit + SPARE + search.limit // 20)

    def _nodes_of(self, points: Sequence[Row], *, at_a_glance: bool) -> list[Row]:
        return [
            (payload["node_id"], score, payload)
            for point_id, score, payload in points
            if self._is_node(payload, point_id, at_a_glance=at_a_glance)
        ]

    def _terms_known(self) -> CorpusTerms:
        """The counts of all trees; those that changed are read where it is time again."""
        self._know(KNOWN_SECONDS)
        with self._turn:
            if self._are_terms_due:
                now = read_terms(self._points, self._changed)
                self._terms.put({tree: now.get(tree, NO_TERMS) for tree in self._changed})
                self._changed, self._are_terms_due = set(), False
            return self._terms

    def _born(self, condition: Condition) -> Condition:
        """The condition without points that are no nodes."""
        named = next((m.values for m in condition.matches if m.field == "tree"), self._versions)
        versions = [self._versions.get(str(tree), NO_VERSION) for tree in named]
        births = frozenset[str]().union(*(version.births for version in versions))
        gone = frozenset[str]().union(*(version.gone for version in versions))
        born = (*condition.matches, Match("birth", tuple(sorted(births))))
        return replace(condition, matches=born, hidden_ids=tuple(sorted(gone)))

    def count(self, condition: Condition) -> int:
        """Number of nodes that match."""
        return self.steady(lambda: self._counted(_by_node(condition)))

    def _counted(self, condition: Condition) -> int:
        named = next((m.values for m in condition.matches if m.field == "tree"), None)
        self._know(math.inf if named else 0.0)
        for tree in named or self._versions:
            version = self._versions.get(str(tree), NO_VERSION)
            self._reading.met.setdefault(str(tree), version.publication)
        return self._points.count(self._born(condition))


def _by_node(condition: Condition) -> Condition:
    """The condition with node ids in place of point ids."""
    if condition.ids is None:
        return condition
    return replace(
        condition, matches=(*condition.matches, Match("node_id", condition.ids)), ids=None
    )
