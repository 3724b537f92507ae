"""A server's collection as an engine: reads that nobody's publications hold up or mix.

What a tree's nodes are, its manifest says (``versions.py``). A read that is done looks at the
manifests of the trees that it met once more; where one is another by then, it reads again. It asks
nothing of other trees. ``steady`` makes one read of many, so that a whole retrieval costs one look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from raptor_core.errors import StoreError
from raptor_core.store.conditions import MANIFEST
from raptor_core.store.engine import Batch, Condition, Match, Question, Record, Scored
from raptor_core.store.lexical import Sparse
from raptor_core.store.outlines import OUTLINED, Found, outlined
from raptor_core.store.parts import split
from raptor_core.store.payload import Payload
from raptor_core.store.qdrant import ClientEngine, Search
from raptor_core.store.ranking import TIED
from raptor_core.store.server_publisher import ServerPublisher, read_versions
from raptor_core.store.server_terms import ServerTerms
from raptor_core.store.versions import NO_VERSION, POINT_FIELDS, VERSION_FIELDS, Version

READ_SECONDS = 60.0
"""How long a read goes on that meets trees which are published again each time."""

KNOWN_SECONDS = 30.0
"""How old the counts of terms may be of trees that no read met."""

SPARE = 8
"""Points asked for besides, and one for each twenty: some may be no nodes yet, or no more."""

Read = TypeVar("Read")
Row = tuple[str, float, Payload]
"""Id, score and payload of a point."""


class ServerEngine:
    """One collection on a server. Threads may share it."""

    def __init__(self, engine: ClientEngine, where: str) -> None:
        self._engine = engine
        self._where = where
        self._publisher = ServerPublisher(engine, where)
        self._terms = ServerTerms(engine)
        self._versions: dict[str, Version] = {}
        self._known_at: float | None = None
        self._turn = threading.Lock()
        self._reading = threading.local()
        """Publications of the trees that a read met, and of those that it glanced at."""

    def apply(self, batch: Batch) -> None:
        """Publish the trees that a batch names; of others, write and delete at once."""
        if batch.replaces:
            now = self._publisher.publish(batch)
            if self._known_at is not None:
                self._learn([tree for tree, _ in batch.replaces], now)
                self._terms.renew()
            return
        ids = [*batch.deletes, *self._points_of(batch.deletes)]
        for part in split(replace(batch, deletes=tuple(ids))):
            self._engine.apply(part)

    def _points_of(self, ids: Sequence[str]) -> list[str]:
        """Ids of the points of some nodes, and of their trees' counts, which hold no more then."""
        if not ids:
            return []
        nodes = self._engine.scroll(Condition((Match("node_id", tuple(ids)),)), ("tree",))
        trees = tuple(dict.fromkeys(record.payload["tree"] for record in nodes))
        counts = Condition((Match("tree", trees), Match("state", ("terms",))))
        return [record.id for record in (*nodes, *self._engine.scroll(counts, ()))]

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
                    f"{self._where}: tree {moved[0]!r} was published again and again for "
                    f"{READ_SECONDS:g} s; ask again"
                )

    def _moved(self, met: Mapping[str, str]) -> list[str]:
        """The trees whose version is another by now; it is known then."""
        now = read_versions(self._engine, list(met))
        moved = [
            tree for tree, name in met.items() if now.get(tree, NO_VERSION).publication != name
        ]
        self._learn(moved, now)
        return moved

    def _learn(self, trees: Iterable[str], now: Mapping[str, Version]) -> None:
        known = self._versions
        changed = [t for t in trees if known.get(t, NO_VERSION) != now.get(t, NO_VERSION)]
        if changed:  # a dictionary that other threads go through is not changed
            merged = {**known, **{tree: now.get(tree, NO_VERSION) for tree in changed}}
            self._versions = {t: version for t, version in merged.items() if version != NO_VERSION}
            self._terms.change(changed)

    def _know(self, max_seconds: float | None = None) -> None:
        """Know the versions of all trees, those that no read met as of so many seconds ago."""
        with self._turn:
            since = None if self._known_at is None else time.monotonic() - self._known_at
            if since is not None and (max_seconds is None or since < max_seconds):
                return
            found = self._engine.scroll(Condition((MANIFEST,)), VERSION_FIELDS)
            now = {record.payload["tree"]: Version.of(record.payload) for record in found}
            self._learn({**self._versions, **now}, now)
            self._terms.renew()
            self._known_at = time.monotonic()

    def _is_node(self, record: Record, *, at_a_glance: bool = False) -> bool:
        """Whether a point is a node by the version that is known; that is looked at afterwards.

        What is glanced at is not, where something else was read: a strategy weighs hundreds of
        nodes and reads the few that it gives.
        """
        tree = record.payload["tree"]
        version = self._versions.get(tree, NO_VERSION)
        met = self._reading.glanced if at_a_glance else self._reading.met
        met.setdefault(tree, version.publication)
        return version.has(record)

    def fetch(self, ids: Sequence[str], fields: Sequence[str], *, dense: bool) -> list[Record]:
        """The points that exist among ``ids``."""
        return self._engine.fetch(ids, fields, dense=dense)

    def scroll(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool = False
    ) -> list[Record]:
        """All points that match; of the nodes of trees, those of one version of each."""
        wanted = None if fields is None else tuple(dict.fromkeys((*fields, *POINT_FIELDS)))
        if not any(
            match.field == "state" and "live" in match.values for match in condition.matches
        ):
            return self._engine.scroll(condition, fields, dense=dense)
        return self.steady(lambda: self._nodes(condition, wanted, dense=dense))

    def _nodes(
        self, condition: Condition, fields: Sequence[str] | None, *, dense: bool
    ) -> list[Record]:
        self._know()
        records = self._engine.scroll(_by_node(condition), fields, dense=dense)
        found = [
            replace(record, id=record.payload["node_id"]) if _is_live(record) else record
            for record in records
            if not _is_live(record) or self._is_node(record)
        ]
        if len(found) < len(condition.ids or ()):  # what was glanced at may have moved
            self._reading.met.update({**self._reading.glanced, **self._reading.met})
        return found

    def search(self, questions: Sequence[Question], limit: int) -> list[list[Scored]]:
        """Best nodes for each question."""
        rows = self.steady(lambda: self._best(questions, limit, None))
        return [[Scored(payload, score) for _, score, payload in row] for row in rows]

    def outlines(self, questions: Sequence[Question], limit: int) -> list[Found]:
        """What ``search`` finds, to be ranked."""
        fields = (*OUTLINED, "state", "birth")
        rows = self.steady(lambda: self._best(questions, limit, fields))
        return [outlined((payload, score) for _, score, payload in row) for row in rows]

    def _best(
        self, questions: Sequence[Question], limit: int, fields: Sequence[str] | None
    ) -> list[list[Row]]:
        """The best nodes of each question; asked again where few are nodes, or where they tie."""
        self._know()
        found: list[list[Row]] = [[] for _ in questions]
        searches = {
            row: Search(self._weighted(question), limit + 1 + SPARE + limit // 20)
            for row, question in enumerate(questions)
        }
        while searches:
            answers = self._engine.query(list(searches.values()), fields)
            again: dict[int, Search] = {}
            for (row, search), points in zip(searches.items(), answers, strict=True):
                nodes = [p for p in points if self._is_node(_record(p), at_a_glance=bool(fields))]
                found[row] = sorted(nodes, key=_order)[:limit]
                if (other := self._again(search, limit, points, nodes)) is not None:
                    again[row] = other
            searches = again
        return found

    def _weighted(self, question: Question) -> Question:
        """The question by node ids, its words weighed."""
        asked = question.asked
        if isinstance(asked, Sparse):
            self._know(KNOWN_SECONDS)
            asked = self._terms.weighted(asked, self._versions)
        return question._replace(asked=asked, condition=_by_node(question.condition))

    def _again(
        self, search: Search, limit: int, points: Sequence[Row], nodes: Sequence[Row]
    ) -> Search | None:
        """What to ask besides; None where nothing is missing."""
        if len(points) < search.limit or search.least is not None:
            return None
        if len(nodes) < limit:
            condition = self._hidden(search.question.condition, points, nodes)
            return search._replace(question=search.question._replace(condition=condition))
        last = nodes[limit - 1][1]
        if points[-1][1] < last:
            return None
        return search._replace(limit=limit + TIED, least=last)

    def _hidden(
        self, condition: Condition, points: Sequence[Row], nodes: Sequence[Row]
    ) -> Condition:
        """The condition without the points that are no nodes, and what came with them."""
        is_node = {point_id for point_id, *_ in nodes}
        births = {str(value) for match in condition.hidden for value in match.values}
        ids = set(condition.hidden_ids)
        for point_id, _, payload in points:
            if point_id in is_node:
                continue
            version = self._versions.get(payload["tree"], NO_VERSION)
            if "birth" in payload and payload["birth"] not in version.births:
                births.add(payload["birth"])
            else:
                ids.add(point_id)
        hidden = (Match("birth", tuple(sorted(births))),) if births else ()
        return replace(condition, hidden=hidden, hidden_ids=tuple(sorted(ids)))

    def count(self, condition: Condition) -> int:
        """Number of nodes that match."""
        return self.steady(lambda: self._counted(condition))

    def _counted(self, condition: Condition) -> int:
        named = [match.values for match in condition.matches if match.field == "tree"]
        self._know(None if named else 0.0)
        trees = named[0] if named else tuple(self._versions)
        versions = {str(tree): self._versions.get(str(tree), NO_VERSION) for tree in trees}
        for tree, version in versions.items():
            self._reading.met.setdefault(tree, version.publication)
        births = tuple(sorted(birth for version in versions.values() for birth in version.births))
        gone = tuple(sorted(point_id for version in versions.values() for point_id in version.gone))
        asked = _by_node(condition)
        born = (*asked.matches, Match("birth", births))
        return self._engine.count(replace(asked, matches=born, hidden_ids=gone)) if births else 0

    def flush(self) -> None:
        """As the engine does."""
        self._engine.flush()

    def optimize(self) -> None:
        """As the engine does."""
        self._engine.optimize()

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


def _is_live(record: Record) -> bool:
    return bool(record.payload["state"] == "live")


def _by_node(condition: Condition) -> Condition:
    """The condition with node ids in place of point ids."""
    if condition.ids is None:
        return condition
    return replace(
        condition, matches=(*condition.matches, Match("node_id", condition.ids)), ids=None
    )


def _record(point: Row) -> Record:
    point_id, _, payload = point
    return Record(point_id, payload)


def _order(point: Row) -> tuple[float, str]:
    _, score, payload = point
    return -score, payload["node_id"]
