"""A server's collection as an engine, whose reads and publications do not wait for each other.

A read is a session that notes the publications of the trees that it reads. At its end it checks the
manifests of these trees, and of no others; where one has changed, it reads again. Publications are
in ``versions.py``, the settings of a new collection and of searches in ``layout.py``.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from sys import intern
from typing import Any, TypeVar

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    MANIFEST,
    Batch,
    Condition,
    Engine,
    Fields,
    Match,
    Point,
    PointReader,
    Scored,
    Search,
    SearchRequest,
    best_first,
)
from raptor_core.store.engines.qdrant import ClientEngine, QuerySearch, Row
from raptor_core.store.engines.versions import POINT_FIELDS, KnownVersions, ServerPublisher, Version
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import OUTLINED, Candidates, Outline
from raptor_core.store.payload import Payload

READ_SECONDS = 60.0
"""How long a read is repeated whose trees are published again each time."""

SPARE = 4
"""Points that a search requests in addition, since the last may tie. While trees change, some may
be no nodes: then it requests as many again, and 5 % of its limit."""

MANIFEST_FIELDS = ("state", "tree", "content_key", "mark", "manifest")
"""Fields of a manifest's payload without its version, and without the terms, which may be long."""

Read = TypeVar("Read")

Publications = Mapping[str, str]
"""Names of publications by tree; the first that a read uses of a tree stays."""


MAX_OUTLINES = 100_000
"""Number of outlines to keep, some 70 MB; beyond it the cache is emptied."""

MAX_SEARCHES = 10
"""How often a search is repeated whose points were deleted before their outlines were read."""


class OutlineCache:
    """Outlines of one collection's points. Threads may share it.

    Half of the time of a search was to read and send payloads. A point never changes, so a search
    returns ids and scores, and outlines are read once.
    """

    def __init__(self, points: ClientEngine) -> None:
        self._points = points
        self._payloads: dict[str, Payload] = {}

    def query(self, searches: Sequence[Search]) -> list[list[Row]]:
        """Return the best points of each search, with tree, birth, node id and outline.

        A server leaves out points that are deleted before it reads their payloads, so a search
        returns ids alone. It is repeated where a point is deleted before its outline is read.
        """
        for _ in range(MAX_SEARCHES):
            answers = self._points.query(searches, ())
            ids = {point_id for answer in answers for point_id, _, _ in answer}
            payloads = {name: kept for name in ids if (kept := self._payloads.get(name))}
            missing = sorted(ids - payloads.keys())
            payloads |= self._keep(self._points.fetch(missing, (*OUTLINED, "birth"), dense=False))
            if len(payloads) == len(ids):
                break
        return [
            [(p, score, payloads[p]) for p, score, _ in row if p in payloads] for row in answers
        ]

    def _keep(self, points: Sequence[Point]) -> dict[str, Payload]:
        new = {point.id: _brief(point.payload) for point in points}
        if len(self._payloads) > MAX_OUTLINES:
            self._payloads = {}
        self._payloads.update(new)
        return new


def _brief(payload: Payload) -> Payload:
    names = {name: intern(payload[name]) for name in ("tree", "birth")}
    return {**names, "node_id": payload["node_id"], "outline": Outline.of(payload)}


