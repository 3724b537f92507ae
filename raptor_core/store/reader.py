"""The half of a store that reads: live nodes and manifests; and how a store is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from raptor_core.errors import DamagedTreeError, StoreError
from raptor_core.nodes import Node
from raptor_core.store.base import Hit, Manifest, Mark, StoreIdentity, Where
from raptor_core.store.engines.base import (
    EVERYWHERE,
    LIVE,
    MANIFEST,
    Asked,
    Condition,
    Engine,
    Match,
    Question,
    Record,
    live_condition,
    query_units,
)
from raptor_core.store.lexical import query_vector
from raptor_core.store.outlines import NOTHING, Candidates
from raptor_core.store.payload import payload_to_manifest, payload_to_mark, payload_to_node
from raptor_core.vectors import Vectors

UNIT_TOLERANCE = 1e-3
"""How far from 1 the length of a vector may be that is let in."""

_STORED_TOLERANCE = UNIT_TOLERANCE + 1e-6
"""With rounding: Edge stores a vector with length 1 within 5e-7, local mode just as it came."""

READ_POINTS = 1000
"""Points that are read at once."""


def sound_vector(record: Record) -> Vectors | None:
    """The vector of a point that was read with it; None where it is damaged."""
    if record.dense is None:
        return None
    length = float(np.linalg.norm(record.dense.astype(np.float64)))
    return record.dense if abs(length - 1) <= _STORED_TOLERANCE else None


def whole_node(record: Record) -> Node | None:
    """The node of a point that was read whole; None where it is damaged."""
    try:
        return payload_to_node(record.payload)
    except DamagedTreeError:
        return None


def damaged_points(engine: Engine) -> list[str]:
    """Ids of published points that are not what was written, sorted; every one is read."""
    found = [r.id for r in engine.scroll(Condition((MANIFEST,)), None) if not _is_manifest(r)]
    ids = [record.id for record in engine.scroll(Condition((LIVE,)), ("state",))]
    for at in range(0, len(ids), READ_POINTS):
        part = Condition((LIVE,), tuple(ids[at : at + READ_POINTS]))
        found += [r.id for r in engine.scroll(part, None, dense=True) if not _is_node(r)]
    return sorted(found)


def _is_node(record: Record) -> bool:
    node = whole_node(record)
    if node is None or node.id != record.id:
        return False
    return not record.payload.get("embedded", True) or sound_vector(record) is not None


def _is_manifest(record: Record) -> bool:
    try:
        payload_to_manifest(record.payload)
    except DamagedTreeError:
        return False
    return True


LOOKUP_KEYS = 1000
"""Keys per lookup; a longer filter gains nothing."""

Row = TypeVar("Row")


class StoreReader:
    """What readers ask of a store. One object may be shared by threads."""

    def __init__(
        self,
        engine: Engine,
        identity: StoreIdentity,
        release: Callable[[], None],
        steady: Callable[[Callable[[], Any]], Any] = lambda read: read(),
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        """An engine of one process holds still while it is asked, and is asked by turns.

        Args:
            steady: what ``steady`` does, of another engine.
            turn: what its calls hold; None is a lock of their own.
        """
        self._engine = engine
        self._identity = identity
        self._release = release
        self._steady = steady
        self._turn = turn or RLock()
        self._closed = False

    @property
    def identity(self) -> StoreIdentity:
        """What the store was made for."""
        return self._identity

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Live vectors by embedding key, of any tree; unknown keys left out.

        One that was damaged on disk counts as unknown.
        """
        keyed = "embedding_key"
        records = self._lookup(keyed, embedding_keys, (keyed,), dense=True)
        found = [(record.payload[keyed], sound_vector(record)) for record in records]
        return {key: vector for key, vector in found if vector is not None}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Live summary texts by content key, of any tree; unknown keys left out.

        One that was damaged on disk counts as unknown.
        """
        records = self._lookup("content_key", content_keys, None, dense=False)
        nodes = [node for record in records if (node := whole_node(record))]
        return {node.content_key: node.text for node in nodes if node.layer}

    def _lookup(
        self, field: str, keys: Iterable[str], fields: Sequence[str] | None, *, dense: bool
    ) -> list[Record]:
        distinct = _unique(keys)
        found: list[Record] = []
        with self._open():
            for at in range(0, len(distinct), LOOKUP_KEYS):
                match = Match(field, distinct[at : at + LOOKUP_KEYS])
                found += self._engine.scroll(Condition((match,)), fields, dense=dense)
        return found

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """What is published, by tree name; of these trees, or all."""
        if trees is None:
            return self._manifests(MANIFEST)
        return self._manifests(MANIFEST, Match("tree", _unique(trees))) if trees else []

    def marks(self) -> list[Mark]:
        """What is published, in short, by tree name; a quarter of the work of ``manifests``.

        A manifest that is damaged besides is not noticed.
        """
        with self._open():
            records = self._engine.scroll(Condition((MANIFEST,)), ("mark",))
            marks = [payload_to_mark(record.payload) for record in records]
        found = [mark for mark in marks if mark is not None]
        if len(found) < len(marks):  # some have none that can be read
            found = [manifest.mark for manifest in self.manifests()]
        return sorted(found, key=attrgetter("tree"))

    def manifests_of(self, contents: Sequence[str]) -> list[Manifest]:
        """What is published with one of these contents (``Manifest.content``), by tree name."""
        match = Match("content_key", _unique(contents))
        return self._manifests(MANIFEST, match) if contents else []

    def _manifests(self, *matches: Match) -> list[Manifest]:
        with self._open():
            records = self._engine.scroll(Condition(matches), None)
        return sorted((payload_to_manifest(r.payload) for r in records), key=attrgetter("tree"))

    def search(
        self, vectors: Vectors, limit: int, where: Where = EVERYWHERE, *, exact: bool = False
    ) -> list[list[Hit]]:
        """Nearest live nodes to each row of ``vectors`` by cosine, best first.

        Ties are broken by node id. ``exact`` compares every vector, where an engine would look
        along a graph and may miss some.

        Raises:
            StoreMismatchError: the rows' length is not the store's.
        """
        units = query_units(vectors, self._identity)
        return self._hits([_question(unit, where, exact=exact) for unit in units], limit)

    def search_text(
        self, texts: Sequence[str], limit: int, where: Where = EVERYWHERE
    ) -> list[list[Hit]]:
        """Best live nodes for each text by lexical score (BM25 weights, IDF of the corpus).

        A text without a word finds nothing.
        """
        return self._hits([_question(query_vector(text), where) for text in texts], limit)

    def _hits(self, questions: Sequence[Question | None], limit: int) -> list[list[Hit]]:
        found = self._found(self._engine.search, questions, limit)
        return [
            [Hit(payload_to_node(one.payload), one.score) for one in row or ()] for row in found
        ]

    def candidates(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        limit: int,
        where: Where | Sequence[Where] = EVERYWHERE,
    ) -> list[tuple[Candidates, Candidates]]:
        """What ``search`` and ``search_text`` find for each row and text, to be ranked.

        Outlines and scores alone: the nodes of those that are returned are read by id. ``where``
        is one filter for all, or one for each row.
        """
        filters = [where] * len(texts) if isinstance(where, Where) else where
        asked = [*query_units(vectors, self._identity), *map(query_vector, texts)]
        questions = list(map(_question, asked, [*filters, *filters]))
        rows = [row or NOTHING for row in self._found(self._engine.outlines, questions, limit)]
        return list(zip(rows[: len(texts)], rows[len(texts) :], strict=True))

    def _found(
        self,
        search: Callable[[list[Question], int], list[Row]],
        questions: Sequence[Question | None],
        limit: int,
    ) -> list[Row | None]:
        """What one search finds for each question that asks for anything."""
        asked = {row: one for row, one in enumerate(questions) if one is not None}
        if limit < 1 or not asked:
            return [None] * len(questions)
        with self._open():
            found = dict(zip(asked, search(list(asked.values()), limit), strict=True))
        return [found.get(row) for row in range(len(questions))]

    def steady(self, read: Callable[[], Row]) -> Row:
        """What ``read`` gives that asks this store: all of it of one version of each tree.

        ``read`` may be called again, where a tree that it met was published meanwhile.
        """
        with self._open():
            found: Row = self._steady(read)
        return found

    def nodes(self, where: Where = EVERYWHERE) -> list[Node]:
        """Live nodes, ordered by tree, layer, ``Node.order``."""
        condition = live_condition(where)
        if condition is None:
            return []
        with self._open():
            found = [payload_to_node(r.payload) for r in self._engine.scroll(condition, None)]
        return sorted(found, key=lambda n: (n.tree, n.layer, *n.order))

    def titles(self) -> dict[str, str]:
        """The titles of all documents that have one, by document; no text is read."""
        condition = live_condition(Where(layers=(0,)))
        if condition is None:
            return {}
        with self._open():
            records = self._engine.scroll(condition, ("documents", "metadata"))
        found = ((r.payload["documents"][0], r.payload["metadata"].get("title")) for r in records)
        return {document: str(title) for document, title in found if title}

    def count(self, where: Where = EVERYWHERE) -> int:
        """Number of live nodes."""
        condition = live_condition(where)
        if condition is None:
            return 0
        with self._open():
            return self._engine.count(condition)

    def point_ids(self, tree: str) -> list[str]:
        """Ids of the tree's live points, sorted: what an audit compares."""
        with self._open():
            found = self._engine.scroll(Condition((Match("tree", (tree,)), LIVE)), ("state",))
        return sorted(record.id for record in found)

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._turn:
            if self._closed:
                raise StoreError(f"store {self._identity.corpus!r} is closed; open it again")
            yield

    def close(self) -> None:
        """Release the engine and its lock; closing twice is allowed."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            try:
                self._engine.close()
            finally:
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _question(asked: Asked | None, where: Where, *, exact: bool = False) -> Question | None:
    """None where nothing is asked, or nothing can match."""
    condition = live_condition(where)
    return None if asked is None or condition is None else Question(asked, condition, exact)
