"""The store over any engine: the rules of publishing and forgetting.

- Publishing is one batch of one tree or many (``publishing.py``) that is committed whole: through
  the journal on embedded engines (``journal.py``), through versions on a server
  (``versions.py``), there each tree by itself. Unchanged points are not written again.
- A commit that fails closes the store: opening it again completes what was begun.
- Forgetting: after ``publish`` and ``drop`` no point holds removed text, and no search, lookup or
  listing returns it. Published bytes may stay in the engine's files for a while: Edge rewrites in
  ``optimize()`` every segment of which a fifth is deleted; local mode's SQLite reuses freed pages;
  a server vacuums on its own. To erase bytes at once, build into an empty home.
- One store object may be shared by threads. On embedded engines its calls take turns.

Reading is in ``reader.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Manifest, Published, StoreIdentity
from raptor_core.store.damage import CHECK, sound_vector, whole_node
from raptor_core.store.engine import Batch, Condition, Engine, Match, Record
from raptor_core.store.mending import damaged_points
from raptor_core.store.publishing import Publisher
from raptor_core.store.reader import StoreReader
from raptor_core.vectors import Vectors

LOOKUP_KEYS = 1000
"""Keys per lookup; a longer filter gains nothing."""

Commit = Callable[[Batch], None]
"""Applies a batch so that a crash leaves all or nothing of it for the next reader."""


class QdrantStore(StoreReader):
    """A VectorStore. Made by ``open_store``."""

    def __init__(
        self,
        engine: Engine,
        identity: StoreIdentity,
        commit: Commit,
        release: Callable[[], None],
        promote: Callable[[], None] | None = None,
        **reading: Any,
    ) -> None:
        """``promote`` makes the collection the live one; None where it is.

        ``reading`` is for ``StoreReader``.
        """
        super().__init__(engine, identity, release, **reading)
        self._commit = commit
        self._promote = promote

    @property
    def live(self) -> bool:
        """Whether readers of the corpus see this collection."""
        return self._promote is None

    def promote(self, trees: Collection[str]) -> bool:
        """Make this the live collection once it has all ``trees``; see ``VectorStore.promote``."""
        with self._open():
            if self._promote is None:
                return True
            if not set(trees) <= {mark.tree for mark in self.marks()}:
                return False
            self._promote()
            self._promote = None
            return True

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Live vectors by embedding key, of any tree; unknown keys left out.

        One that was damaged on disk counts as unknown.
        """
        fields = ("embedding_key", CHECK)
        records = self._lookup("embedding_key", embedding_keys, fields, dense=True)
        return {
            record.payload["embedding_key"]: vector
            for record in records
            if (vector := sound_vector(record)) is not None
        }

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Live summary texts by content key, of any tree.

        One that was damaged on disk counts as unknown.
        """
        records = self._lookup("content_key", content_keys, None, dense=False)
        nodes = [node for record in records if (node := whole_node(record))]
        return {node.content_key: node.text for node in nodes if node.layer}

    def _lookup(
        self, field: str, keys: Iterable[str], fields: Sequence[str] | None, *, dense: bool
    ) -> list[Record]:
        distinct = tuple(dict.fromkeys(keys))
        found: list[Record] = []
        with self._open():
            for at in range(0, len(distinct), LOOKUP_KEYS):
                match = Match(field, distinct[at : at + LOOKUP_KEYS])
                found += self._engine.scroll(Condition((match,)), fields, dense=dense)
        return found

    @contextmanager
    def publishing(self) -> Iterator[Publisher]:
        """Publish and drop trees, many in one commit; see ``VectorStore.publishing``."""
        with self._open():
            publisher = Publisher(self._engine, self.vectors, self._commit_whole, self._identity)
            yield publisher
            publisher.end()

    def publish(
        self,
        manifest: Manifest,
        nodes: Sequence[Node],
        vectors: Mapping[str, Vectors] = MappingProxyType({}),
    ) -> Published:
        """Make ``nodes`` the tree; see ``VectorStore.publish``."""
        with self.publishing() as publisher:
            (published,) = publisher.publish([Edition(manifest, nodes, vectors)])
        return published

    def _commit_whole(self, batch: Batch) -> None:
        # A failed commit may be half applied here; the next opening completes it before reading.
        try:
            self._commit(batch)
        except BaseException:
            self.close()
            raise

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; number of live nodes removed."""
        with self.publishing() as publisher:
            return publisher.drop([tree])

    def mend(self) -> int:
        """Take away damaged points; see ``VectorStore.mend``."""
        with self._open():
            damaged = damaged_points(self._engine)
            if damaged:
                self._commit_whole(Batch(deletes=tuple(damaged)))
            return len(damaged)

    def optimize(self) -> None:
        """Build what makes search fast, where the engine does not do so by itself."""
        with self._open():
            self._engine.optimize()