class ReadSession(QuerySearch):
    """Read by a single thread, whose results are of one version of each tree."""

    def __init__(self, points: ClientEngine, outlines: OutlineCache, known: KnownVersions) -> None:
        self._points = points
        self._outlines = outlines
        self._known = known
        self._returned_trees: Publications = {}
        self._ranked_trees: Publications = {}
        self._deadline = time.monotonic() + READ_SECONDS

    def run(self, read: "Callable[[ReadSession], Read]") -> Read:
        """Call ``read`` until no tree has changed meanwhile, and return its result.

        A strategy ranks hundreds of nodes and returns few. So ranked trees are only checked where
        no node was returned. StoreError is raised after ``READ_SECONDS``.
        """
        while True:
            self._returned_trees, self._ranked_trees = {}, {}
            result = read(self)
            if not self._changed(self._returned_trees or self._ranked_trees):
                return result

    def _changed(self, publications: Publications) -> list[str]:
        """Return the trees that have other publications by now; StoreError ends too many reads."""
        changed = self._known.check(publications)
        if changed and time.monotonic() > self._deadline:
            raise StoreError(
                f"{self._points.where}: tree {changed[0]!r} was published again and again for "
                f"{READ_SECONDS:g} s; ask again"
            )
        return changed

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """Return all points that match; live ones as nodes of their tree's version."""
        if "live" in (condition.values("state") or ()):
            return self._nodes(condition, fields, dense=dense)
        if fields is None and MANIFEST in condition.matches:
            fields = MANIFEST_FIELDS
        return self._points.scroll(condition, fields, dense=dense)

    def _nodes(self, condition: Condition, fields: Fields, *, dense: bool) -> list[Point]:
        self._known.refresh()
        stored = None if fields is None else tuple(dict.fromkeys((*fields, *POINT_FIELDS)))
        records = self._points.scroll(_by_node(condition), stored, dense=dense)
        versions = self._known.of(record.payload["tree"] for record in records)
        self._returned_trees = {**_publications(versions), **self._returned_trees}
        nodes = [
            replace(record, id=record.payload["node_id"])
            for record in records
            if versions[record.payload["tree"]].has(record.payload, record.id)
        ]
        if len(nodes) < len(condition.ids or ()):  # trees that were ranked may have changed
            self._returned_trees = {**self._ranked_trees, **self._returned_trees}
        return nodes

    def query(self, searches: Sequence[Search], fields: Fields) -> list[list[Row]]:
        """Return the best nodes of each search by id, or some more.

        A point that is no node may mean that its tree has changed. At the end of the read the
        ranked trees may stay unchecked, so these trees are checked here.
        """
        while True:
            rows, versions, doubtful = self._query(searches, fields)
            if fields is None:
                self._returned_trees = {**_publications(versions), **self._returned_trees}
                return rows
            if not self._changed(doubtful):
                self._ranked_trees = {**_publications(versions), **self._ranked_trees}
                return rows

    def _query(
        self, searches: Sequence[Search], fields: Fields
    ) -> tuple[list[list[Row]], dict[str, Version], Publications]:
        """Return the best nodes of each search, versions of trees, and those of doubtful trees.

        A search that returns few nodes is repeated without the other points.
        """
        self._known.refresh()
        pending = {row: self._widened(search) for row, search in enumerate(searches)}
        nodes: list[list[Row]] = [[] for _ in searches]
        versions: dict[str, Version] = {}
        doubtful: dict[str, str] = {}
        while pending:
            batch = list(pending.values())
            answers = self._outlines.query(batch) if fields else self._points.query(batch, None)
            repeated: dict[int, Search] = {}
            for (row, search), points in zip(pending.items(), answers, strict=True):
                known = self._known.of(payload["tree"] for _, _, payload in points)
                nodes[row], foreign = _nodes_among(points, known)
                versions, doubtful = {**known, **versions}, {**foreign, **doubtful}
                limit, condition = searches[row].limit, search.request.condition
                if len(points) == search.limit and len(nodes[row]) >= limit:
                    continue
                narrowed = self._without(condition, points)
                if len(points) < search.limit and (fields or narrowed == condition):
                    # These are all, so ``ranked`` need not look for ties.
                    nodes[row] = sorted(nodes[row], key=best_first)[: limit - 1]
                elif len(nodes[row]) < limit:
                    request = search.request._replace(condition=narrowed)
                    repeated[row] = search._replace(request=request)
            pending = repeated
        return nodes, versions, doubtful

    def _without(self, condition: Condition, points: Sequence[Row]) -> Condition:
        """Return the condition without points that are no nodes: these, and those to be deleted.

        A server leaves out points that are deleted before it reads their payloads, and adds none.
        """
        births = {(payload["tree"], payload["birth"]) for _, _, payload in points}
        trees = condition.values("tree") or ()
        versions = self._known.of([*trees, *(tree for tree, _ in births)])
        hidden = {birth for tree, birth in births if birth not in versions[tree].births}
        hidden |= {str(value) for match in condition.hidden for value in match.values}
        ids = set(condition.hidden_ids).union(*(version.obsolete for version in versions.values()))
        matches = (Match("birth", tuple(sorted(hidden))),) if hidden else ()
        return replace(condition, hidden=matches, hidden_ids=tuple(sorted(ids)))

    def _widened(self, search: Search) -> Search:
        """Return the search by node ids for some more points, its words weighted by IDF."""
        query, condition, is_exact = search.request
        if isinstance(query, Sparse):
            query = self._known.terms().weighted(query)
        spare = SPARE + (SPARE + search.limit // 20 if self._known.are_changing else 0)
        request = SearchRequest(query, _by_node(condition), is_exact)
        return search._replace(request=request, limit=search.limit + spare)

    def count(self, condition: Condition) -> int:
        """Return the number of nodes that match."""
        by_node = _by_node(condition)
        trees = condition.values("tree")
        self._known.refresh(math.inf if trees else 0.0)
        versions = self._known.of(trees)
        self._returned_trees = {**_publications(versions), **self._returned_trees}
        births = {birth for version in versions.values() for birth in version.births}
        obsolete = {name for version in versions.values() for name in version.obsolete}
        matches = (*by_node.matches, Match("birth", tuple(sorted(births))))
        condition = replace(by_node, matches=matches, hidden_ids=tuple(sorted(obsolete)))
        return self._points.count(condition)


def _publications(versions: Mapping[str, Version]) -> Publications:
    return {tree: version.publication for tree, version in versions.items()}


def _nodes_among(
    points: Sequence[Row], known: Mapping[str, Version]
) -> tuple[list[Row], dict[str, str]]:
    """Return the points that are nodes, by node id, and publications of the others' trees."""
    nodes, foreign = [], {}
    for point_id, score, payload in points:
        version = known[payload["tree"]]
        if version.has(payload, point_id):
            nodes.append((payload["node_id"], score, payload))
        else:
            foreign[payload["tree"]] = version.publication
    return nodes, foreign


def _by_node(condition: Condition) -> Condition:
    """Return the condition with its ids as node ids instead of point ids."""
    matches, excluded = condition.matches, condition.excluded
    if condition.ids is not None:
        matches = (*matches, Match("node_id", condition.ids))
    if condition.excluded_ids:
        excluded = (*excluded, Match("node_id", condition.excluded_ids))
    return replace(condition, matches=matches, ids=None, excluded=excluded, excluded_ids=())


class ServerEngine(Engine):
    """Collection on a server. Threads may share it."""

    def __init__(self, *collection: Any) -> None:
        """Take the arguments of a ``ClientEngine``, which reads points of all versions."""
        self._points = ClientEngine(*collection)
        self._outlines = OutlineCache(self._points)
        self._publisher = ServerPublisher(self._points)
        self._known = KnownVersions(self._points)

    def apply(self, batch: Batch) -> None:
        """Publish the trees that a batch names; without any, delete nodes and points by id."""
        if not batch.replaces:
            nodes = self._points.scroll(Condition((Match("node_id", batch.deletes),)), ())
            ids = (*batch.deletes, *(record.id for record in nodes))
            self._points.apply(replace(batch, deletes=ids))
            return
        for manifest in self._known.take_unfinished():
            self._publisher.finish(manifest["publication"], [manifest])
        versions = self._publisher.publish(batch)
        self._known.learn_published([tree for tree, _ in batch.replaces], versions)

    def read_consistently(self, read: Callable[[PointReader], Read]) -> Read:
        """Return the result of ``read``; see ``ReadSession.run``."""
        return ReadSession(self._points, self._outlines, self._known).run(read)

    def scroll(self, condition: Condition, fields: Fields, *, dense: bool = False) -> list[Point]:
        """See ``PointReader``; live points are nodes of their tree's version, by node id."""
        return self.read_consistently(lambda s: s.scroll(condition, fields, dense=dense))

    def search(self, requests: Sequence[SearchRequest], limit: int) -> list[list[Scored]]:
        """See ``PointReader``."""
        return self.read_consistently(lambda s: s.search(requests, limit))

    def outlines(self, requests: Sequence[SearchRequest], limit: int) -> list[Candidates]:
        """See ``PointReader``."""
        return self.read_consistently(lambda s: s.outlines(requests, limit))

    def count(self, condition: Condition) -> int:
        """Return the number of nodes that match."""
        return self.read_consistently(lambda s: s.count(condition))

    def close(self) -> None:
        """Close the client."""
        self._points.close()
