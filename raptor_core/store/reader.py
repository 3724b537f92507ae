"""The half of a store that reads: live nodes and manifests; and how a store is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

from raptor_core.errors import StoreError
from raptor_core.nodes import Node
from raptor_core.store.base import Hit, Manifest, Mark, StoreIdentity, Where
from raptor_core.store.conditions import EVERYWHERE, MANIFEST, live_condition, tree_condition
from raptor_core.store.engine import Asked, Condition, Engine, Match, Question
from raptor_core.store.lexical import query_vector
from raptor_core.store.outlines import NOTHING, Found
from raptor_core.store.payload import payload_to_manifest, payload_to_mark, payload_to_node
from raptor_core.store.ranking import query_units
from raptor_core.vectors import Vectors

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
            steady: ``VectorStore.steady``, of another engine.
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

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """What is published, by tree name; of these trees, or all."""
        if trees is None:
            return self._manifests(MANIFEST)
        return self._manifests(MANIFEST, Match("tree", _unique(trees))) if trees else []

    def marks(self) -> list[Mark]:
        """What is published, in short, by tree name; see ``VectorStore.marks``."""
        with self._open():
            records = self._engine.scroll(Condition((MANIFEST,)), ("mark",))
            found = [payload_to_mark(record.payload) for record in records]
            pairs = zip(records, found, strict=True)
            unmarked = tuple(record.id for record, mark in pairs if mark is None)
            whole = self._engine.scroll(Condition((MANIFEST,), unmarked), None) if unmarked else []
        marks = [mark for mark in found if mark is not None]
        marks += [payload_to_manifest(record.payload).mark for record in whole]
        return sorted(marks, key=attrgetter("tree"))

    def manifests_of(self, contents: Sequence[str]) -> list[Manifest]:
        """What is published with one of these contents; see ``VectorStore.manifests_of``."""
        match = Match("content_key", _unique(contents))
        return self._manifests(MANIFEST, match) if contents else []

    def _manifests(self, *matches: Match) -> list[Manifest]:
        with self._open():
            records = self._engine.scroll(Condition(matches), None)
        return sorted((payload_to_manifest(r.payload) for r in records), key=lambda m: m.tree)

    def search(
        self, vectors: Vectors, limit: int, where: Where = EVERYWHERE, *, exact: bool = False
    ) -> list[list[Hit]]:
        """Nearest live nodes to each row of ``vectors``; see ``VectorStore.search``.

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
    ) -> list[tuple[Found, Found]]:
        """What both searches find, to be ranked; see ``VectorStore.candidates``."""
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
        found: list[Row | None] = [None] * len(questions)
        if limit < 1 or not asked:
            return found
        with self._open():
            rows = search(list(asked.values()), limit)
        for row, hits in zip(asked, rows, strict=True):
            found[row] = hits
        return found

    def steady(self, read: Callable[[], Row]) -> Row:
        """What ``read`` gives; see ``VectorStore.steady``."""
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
            records = self._engine.scroll(tree_condition(tree), ("state",))
        return sorted(r.id for r in records if r.payload["state"] == "live")

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


def _unique(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _question(asked: Asked | None, where: Where, *, exact: bool = False) -> Question | None:
    """None where nothing is asked, or nothing can match."""
    condition = live_condition(where)
    return None if asked is None or condition is None else Question(asked, condition, exact)
