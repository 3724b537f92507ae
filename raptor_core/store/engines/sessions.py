"""One read of a server's collection, in which each tree has one version.

A session notes the publications of the trees that it reads. At its end it checks the manifests of
these trees, and of no others; where one has changed, it reads again. A request for nodes may check
their manifests itself. The versions are in ``known_versions.py``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import MANIFEST, Condition, Match, Point, Question, best_first
from raptor_core.store.engines.glances import Glances
from raptor_core.store.engines.known_versions import KnownVersions
from raptor_core.store.engines.qdrant import (
    UNSCORED,
    ClientEngine,
    Look,
    QuerySearch,
    Row,
    Search,
)
from raptor_core.store.engines.versions import POINT_FIELDS, Version
from raptor_core.store.lexical import Sparse
from raptor_core.store.payload import manifest_id

READ_SECONDS = 60.0
"""How long a read is repeated whose trees are published again each time."""

SPARE = 4
"""Points that a search requests in addition, since the last may tie. While trees change, some may
be no nodes: then it requests as many again, and 5 % of its limit."""

MANIFEST_FIELDS = ("state", "tree", "content_key", "mark", "manifest")
"""Fields of a manifest's payload without its version, and without the terms, which may be long."""

Read = TypeVar("Read")


@dataclass(slots=True)
class ReadVersions:
    """Versions that a read relies on.

    Attributes:
        returned: publication by tree, of the trees whose nodes were read.
        ranked: publication by tree, of the trees of which outlines were ranked.
        confirmed: trees of ``returned`` whose manifests the last request has confirmed.
        tree_of: tree by node id, of the nodes that were ranked.
    """

    returned: dict[str, str] = field(default_factory=dict)
    ranked: dict[str, str] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    tree_of: dict[str, str] = field(default_factory=dict)

    def copy(self) -> ReadVersions:
        """Return a copy that changes by itself."""
        parts = dict(self.returned), dict(self.ranked), set(self.confirmed), dict(self.tree_of)
        return ReadVersions(*parts)

    def add(self, versions: Mapping[str, Version], *, ranked: bool) -> None:
        """Note versions of trees; the first one of a tree stays."""
        publications = self.ranked if ranked else self.returned
        for tree, version in versions.items():
            publications.setdefault(tree, version.publication)
        if not ranked:
            self.confirmed -= versions.keys()

    def confirm(self, checked: Mapping[str, Version], known: Mapping[str, Version]) -> None:
        """Note that manifests had these versions when nodes were read.

        A tree that another version was read of, or that another thread has read a newer one of,
        stays unconfirmed.
        """
        for tree, version in checked.items():
            publication = self.returned.setdefault(tree, version.publication)
            if publication == version.publication == known[tree].publication:
                self.confirmed.add(tree)

    def unconfirmed(self) -> dict[str, str]:
        """Return the publications to check, by tree.

        A strategy ranks hundreds of nodes and returns few, so ranked trees count only where no
        node was returned.
        """
        due = self.returned or self.ranked
        return {tree: due[tree] for tree in due.keys() - self.confirmed}


