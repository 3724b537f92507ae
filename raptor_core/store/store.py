"""The store over any engine: the rules of publishing and forgetting.

- A store holds what is published; the work on trees that are not is in a cache
  (``raptor_core.tree.cache``).
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

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from raptor_core.nodes import Node
from raptor_core.store.base import Edition, Manifest, Published, StoreIdentity
from raptor_core.store.engines.base import Batch, Engine
from raptor_core.store.publishing import Publishing
from raptor_core.store.reader import StoreReader, damaged_points
from raptor_core.vectors import Vectors

Commit = Callable[[Batch], None]
"""Applies a batch so that a crash leaves all or nothing of it for the next reader."""


class VectorStore(StoreReader):
    """One open collection, made by ``open_store``. An embedded engine is locked while it is open.

    A corpus has one live collection, which readers open, and while its embedder changes another
    beside it (``open_store`` with ``beside``), which is built like any and promoted at the end.
    """

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
        """Whether this is the live collection of its corpus."""
        return self._promote is None

    def promote(self, trees: Collection[str]) -> bool:
        """Make this the live collection, once every tree of ``trees`` is published in it.

        The switch is one durable write; the corpus's other collections are removed after it, if
        need be by whoever opens the corpus next to write. Stores that others hold open on a server
        fail once theirs is removed. Allowed on the live collection, where it does nothing.

        Args:
            trees: what readers must go on finding: as a rule all trees of the source.

        Returns:
            Whether this collection is live now; False while a tree is missing.
        """
        with self._open():
            if self._promote is None:
                return True
            if not set(trees) <= {mark.tree for mark in self.marks()}:
                return False
            self._promote()
            self._promote = None
            return True

    @contextmanager
    def publishing(self) -> Iterator[Publishing]:
        """Publish and drop many trees at the price of a few, which are the commits.

        Readers see each tree old or new, whole. A crash leaves all trees of a commit as they were
        or all new. A block that an exception ends leaves what was not committed as it was.

        Raises:
            StoreError: at the end, where a commit failed; the store is closed then.
        """
        with self._open():
            begun = Publishing(self._engine, self.vectors, self._commit_whole, self._identity)
            yield begun
            begun.end()

    def publish(
        self,
        manifest: Manifest,
        nodes: Sequence[Node],
        vectors: Mapping[str, Vectors] = MappingProxyType({}),
    ) -> Published:
        """Make an edition of these its tree.

        Its nodes become live, every other point of the tree goes, and the manifest is written, so
        that a reader sees the old tree or the new one. Repeating it after a crash at any point
        completes it.

        Raises:
            StoreError, StoreMismatchError: as ``Publishing.publish``; nothing was changed.
        """
        with self.publishing() as publishing:
            (published,) = publishing.publish([Edition(manifest, nodes, vectors)])
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
        with self.publishing() as publishing:
            return publishing.drop([tree])

    def mend(self) -> int:
        """Take away what is published and damaged, so that the next build makes it anew.

        Every live node and manifest is read: a node that is not what was written (its digest
        tells), that lost its vector or whose vector has another length goes, and so does a manifest
        that cannot be read. Number of points removed.
        """
        with self._open():
            damaged = damaged_points(self._engine)
            if damaged:
                self._commit_whole(Batch(deletes=tuple(damaged)))
            return len(damaged)

    def optimize(self) -> None:
        """Build what makes search fast, where the engine does not do so by itself."""
        with self._open():
            self._engine.optimize()
