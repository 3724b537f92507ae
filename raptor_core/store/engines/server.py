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
from copy import copy
from dataclasses import replace
from functools import cached_property
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
from raptor_core.store.engines.glances import Glances
from raptor_core.store.engines.qdrant import UNSCORED, ClientEngine, Look, Row, Search
from raptor_core.store.engines.terms import NO_TERMS, TERM_FIELDS, CorpusTerms, Terms
from raptor_core.store.engines.versions import (
    NO_VERSION,
    POINT_FIELDS,
    VERSION_FIELDS,
    VERSIONED,
    ServerPublisher,
    Version,
    read_manifests,
)
from raptor_core.store.lexical import Sparse
from raptor_core.store.payload import Payload, manifest_id

READ_SECONDS = 60.0
"""How long a read goes on that meets trees which are published again each time."""

KNOWN_SECONDS = 30.0
"""How old the counts of terms may be of trees that no read met."""

LIVELY_SECONDS, LIVELY = 10.0, 50
"""For how long after a change a tree is looked at whenever others are, and how many at most."""

SPARE = 4
"""Points asked for besides, as the last may tie; while trees change, for some may be no nodes, as
many again and one for each twenty."""

MANIFEST_FIELDS = ("state", "tree", "content_key", "mark", "manifest")
"""Fields of a manifest's payload but those of its version, and the terms, which may be long."""

Read = TypeVar("Read")


