"""The store over any engine: the rules of publishing, forgetting and reading.

- Publishing is one batch of one tree or many (``publishing.py``) that is committed completely:
  through the journal on embedded engines (``journal.py``), through versions on a server
  (``versions.py``), there each tree by itself.
- A commit that fails closes the store: opening it again completes the commit.
- Forgetting: after ``publish`` and ``drop`` no point holds removed text, and no search, lookup or
  listing returns it. Bytes may stay in the engine's files for a while. Edge erases them in
  ``optimize()``: in small stores all, in large ones those of segments of which a fifth is deleted.
  Local mode's SQLite reuses freed pages, a server vacuums on its own.
- One store object may be shared by threads. On embedded engines its calls take turns.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from threading import RLock
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from raptor_core.errors import DamagedTreeError, StoreError
from raptor_core.nodes import Node
from raptor_core.store.base import (
    Edition,
    Hit,
    Manifest,
    Mark,
    PublicationCounts,
    StoreIdentity,
    Where,
)
from raptor_core.store.engines.base import (
    EVERYWHERE,
    LIVE,
    MANIFEST,
    READ_POINTS,
    Batch,
    Condition,
    Engine,
    Fields,
    Match,
    Point,
    PointReader,
    QueryVector,
    Scored,
    SearchRequest,
    live_condition,
    query_units,
)
from raptor_core.store.lexical import query_vector
from raptor_core.store.outlines import NOTHING, Candidates
from raptor_core.store.payload import Payload, payload_to_manifest, payload_to_mark, payload_to_node
from raptor_core.store.publishing import UNIT_TOLERANCE, PublicationBatch
from raptor_core.vectors import Vectors

_STORED_TOLERANCE = UNIT_TOLERANCE + 1e-6
"""With rounding: Edge stores a vector with length 1 within 5e-7, local mode just as it came."""

Row = TypeVar("Row")


class StoreReader:
    """Reads of a store, over its engine or over one consistent read. It is a ``Searcher``."""

    def __init__(
        self,
        reader: PointReader,
        identity: StoreIdentity,
        opened: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Wrap a reader of points; ``opened`` is the context of each call."""
        self._reader = reader
        self._identity = identity
        self._open = opened

    @property
    def identity(self) -> StoreIdentity:
        """Corpus and embedder that the store was made for."""
        return self._identity

    def search(
        self, vectors: Vectors, limit: int, where: Where = EVERYWHERE, *, exact: bool = False
    ) -> list[list[Hit]]:
        """See ``Searcher``."""
        units = query_units(vectors, self._identity)
        return self._hits([_request(unit, where, exact=exact) for unit in units], limit)

    def search_text(
        self, texts: Sequence[str], limit: int, where: Where = EVERYWHERE
    ) -> list[list[Hit]]:
        """See ``Searcher``."""
        return self._hits([_request(query_vector(text), where) for text in texts], limit)

    def _hits(self, requests: Sequence[SearchRequest | None], limit: int) -> list[list[Hit]]:
        nothing: list[Scored] = []
        rows = self._answers(self._reader.search, requests, limit, nothing)
        return [[Hit(payload_to_node(hit.payload), hit.score) for hit in row] for row in rows]

    def candidates(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        limit: int,
        where: Where | Sequence[Where] = EVERYWHERE,
    ) -> list[tuple[Candidates, Candidates]]:
        """See ``Searcher``."""
        filters = [where] * len(texts) if isinstance(where, Where) else where
        queries = [*query_units(vectors, self._identity), *map(query_vector, texts)]
        requests = list(map(_request, queries, [*filters, *filters]))
        rows = self._answers(self._reader.outlines, requests, limit, NOTHING)
        return list(zip(rows[: len(texts)], rows[len(texts) :], strict=True))

    def _answers(
        self,
        search: Callable[[Sequence[SearchRequest], int], list[Row]],
        requests: Sequence[SearchRequest | None],
        limit: int,
        nothing: Row,
    ) -> list[Row]:
        """Return the answers of one search, ``nothing`` for a request that is None."""
        kept = {row: request for row, request in enumerate(requests) if request is not None}
        if limit < 1 or not kept:
            return [nothing] * len(requests)
        with self._open():
            answers = dict(zip(kept, search(list(kept.values()), limit), strict=True))
        return [answers.get(row, nothing) for row in range(len(requests))]

    def read_consistently(self, read: "Callable[[StoreReader], Row]") -> Row:
        """See ``Searcher``."""
        with self._open():
            return self._reader.read_consistently(
                lambda reader: read(StoreReader(reader, self._identity, self._open))
            )

    def nodes(self, where: Where = EVERYWHERE) -> list[Node]:
        """See ``Searcher``."""
        records = self._points(live_condition(where), None)
        nodes = [payload_to_node(record.payload) for record in records]
        return sorted(nodes, key=lambda n: (n.tree, n.layer, *n.order))

    def _points(
        self, condition: Condition | None, fields: Fields, *, dense: bool = False
    ) -> list[Point]:
        """Return the points that match; none for the condition None."""
        if condition is None:
            return []
        with self._open():
            return self._reader.scroll(condition, fields, dense=dense)

    def titles(self, trees: Sequence[str] | None = None) -> dict[str, str]:
        """Return the titles of the documents that have one, by document, of all trees for None."""
        leaves = live_condition(Where(trees=None if trees is None else tuple(trees), layers=(0,)))
        records = self._points(leaves, ("documents", "metadata"))
        titles = ((r.payload["documents"][0], r.payload["metadata"].get("title")) for r in records)
        return {document: str(title) for document, title in titles if title}

    def point_ids(self, tree: str) -> list[str]:
        """Return the ids of the tree's live points, sorted."""
        nodes = Condition((LIVE, Match("tree", (tree,))))
        return sorted(record.id for record in self._points(nodes, ()))

    def count(self, where: Where = EVERYWHERE) -> int:
        """Return the number of live nodes that match."""
        condition = live_condition(where)
        if condition is None:
            return 0
        with self._open():
            return self._reader.count(condition)

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Return live vectors of any tree by embedding key, without unknown and damaged ones."""
        field = "embedding_key"
        records = self._keyed(field, embedding_keys, (field,), dense=True)
        rows = [(record.payload[field], _sound_vector(record)) for record in records]
        return {key: vector for key, vector in rows if vector is not None}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Return live summary texts of any tree by content key, without unknown, damaged ones."""
        records = self._keyed("content_key", content_keys, None)
        nodes = [node for record in records if (node := _undamaged(payload_to_node, record))]
        return {node.content_key: node.text for node in nodes if node.layer}

    def _keyed(
        self, field: str, keys: Iterable[str], fields: Fields, *, dense: bool = False
    ) -> Iterator[Point]:
        distinct = _unique(keys)
        for at in range(0, len(distinct), READ_POINTS):
            match = Match(field, distinct[at : at + READ_POINTS])
            yield from self._points(Condition((match,)), fields, dense=dense)

    def count_trees(self) -> int:
        """Return the number of published trees, and read none of them."""
        with self._open():
            return self._reader.count(Condition((MANIFEST,)))

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """See ``Searcher``."""
        records = self._manifests(trees, None)
        return sorted((payload_to_manifest(r.payload) for r in records), key=attrgetter("tree"))

    def marks(self, trees: Sequence[str] | None = None) -> list[Mark]:
        """See ``Searcher``."""
        records = self._manifests(trees, ("mark",))
        return sorted((payload_to_mark(r.payload) for r in records), key=attrgetter("tree"))

    def _manifests(self, trees: Sequence[str] | None, fields: Fields) -> list[Point]:
        if trees is None:
            return self._points(Condition((MANIFEST,)), fields)
        match = Match("tree", _unique(trees))
        return self._points(Condition((MANIFEST, match)), fields) if trees else []

    def manifests_of(self, contents: Sequence[str]) -> list[Manifest]:
        """Return the manifests with one of these contents (``Manifest.content``), by tree name."""
        match = Match("content_key", _unique(contents))
        records = self._points(Condition((MANIFEST, match)), None) if contents else []
        return sorted((payload_to_manifest(r.payload) for r in records), key=attrgetter("tree"))


