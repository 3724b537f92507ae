"""The store over any engine: the rules of staging, publishing and forgetting.

- A live point has its node's id. A staged point has an id of its own (``staged_id``) and no
  lexical vector, so staging changes neither a reader's nodes nor its lexical scores.
- Publishing is one batch that is committed whole: through the journal on embedded engines
  (``journal.py``), in one request on a server. Unchanged points are not written again.
- A commit that fails closes the store: opening it again completes what was begun.
- Forgetting: after ``publish`` and ``drop`` no point, staged or live, holds removed text, and no
  search, lookup or listing returns it. Its bytes may stay in the engine's files for a while: Edge
  rewrites in ``optimize()`` every segment of which a fifth is deleted; local mode's SQLite reuses
  freed pages; a server vacuums on its own. To erase bytes at once, build into an empty home.
- One store object may be shared by threads; its calls take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from types import TracebackType
from typing import Self

from raptor_core.embedding.base import Vectors
from raptor_core.errors import StoreError
from raptor_core.store.base import Hit, Manifest, Published, StoreIdentity, Where
from raptor_core.store.conditions import (
    EVERYWHERE,
    MANIFEST,
    live_condition,
    tree_condition,
)
from raptor_core.store.engine import Batch, Condition, Engine, Match, Record
from raptor_core.store.lexical import query_vector
from raptor_core.store.payload import manifest_id, payload_to_manifest, payload_to_node, staged_id
from raptor_core.store.publication import (
    STATE_FIELDS,
    check_vectors,
    plan_publication,
    plan_staging,
    publication_batch,
    staging_batch,
)
from raptor_core.store.ranking import query_units, ranked
from raptor_core.tree.values import Node

STAGE_POINTS = 1000
"""Points per write while staging, which needs no atomicity."""

LOOKUP_KEYS = 1000
"""Keys per lookup; a longer filter gains nothing."""

Commit = Callable[[Batch], None]
"""Applies a batch so that a crash leaves all or nothing of it for the next reader."""


class QdrantStore:
    """A VectorStore. Made by ``open_store``."""

    def __init__(
        self, engine: Engine, identity: StoreIdentity, commit: Commit, release: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._identity = identity
        self._commit = commit
        self._release = release
        self._turn = RLock()
        self._closed = False

    @property
    def identity(self) -> StoreIdentity:
        """What the store was made for."""
        return self._identity

    def stage(self, nodes: Sequence[Node], vectors: Vectors | None) -> None:
        """Store nodes of unpublished work; see ``VectorStore.stage``.

        Nodes that are already stored as they are, staged or live, are not written again; a
        vector that came earlier is kept when ``vectors`` is None.
        """
        with self._open():
            if vectors is not None:
                check_vectors(nodes, vectors, self._identity)
            for at in range(0, len(nodes), STAGE_POINTS):
                rows = slice(at, at + STAGE_POINTS)
                self._stage_part(nodes[rows], None if vectors is None else vectors[rows])

    def _stage_part(self, nodes: Sequence[Node], vectors: Vectors | None) -> None:
        ids = [point_id for node in nodes for point_id in (node.id, staged_id(node))]
        known = {r.id: r for r in self._engine.fetch(ids, STATE_FIELDS, dense=False)}
        planned = plan_staging(nodes, known, with_vectors=vectors is not None)
        if not planned:
            return
        had = [s.id for s in planned if s.id in known and known[s.id].payload["embedded"]]
        records = self._engine.fetch(had, ("embedding_key",), dense=True) if had else []
        kept = {r.id: r.dense for r in records if r.dense is not None}
        self._engine.apply(staging_batch(planned, vectors, kept))
        self._engine.flush()

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Known vectors by embedding key, staged or live, of any tree; unknown keys left out."""
        records = self._lookup("embedding_key", embedding_keys, ("embedding_key",), dense=True)
        return {r.payload["embedding_key"]: r.dense for r in records if r.dense is not None}

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Known summary texts by content key, staged or live, of any tree."""
        fields = ("content_key", "text", "layer")
        records = self._lookup("content_key", content_keys, fields, dense=False)
        return {r.payload["content_key"]: r.payload["text"] for r in records if r.payload["layer"]}

    def _lookup(
        self, field: str, keys: Iterable[str], fields: Sequence[str], *, dense: bool
    ) -> list[Record]:
        distinct = tuple(dict.fromkeys(keys))
        found: list[Record] = []
        with self._open():
            for at in range(0, len(distinct), LOOKUP_KEYS):
                match = Match(field, distinct[at : at + LOOKUP_KEYS])
                found += self._engine.scroll(Condition((match,)), fields, dense=dense)
        return found

    def publish(self, manifest: Manifest, nodes: Sequence[Node]) -> Published:
        """Make ``nodes`` the tree; see ``VectorStore.publish``."""
        with self._open():
            stored = self._engine.scroll(tree_condition(manifest.tree), STATE_FIELDS)
            publication = plan_publication(manifest, nodes, stored)
            vectors = self.vectors(node.embedding_key for node, _ in publication.changed)
            self._commit_whole(publication_batch(manifest, publication, vectors))
            return publication.result

    def _commit_whole(self, batch: Batch) -> None:
        # A failed commit may be half applied here; the next opening completes it before reading.
        try:
            self._commit(batch)
        except BaseException:
            self.close()
            raise

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; number of live nodes removed."""
        with self._open():
            stored = self._engine.scroll(tree_condition(tree), ("state",))
            held = self._engine.fetch([manifest_id(tree)], ("tree",), dense=False)
            if stored or held:
                self._commit_whole(Batch(deletes=tuple(sorted(r.id for r in (*stored, *held)))))
            return sum(r.payload["state"] == "live" for r in stored)

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """What is published, by tree name; of these trees, or all."""
        matches = (MANIFEST,) if trees is None else (MANIFEST, Match("tree", tuple(trees)))
        if trees is not None and not trees:
            return []
        with self._open():
            records = self._engine.scroll(Condition(matches), None)
        return sorted((payload_to_manifest(r.payload) for r in records), key=lambda m: m.tree)

    def search(self, vectors: Vectors, limit: int, where: Where = EVERYWHERE) -> list[list[Hit]]:
        """Nearest live nodes to each row of ``vectors`` by cosine, best first.

        Raises:
            StoreMismatchError: the rows' length is not the store's.
        """
        units = query_units(vectors, self._identity)
        condition = live_condition(where)
        if condition is None or limit < 1 or not len(units):
            return [[] for _ in units]
        with self._open():
            return ranked(lambda n: self._engine.search(units, n, condition), limit)

    def search_text(
        self, texts: Sequence[str], limit: int, where: Where = EVERYWHERE
    ) -> list[list[Hit]]:
        """Best live nodes for each text by lexical score (BM25 weights, IDF of the corpus).

        A text without a word finds nothing.
        """
        hits: list[list[Hit]] = [[] for _ in texts]
        condition = live_condition(where)
        queries = {row: q for row, text in enumerate(texts) if (q := query_vector(text))}
        if condition is None or limit < 1 or not queries:
            return hits
        sparse = list(queries.values())
        with self._open():
            found = ranked(lambda n: self._engine.search_lexical(sparse, n, condition), limit)
        for row, row_hits in zip(queries, found, strict=True):
            hits[row] = row_hits
        return hits

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

    def point_ids(self, tree: str) -> tuple[list[str], list[str]]:
        """Ids of the tree's live and of its staged points, sorted: what an audit compares."""
        with self._open():
            records = self._engine.scroll(tree_condition(tree), ("state",))
        live = sorted(r.id for r in records if r.payload["state"] == "live")
        return live, sorted(r.id for r in records if r.payload["state"] == "staged")

    def optimize(self) -> None:
        """Build what makes search fast, where the engine does not do so by itself."""
        with self._open():
            self._engine.optimize()

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