class ServerEngine(ClientEngine):
    """One collection on a server. Threads may share it."""

    def __init__(self, *collection: Any) -> None:
        """As a ``ClientEngine``, of which it has one for points of whatever version."""
        super().__init__(*collection)
        self._points = ClientEngine(*collection)
        self._glances = Glances(self._points)
        self._publisher = ServerPublisher(self._points)
        self._versions: dict[str, Version] = {}
        self._moves: dict[str, float] = {}
        self._unsettled: list[Payload] = []
        self._known_at = -math.inf
        self._terms = CorpusTerms()
        self._changed: set[str] = set()
        self._are_terms_due = False
        self._turn = threading.RLock()
        self._reading = threading.local()
        """Publications of the trees that a read met, of those that it glanced at, and of those of
        which it glanced at points that are no nodes; the met ones that its last request looked at;
        the trees of the nodes that it glanced at."""

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
        self._reading.until = time.monotonic() + READ_SECONDS
        while True:
            self._reading.met, self._reading.glanced = {}, {}
            self._reading.seen, self._reading.trees = set(), {}
            try:
                found = read()
                due = self._reading.met or self._reading.glanced
                if not self._moved({tree: due[tree] for tree in due.keys() - self._reading.seen}):
                    return found
            finally:
                self._reading.met = None

    def _moved(self, met: Mapping[str, str]) -> list[str]:
        """The trees whose version is another by now, or for another thread; it is known then.

        Trees that changed lately are looked at besides, so that the next read knows them.

        Raises:
            StoreError: trees were published again and again for as long as a read may take.
        """
        if not met:
            return []
        looked = {**self._lively(), **met}
        found = read_manifests(self._points, looked, VERSION_FIELDS)
        now = {tree: Version.of(payload) for tree, payload in found.items()}
        with self._turn:  # what another thread learned since may be newer
            known = {tree: self._versions.get(tree, NO_VERSION) for tree in looked}
            unchanged = [tree for tree, name in looked.items() if known[tree].publication == name]
            if news := [tree for tree in unchanged if now.get(tree, NO_VERSION) != known[tree]]:
                self._learn(news, now)
        stand = {t for t in unchanged if now.get(t, NO_VERSION).publication == looked[t]}
        moved = [tree for tree in met if tree not in stand]
        if moved and time.monotonic() > self._reading.until:
            raise StoreError(
                f"{self.where}: tree {moved[0]!r} was published again and again for "
                f"{READ_SECONDS:g} s; ask again"
            )
        return moved

    def _lively(self) -> dict[str, str]:
        """Publications of the trees that changed last, and lately."""
        since = time.monotonic() - LIVELY_SECONDS
        with self._turn:
            self._moves = {tree: at for tree, at in self._moves.items() if at > since}
            trees = list(self._moves)[-LIVELY:]
            return {tree: self._versions.get(tree, NO_VERSION).publication for tree in trees}

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
                    self._moves.pop(tree, None)
                    if before is not NO_VERSION:
                        self._moves[tree] = time.monotonic()
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

    def _versions_met(self, trees: Iterable[str], *, at_a_glance: bool) -> dict[str, Version]:
        """The versions that are known of trees; these are looked at afterwards.

        What is glanced at is not, where something else was read: a strategy weighs hundreds of
        nodes and reads the few that it gives.
        """
        versions = {tree: self._versions.get(tree, NO_VERSION) for tree in set(trees)}
        for tree, version in versions.items():
            if at_a_glance:
                self._reading.glanced.setdefault(tree, version.publication)
            else:
                self._reading.met.setdefault(tree, version.publication)
                self._reading.seen.discard(tree)
        return versions

    @cached_property
    def _can_look(self) -> bool:
        """Whether a request for nodes can look at manifests besides: one copy of one shard answers.

        What it prefetches a shard has before it scores it, so it sees manifests after the nodes.
        """
        if self._consistency:
            return False
        with self._place.errors():
            return self._client.get_collection(self._collection).config.params.shard_number == 1

    def _look(self, trees: Iterable[str], limit: int = 0) -> dict[str, Version]:
        """Versions that a request for nodes of trees looks at, where these hold ``limit`` nodes."""
        known = {tree: self._versions.get(tree, NO_VERSION) for tree in trees}
        look = {tree: version for tree, version in known.items() if version.birth}
        is_worth_it = look and sum(version.n_nodes for version in look.values()) >= limit
        return look if is_worth_it and self._can_look else {}

    def _see(self, look: Mapping[str, Version]) -> None:
        """Note that manifests stood when nodes were found, unless others learned better."""
        for tree, version in look.items():
            met = self._reading.met.setdefault(tree, version.publication)
            if met == version.publication == self._versions.get(tree, NO_VERSION).publication:
                self._reading.seen.add(tree)

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
        ids = condition.ids or ()
        look = self._look({self._reading.trees.get(node_id, "") for node_id in ids})
        if look and fields is None and not dense:
            rows = self._points.read(_by_node(condition), len(ids), _manifests(look))
            points, stand = _parted(rows, look)
            nodes = [Point(name, p) for name, _, p in self._nodes_of(points, at_a_glance=False)]
            if stand and len(nodes) == len(ids):
                self._see(look)
                return nodes
        records = self._points.scroll(_by_node(condition), wanted, dense=dense)
        versions = self._versions_met((r.payload["tree"] for r in records), at_a_glance=False)
        found = [
            replace(record, id=record.payload["node_id"])
            for record in records
            if versions[record.payload["tree"]].has(record.payload, record.id)
        ]
        if len(found) < len(ids):  # what was glanced at may have moved
            self._reading.met.update({**self._reading.glanced, **self._reading.met})
        return found

    def _ranked(
        self, questions: Sequence[Question], limit: int, fields: Sequence[str] | None
    ) -> list[list[Row]]:
        best = super()._ranked
        return self.steady(lambda: best(questions, limit, fields))

    def query(self, searches: Sequence[Search], fields: Sequence[str] | None) -> list[list[Row]]:
        """The best nodes of each search by their ids, or some more; again where trees moved.

        Points that are no nodes tell that their tree may be another by now: what is glanced at
        would leave it out without a word.
        """
        before = {name: copy(value) for name, value in vars(self._reading).items()}
        while True:
            self._reading.doubted = {}
            found = self._queried(searches, fields)
            if not self._moved(self._reading.doubted):
                return found
            vars(self._reading).update({name: copy(value) for name, value in before.items()})

    def _queried(self, searches: Sequence[Search], fields: Sequence[str] | None) -> list[list[Row]]:
        """What is known to be nodes; the search is made again where few are."""
        self._know()
        found: list[list[Row]] = [[] for _ in searches]
        asked = {row: self._widened(search) for row, search in enumerate(searches)}
        named = () if fields else _named(searches[0].question.condition) or ()
        look = self._look(named, asked[0].limit)
        asked = {row: search._replace(look=_manifests(look)) for row, search in asked.items()}
        all_stand = bool(look)
        while asked:
            now = list(asked.values())
            answers = self._glances.query(now) if fields else self._points.query(now, None)
            again: dict[int, Search] = {}
            for (row, search), answer in zip(asked.items(), answers, strict=True):
                points, stand = _parted(answer, look)
                # What was deleted when it had been found is missing where payloads are fetched.
                all_stand = all_stand and stand and len(points) == search.limit
                found[row] = self._nodes_of(points, at_a_glance=bool(fields))
                if len(points) == search.limit and len(found[row]) >= searches[row].limit:
                    continue
                question = search.question
                narrowed = self._without(question.condition, points)
                if len(points) < search.limit and (fields or narrowed == question.condition):
                    # All that there are, so no tie is to be looked for.
                    found[row] = sorted(found[row], key=best_first)[: searches[row].limit - 1]
                elif len(found[row]) < searches[row].limit:
                    narrow = question._replace(condition=narrowed)
                    again[row] = search._replace(question=narrow)
            asked = again
        if all_stand:
            self._see(look)
        return found

    def _without(self, condition: Condition, points: Sequence[Row]) -> Condition:
        """The condition without points that are no nodes: those that came, and those that go.

        What is deleted between finding and fetching it, a server leaves out, and finds no other.
        """
        trees = {*(_named(condition) or ()), *(payload["tree"] for _, _, payload in points)}
        versions = {tree: self._versions.get(tree, NO_VERSION) for tree in trees}
        came = {(payload["tree"], payload["birth"]) for _, _, payload in points}
        births = {birth for tree, birth in came if birth not in versions[tree].births}
        births |= {str(value) for match in condition.hidden for value in match.values}
        ids = set(condition.hidden_ids).union(*(version.gone for version in versions.values()))
        hidden = (Match("birth", tuple(sorted(births))),) if births else ()
        return replace(condition, hidden=hidden, hidden_ids=tuple(sorted(ids)))

    def _widened(self, search: Search) -> Search:
        """The search by node ids for some points more, its words weighed."""
        asked, condition, is_exact = search.question
        if isinstance(asked, Sparse):
            asked = self._terms_known().weighted(asked)
        question = Question(asked, _by_node(condition), is_exact)
        spare = SPARE + (SPARE + search.limit // 20 if self._moves else 0)
        return search._replace(question=question, limit=search.limit + spare)

    def _nodes_of(self, points: Sequence[Row], *, at_a_glance: bool) -> list[Row]:
        """The points that are nodes, by the ids of these."""
        tree_of = {payload["node_id"]: payload["tree"] for _, _, payload in points}
        versions = self._versions_met(tree_of.values(), at_a_glance=at_a_glance)
        found, others = [], set()
        for point_id, score, payload in points:
            if versions[payload["tree"]].has(payload, point_id):
                found.append((payload["node_id"], score, payload))
            else:
                others.add(payload["tree"])
        if at_a_glance:
            self._reading.trees.update(tree_of)
            for tree in others:
                self._reading.doubted.setdefault(tree, versions[tree].publication)
        return found

    def _terms_known(self) -> CorpusTerms:
        """The counts of all trees; those that changed are read where it is time again."""
        self._know(KNOWN_SECONDS)
        with self._turn:
            if self._are_terms_due:
                stored = read_manifests(self._points, self._changed, TERM_FIELDS)
                known = {t: Terms.of_payload(one) for t, one in stored.items() if "terms" in one}
                self._terms.put({tree: known.get(tree, NO_TERMS) for tree in self._changed})
                self._changed, self._are_terms_due = set(), False
            return self._terms

    def count(self, condition: Condition) -> int:
        """Number of nodes that match."""
        return self.steady(lambda: self._counted(_by_node(condition)))

    def _counted(self, condition: Condition) -> int:
        named = _named(condition)
        self._know(math.inf if named else 0.0)
        trees = self._versions if named is None else named
        versions = self._versions_met(trees, at_a_glance=False).values()
        births = frozenset[str]().union(*(version.births for version in versions))
        gone = frozenset[str]().union(*(version.gone for version in versions))
        born = (*condition.matches, Match("birth", tuple(sorted(births))))
        only = replace(condition, matches=born, hidden_ids=tuple(sorted(gone)))
        return self._points.count(only)


def _named(condition: Condition) -> tuple[str, ...] | None:
    """The trees that a condition names; None where it names none."""
    values = next((m.values for m in condition.matches if m.field == "tree"), None)
    return None if values is None else tuple(map(str, values))


def _manifests(look: Mapping[str, Version]) -> Look:
    return tuple((manifest_id(tree), version.birth) for tree, version in look.items())


def _parted(rows: Sequence[Row], look: Mapping[str, Version]) -> tuple[list[Row], bool]:
    """An answer without the manifests that were looked at, and whether all of them stand."""
    ids = {manifest_id(tree) for tree in look}
    scores = [score for point_id, score, _ in rows if point_id in ids]
    points = [row for row in rows if row[0] not in ids]
    return points, len(scores) == len(ids) and min(scores, default=0.0) > UNSCORED


def _by_node(condition: Condition) -> Condition:
    """The condition with node ids in place of point ids."""
    if condition.ids is None:
        return condition
    return replace(
        condition, matches=(*condition.matches, Match("node_id", condition.ids)), ids=None
    )