class VectorStore(StoreReader, AbstractContextManager["VectorStore"]):
    """Open collection, from ``open_store``. An embedded engine is locked while it is open."""

    def __init__(
        self,
        engine: Engine,
        identity: StoreIdentity,
        commit: Callable[[Batch], None],
        release: Callable[[], None],
        promote: Callable[[], None] | None = None,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Wrap an open engine; a crash in ``commit`` leaves all or nothing of a batch.

        ``promote`` is None for the live collection. ``turn`` is the context of each call; None is
        a lock of this store.
        """
        super().__init__(engine, identity, self._opened)
        self._engine = engine
        self._commit = commit
        self._release = release
        self._promote = promote
        self._turn = turn or RLock()
        self._closed = False

    @contextmanager
    def _opened(self) -> Iterator[None]:
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

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- publishing

    @contextmanager
    def publishing(self) -> Iterator[PublicationBatch]:
        """Publish and drop many trees in few commits; readers see each tree old or new.

        A crash leaves all trees of a commit old or all new; on a server each tree. A block that
        ends with an exception leaves uncommitted trees as they were.

        Raises:
            StoreError: at the end, where a commit failed; the store is closed then.
        """
        with self._open():
            batch = PublicationBatch(self._engine, self.vectors, self._commit_whole, self._identity)
            yield batch
            batch.end()

    def publish(
        self,
        manifest: Manifest,
        nodes: Sequence[Node],
        vectors: Mapping[str, Vectors] = MappingProxyType({}),
    ) -> PublicationCounts:
        """Publish a tree and remove its old nodes. Repeating it after a crash completes it.

        Raises:
            StoreError, StoreMismatchError: as ``PublicationBatch.publish``; nothing was changed.
        """
        with self.publishing() as publishing:
            (published,) = publishing.publish([Edition(manifest, nodes, vectors)])
        return published

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; return the number of live nodes."""
        with self.publishing() as publishing:
            return publishing.drop([tree])

    def _commit_whole(self, batch: Batch) -> None:
        # A failed commit may be half applied here; the next opening completes it before reading.
        try:
            self._commit(batch)
        except BaseException:
            self.close()
            raise

    # -- maintaining

    @property
    def live(self) -> bool:
        """Whether this is the live collection of its corpus."""
        return self._promote is None

    def promote(self, trees: Collection[str]) -> bool:
        """Make this the live collection once it has every tree of ``trees``; return whether it is.

        The switch is one durable write. The other collections are removed after it, or after a
        crash by the next opening to write. Stores that are open on a removed collection of a
        server fail. On the live collection it does nothing.
        """
        with self._open():
            if self._promote is None:
                return True
            if not set(trees) <= {mark.tree for mark in self.marks()}:
                return False
            self._promote()
            self._promote = None
            return True

    def mend(self) -> int:
        """Remove damaged points, so that the next build makes them again; return their number.

        All of them are read. A node is damaged if its digest differs, or its vector is missing or
        has another length; a manifest if it cannot be read.
        """
        with self._open():
            damaged = sorted(set(self._damaged()))
            if damaged:
                self._commit_whole(Batch(deletes=tuple(damaged)))
            return len(damaged)

    def _damaged(self) -> Iterator[str]:
        """Yield the ids of damaged points; every published one is read."""
        manifests = Condition((MANIFEST,))
        for record in self._points(manifests, None):
            if _undamaged(payload_to_manifest, record) is None:
                yield record.id
        for record in self._points(manifests, ("mark",)):
            if _undamaged(payload_to_mark, record) is None:
                yield record.id
        ids = [record.id for record in self._points(Condition((LIVE,)), ())]
        for at in range(0, len(ids), READ_POINTS):
            part = Condition((LIVE,), tuple(ids[at : at + READ_POINTS]))
            for record in self._points(part, None, dense=True):
                node = _undamaged(payload_to_node, record)
                lacks = record.payload.get("embedded", True) and _sound_vector(record) is None
                if node is None or node.id != record.id or lacks:
                    yield record.id

    def optimize(self) -> None:
        """Build search indexes, and erase bytes of deleted points, see ``Engine``."""
        with self._open():
            self._engine.optimize()


def _sound_vector(record: Point) -> Vectors | None:
    """Return the vector of a point; None where it is missing or damaged."""
    if record.dense is None:
        return None
    length = float(np.linalg.norm(record.dense.astype(np.float64)))
    return record.dense if abs(length - 1) <= _STORED_TOLERANCE else None


def _undamaged(read: Callable[[Payload], Row], record: Point) -> Row | None:
    """Return the value that ``read`` makes of a point's payload; None where it is damaged."""
    try:
        return read(record.payload)
    except DamagedTreeError:
        return None


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _request(
    query: QueryVector | None, where: Where, *, exact: bool = False
) -> SearchRequest | None:
    """Return the search of a query; None without a query, or where nothing can match."""
    condition = live_condition(where)
    return None if query is None or condition is None else SearchRequest(query, condition, exact)