class ReadSession(QuerySearch):
    """One read, of one thread: all that it returns is of one version of each tree."""

    def __init__(self, points: ClientEngine, outlines: Glances, known: KnownVersions) -> None:
        self._points = points
        self._outlines = outlines
        self._known = known
        self._versions = ReadVersions()
        self._deadline = time.monotonic() + READ_SECONDS

    def run(self, read: Callable[[ReadSession], Read]) -> Read:
        """Call ``read`` until no tree has changed meanwhile, and return its result.

        Raises:
            StoreError: the same trees were published again and again for ``READ_SECONDS``.
        """
        while True:
            self._versions = ReadVersions()
            result = read(self)
            if not self._changed(self._versions.unconfirmed()):
                return result

    def read_consistently(self, read: Callable[[ReadSession], Read]) -> Read:
        """Return the result of ``read``, a part of this read."""
        return read(self)

    def _changed(self, publications: Mapping[str, str]) -> list[str]:
        """Return the trees that have other publications by now.

        Raises:
            StoreError: the time for this read is over.
        """
        changed = self._known.check(publications)
        if changed and time.monotonic() > self._deadline:
            raise StoreError(
                f"{self._points.where}: tree {changed[0]!r} was published again and again for "
                f"{READ_SECONDS:g} s; ask again"
            )
        return changed

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """Return all points that match; live ones as nodes of their tree's version."""
        states = next((m.values for m in condition.matches if m.field == "state"), ())
        if "live" in states:
            return self._nodes(condition, fields, dense=dense)
        if fields is None and MANIFEST in condition.matches:
            fields = MANIFEST_FIELDS
        return self._points.scroll(condition, fields, dense=dense)

    def _nodes(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool
    ) -> list[Point]:
        self._known.refresh()
        ids, by_node = condition.ids or (), _by_node(condition)
        checked = self._checkable(self._versions.tree_of.get(node_id, "") for node_id in ids)
        if checked and fields is None and not dense:
            rows = self._points.read(by_node, len(ids), _look(checked))
            rows, are_valid = _without_manifests(rows, checked)
            found, _ = self._nodes_among(rows, self._versions, ranked=False)
            if are_valid and len(found) == len(ids):
                self._versions.confirm(checked, self._known.of(checked))
                return [Point(node_id, payload) for node_id, _, payload in found]
        stored = None if fields is None else tuple(dict.fromkeys((*fields, *POINT_FIELDS)))
        records = self._points.scroll(by_node, stored, dense=dense)
        versions = self._known.of(record.payload["tree"] for record in records)
        self._versions.add(versions, ranked=False)
        nodes = [
            replace(record, id=record.payload["node_id"])
            for record in records
            if versions[record.payload["tree"]].has(record.payload, record.id)
        ]
        if len(nodes) < len(ids):  # trees that were ranked may have changed
            self._versions.returned = {**self._versions.ranked, **self._versions.returned}
        return nodes

    def query(self, searches: Sequence[Search], fields: Sequence[str] | None) -> list[list[Row]]:
        """Return the best nodes of each search by id, or some more.

        A point that is no node may mean that its tree has changed. At the end of the read the
        ranked trees may stay unchecked, so these trees are checked here.
        """
        while True:
            versions = self._versions.copy()
            rows, doubtful = self._query(searches, fields, versions)
            if not self._changed(doubtful):
                self._versions = versions
                return rows

    def _query(
        self, searches: Sequence[Search], fields: Sequence[str] | None, versions: ReadVersions
    ) -> tuple[list[list[Row]], dict[str, str]]:
        """Return the best nodes of each search, and publications of ranked trees to check.

        A search that returns few nodes is repeated without the other points.
        """
        self._known.refresh()
        pending = {row: self._widened(search) for row, search in enumerate(searches)}
        trees = () if fields else _trees_of(searches[0].question.condition) or ()
        checked = self._checkable(trees, pending[0].limit)
        pending = {row: s._replace(look=_look(checked)) for row, s in pending.items()}
        are_valid = bool(checked)
        nodes: list[list[Row]] = [[] for _ in searches]
        doubtful: dict[str, str] = {}
        while pending:
            batch = list(pending.values())
            answers = self._outlines.query(batch) if fields else self._points.query(batch, None)
            repeated: dict[int, Search] = {}
            for (row, search), answer in zip(pending.items(), answers, strict=True):
                points, is_valid = _without_manifests(answer, checked)
                # A server leaves out points that are deleted before it reads their payloads.
                are_valid = are_valid and is_valid and len(points) == search.limit
                nodes[row], foreign = self._nodes_among(points, versions, ranked=bool(fields))
                doubtful = {**foreign, **doubtful}
                limit, condition = searches[row].limit, search.question.condition
                if len(points) == search.limit and len(nodes[row]) >= limit:
                    continue
                narrowed = self._without(condition, points)
                if len(points) < search.limit and (fields or narrowed == condition):
                    # These are all, so ``ranked`` need not look for ties.
                    nodes[row] = sorted(nodes[row], key=best_first)[: limit - 1]
                elif len(nodes[row]) < limit:
                    question = search.question._replace(condition=narrowed)
                    repeated[row] = search._replace(question=question)
            pending = repeated
        if are_valid:
            versions.confirm(checked, self._known.of(checked))
        return nodes, doubtful if fields else {}

    def _checkable(self, trees: Iterable[str], limit: int = 0) -> dict[str, Version]:
        """Return the versions that a request for nodes can check, of trees with enough nodes."""
        known = self._known.of(trees)
        checked = {tree: version for tree, version in known.items() if version.birth}
        is_worth_it = checked and sum(v.n_nodes for v in checked.values()) >= limit
        return checked if is_worth_it and self._points.can_check else {}

    def _nodes_among(
        self, points: Sequence[Row], versions: ReadVersions, *, ranked: bool
    ) -> tuple[list[Row], dict[str, str]]:
        """Return the points that are nodes, by node id, and publications of the others' trees."""
        known = self._known.of(payload["tree"] for _, _, payload in points)
        versions.add(known, ranked=ranked)
        if ranked:
            versions.tree_of |= {p["node_id"]: p["tree"] for _, _, p in points}
        nodes, foreign = [], {}
        for point_id, score, payload in points:
            version = known[payload["tree"]]
            if version.has(payload, point_id):
                nodes.append((payload["node_id"], score, payload))
            else:
                foreign[payload["tree"]] = version.publication
        return nodes, foreign

    def _without(self, condition: Condition, points: Sequence[Row]) -> Condition:
        """Return the condition without points that are no nodes: these, and those to be deleted.

        A server leaves out points that are deleted before it reads their payloads, and adds none.
        """
        births = {(payload["tree"], payload["birth"]) for _, _, payload in points}
        versions = self._known.of((*(_trees_of(condition) or ()), *(tree for tree, _ in births)))
        hidden = {birth for tree, birth in births if birth not in versions[tree].births}
        hidden |= {str(value) for match in condition.hidden for value in match.values}
        ids = set(condition.hidden_ids).union(*(version.gone for version in versions.values()))
        matches = (Match("birth", tuple(sorted(hidden))),) if hidden else ()
        return replace(condition, hidden=matches, hidden_ids=tuple(sorted(ids)))

    def _widened(self, search: Search) -> Search:
        """Return the search by node ids for some more points, its words weighted by IDF."""
        query, condition, is_exact = search.question
        if isinstance(query, Sparse):
            query = self._known.terms().weighted(query)
        spare = SPARE + (SPARE + search.limit // 20 if self._known.are_changing else 0)
        question = Question(query, _by_node(condition), is_exact)
        return search._replace(question=question, limit=search.limit + spare)

    def count(self, condition: Condition) -> int:
        """Return the number of nodes that match."""
        by_node = _by_node(condition)
        trees = _trees_of(by_node)
        self._known.refresh(math.inf if trees else 0.0)
        versions = self._known.all() if trees is None else self._known.of(trees)
        self._versions.add(versions, ranked=False)
        births = frozenset[str]().union(*(version.births for version in versions.values()))
        gone = frozenset[str]().union(*(version.gone for version in versions.values()))
        matches = (*by_node.matches, Match("birth", tuple(sorted(births))))
        return self._points.count(replace(by_node, matches=matches, hidden_ids=tuple(sorted(gone))))


def _trees_of(condition: Condition) -> tuple[str, ...] | None:
    """Return the trees that a condition names; None without such a match."""
    values = next((m.values for m in condition.matches if m.field == "tree"), None)
    return None if values is None else tuple(map(str, values))


def _look(checked: Mapping[str, Version]) -> Look:
    return tuple((manifest_id(tree), version.birth) for tree, version in checked.items())


def _without_manifests(
    rows: Sequence[Row], checked: Mapping[str, Version]
) -> tuple[list[Row], bool]:
    """Return an answer without the manifests to check, and whether all have these versions."""
    ids = {manifest_id(tree) for tree in checked}
    scores = [score for point_id, score, _ in rows if point_id in ids]
    points = [row for row in rows if row[0] not in ids]
    return points, len(scores) == len(ids) and min(scores, default=0.0) > UNSCORED


def _by_node(condition: Condition) -> Condition:
    """Return the condition with its ids as node ids instead of point ids."""
    if condition.ids is None:
        return condition
    matches = (*condition.matches, Match("node_id", condition.ids))
    return replace(condition, matches=matches, ids=None)
