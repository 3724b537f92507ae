"""A server's collection as an engine, whose reads and publications do not wait for each other.

A read is a session that notes the publications of the trees that it reads. At its end it checks the
manifests of these trees, and of no others; where one has changed, it reads again. A request for
nodes may check their manifests itself. Publications are in ``versions.py``, the settings of a new
collection and of searches in ``layout.py``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from raptor_core.errors import StoreError
from raptor_core.store.engines.base import (
    MANIFEST,
    Batch,
    Condition,
    Engine,
    Match,
    Point,
    PointReader,
    Scored,
    SearchRequest,
    best_first,
)
from raptor_core.store.engines.outline_cache import OutlineCache
from raptor_core.store.engines.qdrant import (
    UNSCORED,
    ClientEngine,
    ManifestCheck,
    QuerySearch,
    Row,
    Search,
)
from raptor_core.store.engines.versions import POINT_FIELDS, KnownVersions, ServerPublisher, Version
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import Candidates
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
    """Versions that a read relies on; each change replaces a field.

    Attributes:
        returned: publication by tree, of the trees whose nodes were read.
        ranked: publication by tree, of the trees of which outlines were ranked.
        confirmed: trees of ``returned`` whose manifests the last request has confirmed.
        tree_of: tree by node id, of the nodes that were ranked.
    """

    returned: Mapping[str, str] = field(default_factory=dict)
    ranked: Mapping[str, str] = field(default_factory=dict)
    confirmed: AbstractSet[str] = frozenset()
    tree_of: Mapping[str, str] = field(default_factory=dict)

    def add(self, versions: Mapping[str, Version], *, ranked: bool) -> None:
        """Note versions of trees; the first version of a tree stays."""
        publications = {tree: version.publication for tree, version in versions.items()}
        if ranked:
            self.ranked = {**publications, **self.ranked}
        else:
            self.returned = {**publications, **self.returned}
            self.confirmed = self.confirmed - publications.keys()

    def confirm(self, checked: Mapping[str, Version], known: Mapping[str, Version]) -> None:
        """Note that manifests had these versions when nodes were read.

        A tree stays unconfirmed that was read in another version before, or of which another
        thread now knows a newer version.
        """
        publications = {tree: version.publication for tree, version in checked.items()}
        self.returned = {**publications, **self.returned}
        self.confirmed = self.confirmed | {
            tree
            for tree, publication in publications.items()
            if publication == self.returned[tree] == known[tree].publication
        }

    def unconfirmed(self) -> dict[str, str]:
        """Return the publications to check, by tree.

        A strategy ranks hundreds of nodes and returns few. So ranked trees only count where no
        node was returned.
        """
        publications = self.returned or self.ranked
        return {t: name for t, name in publications.items() if t not in self.confirmed}


class ReadSession(QuerySearch):
    """Read by a single thread, whose results are of one version of each tree."""

    def __init__(self, points: ClientEngine, outlines: OutlineCache, known: KnownVersions) -> None:
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
        if "live" in (condition.values("state") or ()):
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
            rows = self._points.read(by_node, len(ids), _check(checked))
            rows, are_valid = _without_manifests(rows, checked)
            rows, _ = self._nodes_among(rows, self._versions, ranked=False)
            if are_valid and len(rows) == len(ids):
                self._versions.confirm(checked, self._known.of(checked))
                return [Point(node_id, payload) for node_id, _, payload in rows]
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
            versions = replace(self._versions)
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
        trees = () if fields else searches[0].request.condition.values("tree") or ()
        checked = self._checkable(trees, pending[0].limit)
        pending = {row: s._replace(check=_check(checked)) for row, s in pending.items()}
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
        if are_valid:
            versions.confirm(checked, self._known.of(checked))
        return nodes, doubtful if fields else {}

    def _checkable(self, trees: Iterable[Any], limit: int = 0) -> dict[str, Version]:
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
            trees = {payload["node_id"]: payload["tree"] for _, _, payload in points}
            versions.tree_of = {**versions.tree_of, **trees}
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
        self._versions.add(versions, ranked=False)
        births = frozenset[str]().union(*(version.births for version in versions.values()))
        obsolete = frozenset[str]().union(*(version.obsolete for version in versions.values()))
        matches = (*by_node.matches, Match("birth", tuple(sorted(births))))
        return self._points.count(
            replace(by_node, matches=matches, hidden_ids=tuple(sorted(obsolete)))
        )


def _check(checked: Mapping[str, Version]) -> ManifestCheck:
    return tuple((manifest_id(tree), version.birth) for tree, version in checked.items())


def _without_manifests(
    rows: Sequence[Row], checked: Mapping[str, Version]
) -> tuple[list[Row], bool]:
    """Return an answer without checked manifests, and whether all have these versions."""
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

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Point]:
        """See ``PointReader``; live points are nodes of their tree's version, by node id."""
        return self.read_consistently(
            lambda session: session.scroll(condition, fields, dense=dense)
        )

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
