"""The store over any engine: the rules of publishing, forgetting and reading.

- Publishing is one batch for one tree or many (``publishing.py``). After a failed commit, the next
  build publishes the tree again.
- Forgetting: after ``publish`` and ``drop``, no point contains removed text, and no search, lookup
  or listing returns it. Its bytes may stay in the engine's files for a while. Edge erases them in
  ``optimize()``: in small stores all of them, in large ones those of segments with a fifth of their
  points deleted. A server vacuums by itself.
- Threads may share a store. On embedded engines, its calls run one after another.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import replace
from operator import attrgetter
from threading import RLock
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from raptor_core.errors import StoreError
from raptor_core.identity import to_nfc
from raptor_core.nodes import Node
from raptor_core.store.base import (
    Hit,
    Manifest,
    PublicationCounts,
    ShortManifest,
    StoreIdentity,
    TreeEdition,
    Where,
    check_reader_names,
    shared_readers,
)
from raptor_core.store.engines.base import (
    EVERYWHERE,
    MANIFEST,
    READ_POINTS,
    Condition,
    Engine,
    Fields,
    Match,
    Point,
    QueryVector,
    ScoredPoint,
    SearchRequest,
    live_condition,
    normalize_queries,
    readable_condition,
)
from raptor_core.store.facts import filter_values_by_node
from raptor_core.store.lexical import query_vector
from raptor_core.store.outlines import OUTLINED, Candidates, CandidateSearch, Outline
from raptor_core.store.payload import (
    payload_to_manifest,
    payload_to_node,
    payload_to_short_manifest,
    point_id,
)
from raptor_core.store.publishing import PublicationBatch, write_staged_points
from raptor_core.vectors import Vectors

MAX_OUTLINES = 100_000
"""Number of outlines to cache, some 70 MB; then the cache is cleared."""


class VectorStore(AbstractContextManager["VectorStore"]):
    """Open collection, made by ``open_store``. An embedded engine is locked while it is open."""

    def __init__(
        self,
        engine: Engine,
        identity: StoreIdentity,
        release: Callable[[], None],
        call_lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Wrap an open engine; ``release`` frees its lock.

        ``call_lock`` is held during each call; None uses a lock of this store.
        """
        self._engine = engine
        self._identity = identity
        self._release = release
        self._call_lock = call_lock or RLock()
        self._closed = False
        self._outlines: dict[str, Outline] = {}
        self.readers: tuple[str, ...] | None = None  # of the caller; None reads everything

    @property
    def identity(self) -> StoreIdentity:
        """Corpus and embedder that the store was made for."""
        return self._identity

    def for_readers(self, readers: Sequence[str] | None) -> Self:
        """Restrict the store to what these readers may read: nothing if empty, everything for None.

        The result returns no node, vector, text, title or manifest of anything else. If they may
        read only part of a tree, its manifest is restricted to that part. Only
        ``short_manifests`` still include all trees. Restricting a store again keeps the readers in
        both lists, and everyone.
        """
        if readers is None:
            return self
        view = copy(self)
        view.readers = shared_readers(self.readers, check_reader_names(readers))
        return view

    @property
    def _rights_conditions(self) -> tuple[Match, ...]:
        return () if self.readers is None else (readable_condition(self.readers),)

    @contextmanager
    def _lock_while_open(self) -> Iterator[None]:
        with self._call_lock:
            if self._closed:
                raise StoreError(f"store {self._identity.corpus!r} is closed; open it again")
            yield

    def close(self) -> None:
        """Release the engine and its lock; closing twice is allowed."""
        with self._call_lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._engine.close()
            finally:
                self._release()

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading

    def search(
        self, vectors: Vectors, limit: int, where: Where = EVERYWHERE, *, exact: bool = False
    ) -> list[list[Hit]]:
        """Return the nearest nodes by cosine to each row of shape ``(n_questions, n_dims)``.

        Hits are best first, ties by node id. ``exact`` compares every vector; otherwise an engine
        may search a graph and miss some.

        Raises:
            StoreMismatchError: the length of the rows differs from the store's.
        """
        units = normalize_queries(vectors, self._identity)
        return self._hits([self._request(unit, limit, where, exact=exact) for unit in units])

    def search_text(
        self, texts: Sequence[str], limit: int, where: Where = EVERYWHERE
    ) -> list[list[Hit]]:
        """Return the best nodes for each text by BM25; none for a text without words."""
        return self._hits([self._request(query_vector(text), limit, where) for text in texts])

    def _request(
        self, query: QueryVector | None, limit: int, where: Where, *, exact: bool = False
    ) -> SearchRequest | None:
        """Return the search for a query; None without a query, or if nothing can match."""
        condition = live_condition(where, self._rights_conditions)
        if query is None or condition is None or limit < 1:
            return None
        return SearchRequest(query, condition, limit, exact)

    def _hits(self, requests: Sequence[SearchRequest | None]) -> list[list[Hit]]:
        rows = self._search_points(requests, None)
        hits = [[Hit(payload_to_node(hit.payload), hit.score) for hit in row] for row in rows]
        return [sorted(row, key=lambda hit: (-hit.score, hit.node.id)) for row in hits]

    def search_candidates(self, searches: Sequence[CandidateSearch]) -> list[Candidates]:
        """Return the results of ``search`` and ``search_text`` as outlines and scores, for ranking.

        All searches are sent in one request. Whole nodes are read by id later.
        """
        queries = [
            query_vector(search.query)
            if isinstance(search.query, str)
            else normalize_queries(search.query[np.newaxis], self._identity)[0]
            for search in searches
        ]
        requests = [
            self._request(query, search.limit + search.only_rare, search.where)
            for query, search in zip(queries, searches, strict=True)
        ]
        answers = [
            [] if search.only_rare and len(row) > search.limit else row
            for row, search in zip(self._search_points(requests, ()), searches, strict=True)
        ]
        known = self._outlines_of({hit.id for row in answers for hit in row})
        return [
            Candidates.from_scored_outlines(
                (known[hit.id], hit.score) for hit in row if hit.id in known
            )
            for row in answers
        ]

    def _outlines_of(self, ids: Collection[str]) -> dict[str, Outline]:
        """Return the outlines of points by id, without those that were deleted meanwhile.

        A point never changes, so its outline is read only once.
        """
        known = {name: kept for name in ids if (kept := self._outlines.get(name))}
        if missing := sorted(set(ids) - known.keys()):
            with self._lock_while_open():
                records = self._engine.fetch(missing, OUTLINED)
            read = {record.id: Outline.from_payload(record.payload) for record in records}
            if len(self._outlines) > MAX_OUTLINES:
                self._outlines.clear()  # views for callers share it
            self._outlines.update(read)
            known |= read
        return known

    def _search_points(
        self, requests: Sequence[SearchRequest | None], fields: Fields
    ) -> list[list[ScoredPoint]]:
        """Return the best points of each request in any order; none for a request of None."""
        rows: list[list[ScoredPoint]] = [[] for _ in requests]
        searches = {row: request for row, request in enumerate(requests) if request is not None}
        if not searches:
            return rows
        with self._lock_while_open():
            answers = self._engine.search(list(searches.values()), fields)
        for row, hits in zip(searches, answers, strict=True):
            rows[row] = hits
        return rows

    def nodes(self, where: Where = EVERYWHERE) -> list[Node]:
        """Return live nodes by tree, layer, ``Node.document_order_key``."""
        records = self._points(live_condition(where, self._rights_conditions), None)
        nodes = [payload_to_node(record.payload) for record in records]
        return sorted(nodes, key=lambda n: (n.tree, n.layer, *n.document_order_key))

    def _points(
        self, condition: Condition | None, fields: Fields, *, dense: bool = False
    ) -> list[Point]:
        """Return the points that match; none if the condition is None."""
        if condition is None:
            return []
        with self._lock_while_open():
            return self._engine.scroll(condition, fields, dense=dense)

    def titles(self, trees: Sequence[str] | None = None) -> dict[str, str]:
        """Return the titles of documents that have one; None reads all trees."""
        leaves = Where(trees=None if trees is None else tuple(trees), layers=(0,))
        condition = live_condition(leaves, self._rights_conditions)
        records = self._points(condition, ("documents", "metadata"))
        titles = ((r.payload["documents"][0], r.payload["metadata"].get("title")) for r in records)
        return {document: str(title) for document, title in titles if title}

    def count(self, where: Where = EVERYWHERE) -> int:
        """Return the number of live nodes that match."""
        condition = live_condition(where, self._rights_conditions)
        if condition is None:
            return 0
        with self._lock_while_open():
            return self._engine.count(condition)

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Return live vectors of any tree by embedding key, without unknown keys."""
        field = "embedding_key"
        records = self._points_by_key(field, embedding_keys, (field,), dense=True)
        rows = [(record.payload[field], record.dense) for record in records]
        return {key: vector for key, vector in rows if vector is not None}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Return live summary texts of any tree by content key, without unknown keys."""
        fields = ("content_key", "layer", "text")
        records = [r.payload for r in self._points_by_key("content_key", content_keys, fields)]
        return {stored["content_key"]: stored["text"] for stored in records if stored.get("layer")}

    def _points_by_key(
        self, field: str, keys: Iterable[str], fields: Fields, *, dense: bool = False
    ) -> Iterator[Point]:
        distinct = _unique(keys)
        for at in range(0, len(distinct), READ_POINTS):
            keyed = (*self._rights_conditions, Match(field, distinct[at : at + READ_POINTS]))
            yield from self._points(live_condition(EVERYWHERE, keyed), fields, dense=dense)

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """Return the manifests of these trees, or of all, sorted by tree name."""
        return self._readable_manifests(self._manifest_points(trees, None))

    def _readable_manifests(self, records: Sequence[Point]) -> list[Manifest]:
        """Convert points to manifests, restricted to documents that the caller may read."""
        every = (payload_to_manifest(record.payload) for record in records)
        manifests = sorted(every, key=attrgetter("tree"))
        if self.readers is None:
            return manifests
        parts = [(manifest, manifest.restrict_to_readers(self.readers)) for manifest in manifests]
        return [
            part if part is manifest else self._with_readable_counts(part)
            for manifest, part in parts
            if part.documents
        ]

    def _with_readable_counts(self, part: Manifest) -> Manifest:
        """Return a manifest whose counts and tokens include only nodes that the caller may read."""
        condition = live_condition(Where(trees=(part.tree,)), self._rights_conditions)
        nodes = [r.payload for r in self._points(condition, ("layer", "n_tokens"))]
        sizes = Counter(node["layer"] for node in nodes)
        return replace(
            part,
            layer_sizes=tuple(sizes[layer] for layer in range(max(sizes, default=-1) + 1)),
            n_tokens=sum(node["n_tokens"] for node in nodes),
        )

    def short_manifests(self, trees: Sequence[str] | None = None) -> list[ShortManifest]:
        """Return short forms of these manifests, or of all, sorted by tree name; they cost less.

        They include all trees, whoever the caller is.
        """
        records = self._manifest_points(trees, ("mark",))
        return sorted(
            (payload_to_short_manifest(r.payload) for r in records), key=attrgetter("tree")
        )

    def _manifest_points(self, trees: Sequence[str] | None, fields: Fields) -> list[Point]:
        if trees is None:
            return self._points(Condition((MANIFEST,)), fields)
        match = Match("tree", _unique(map(to_nfc, trees)))
        return self._points(Condition((MANIFEST, match)), fields) if trees else []

    def manifests_with_content(self, contents: Sequence[str]) -> list[Manifest]:
        """Return the manifests with one of these ``Manifest.content_digest``, by tree name."""
        match = Match("content_key", _unique(contents))
        return self._readable_manifests(
            self._points(Condition((MANIFEST, match)), None) if contents else []
        )

    # -- publishing

    def stage(
        self, nodes: Sequence[Node], below: Iterable[Node], vectors: Mapping[str, Vectors]
    ) -> int:
        """Write nodes as staged points, before their trees are published.

        Existing points stay. The next publication of a tree deletes staged points that it does not
        use.

        Args:
            nodes: nodes of one layer.
            below: nodes of the layers below, from which the filter values are derived.
            vectors: vectors by embedding key.

        Returns:
            Number of points that were written.

        Raises:
            StoreError: a node cannot be stored, or its vector is not a unit vector.
        """
        filter_values = filter_values_by_node([*below, *nodes])
        points = {point_id(node, filter_values[node.id]): node for node in nodes}
        with self._lock_while_open():
            known = {record.id for record in self._engine.fetch(list(points), ())}
            new = {name: node for name, node in points.items() if name not in known}
            write_staged_points(self._engine, self._identity, new, filter_values, vectors)
        return len(new)

    @contextmanager
    def publish_together(self) -> Iterator[PublicationBatch]:
        """Publish and drop many trees in few commits; see ``publishing.py``.

        If the block raises an exception, uncommitted trees stay as they were.

        Raises:
            StoreError: a commit failed; raised at the end.
        """
        with self._lock_while_open():
            batch = PublicationBatch(self._engine, self._identity)
            yield batch
            batch.commit_pending()

    def publish(
        self,
        manifest: Manifest,
        nodes: Sequence[Node],
        vectors: Mapping[str, Vectors] = MappingProxyType({}),
    ) -> PublicationCounts:
        """Publish a tree and remove its old nodes; repeating it after a crash completes it.

        Raises:
            StoreError, StoreMismatchError: as ``PublicationBatch.publish``; nothing was changed.
        """
        with self.publish_together() as publishing:
            (published,) = publishing.publish([TreeEdition(manifest, nodes, vectors)])
        return published

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; return the number of live nodes."""
        with self.publish_together() as publishing:
            return publishing.drop([tree])

    # -- maintaining

    def optimize(self) -> None:
        """Build search indexes, and erase the bytes of deleted points; see ``Engine``."""
        with self._lock_while_open():
            self._engine.optimize()


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
