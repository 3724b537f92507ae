"""Interfaces of a store: to search, to publish, to maintain.

``VectorStore`` (``store.py``) has all three. A custom store needs the interface that its caller
names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from raptor_core.nodes import Node
from raptor_core.store.base import Hit, Manifest, Mark, PublicationCounts, StoreIdentity, Where
from raptor_core.store.outlines import Candidates
from raptor_core.store.publishing import PublicationBatch
from raptor_core.vectors import Vectors

Read = TypeVar("Read")


class Searcher(Protocol):
    """Interface for retrieval. Results are of live nodes, best first, ties by node id."""

    @property
    def identity(self) -> StoreIdentity:
        """What the store was made for."""

    def search(
        self, vectors: Vectors, limit: int, where: Where = ..., *, exact: bool = False
    ) -> list[list[Hit]]:
        """Return the nearest nodes by cosine to each row of shape ``(n_questions, n_dims)``.

        ``exact`` compares every vector, where an engine would look along a graph and may miss some.

        Raises:
            StoreMismatchError: the rows' length is not the store's.
        """

    def search_text(self, texts: Sequence[str], limit: int, where: Where = ...) -> list[list[Hit]]:
        """Return the best nodes for each text by BM25; none for a text without words."""

    def candidates(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        limit: int,
        where: Where | Sequence[Where] = ...,
    ) -> list[tuple[Candidates, Candidates]]:
        """Return what ``search`` and ``search_text`` would for each row and text, to be ranked.

        Candidates have outlines and scores; whole nodes are read by id. ``where`` is one filter
        for all, or one for each.
        """

    def nodes(self, where: Where = ...) -> list[Node]:
        """Return nodes by tree, layer, ``Node.order``."""

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """Return the manifests of these trees, or of all, by tree name."""

    def read_consistently(self, read: Callable[[Searcher], Read]) -> Read:
        """Return the result of ``read``, whose searcher returns one version of each tree.

        ``read`` is called again where a tree that it read was published meanwhile.
        """


class Publisher(Protocol):
    """Interface for builds and imports. Readers see each tree old or new, never mixed."""

    def marks(self) -> list[Mark]:
        """Return the short manifests by tree name; damaged nodes are not noticed."""

    def publishing(self) -> AbstractContextManager[PublicationBatch]:
        """Publish and drop many trees in few commits.

        A crash leaves all trees of a commit old or all new; on a server each tree. A block that
        ends with an exception leaves uncommitted trees as they were.

        Raises:
            StoreError: at the end, where a commit failed; the store is closed then.
        """

    def publish(
        self, manifest: Manifest, nodes: Sequence[Node], vectors: Mapping[str, Vectors] = ...
    ) -> PublicationCounts:
        """Publish a tree and remove its old nodes. Repeating it after a crash completes it.

        Raises:
            StoreError, StoreMismatchError: as ``PublicationBatch.publish``; nothing was changed.
        """

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; return the number of live nodes."""


class Maintainer(Protocol):
    """Interface for maintenance."""

    @property
    def live(self) -> bool:
        """Whether this is the live collection of its corpus."""

    def promote(self, trees: Collection[str]) -> bool:
        """Make this the live collection, once every tree of ``trees`` is published in it.

        The switch is one durable write. The other collections are removed after it, or after a
        crash by the next opening to write. Stores that are open on a removed collection of a
        server fail. On the live collection it does nothing.

        Returns:
            Whether this collection is live now; False while a tree is missing.
        """

    def mend(self) -> int:
        """Remove damaged nodes and manifests, so that the next build makes them again.

        All of them are read. A node is damaged if its digest differs, or its vector is missing or
        has another length; a manifest if it cannot be read.

        Returns:
            Number of points removed.
        """

    def optimize(self) -> None:
        """Build search indexes, where the engine does not do so by itself."""
