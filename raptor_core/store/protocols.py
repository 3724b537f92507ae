"""What others ask of a store: to search it, to publish in it, to keep it in order.

``VectorStore`` is all three. One of your own needs the part that its user names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from raptor_core.nodes import Node
from raptor_core.store.base import Hit, Manifest, Mark, Published, StoreIdentity, Where
from raptor_core.store.outlines import Candidates
from raptor_core.store.publishing import Publishing
from raptor_core.vectors import Vectors

Read = TypeVar("Read")


class Searcher(Protocol):
    """What retrieval asks of a store. Results are of live nodes, best first, ties by node id."""

    @property
    def identity(self) -> StoreIdentity:
        """What the store was made for."""

    def search(
        self, vectors: Vectors, limit: int, where: Where = ..., *, exact: bool = False
    ) -> list[list[Hit]]:
        """The nearest nodes to each row by cosine, shape ``(n_questions, n_dims)``.

        ``exact`` compares every vector, where an engine would look along a graph and may miss some.

        Raises:
            StoreMismatchError: the rows' length is not the store's.
        """

    def search_text(self, texts: Sequence[str], limit: int, where: Where = ...) -> list[list[Hit]]:
        """The best nodes for each text by BM25; a text without a word finds nothing."""

    def candidates(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        limit: int,
        where: Where | Sequence[Where] = ...,
    ) -> list[tuple[Candidates, Candidates]]:
        """What ``search`` and ``search_text`` find for each row and text, to be ranked.

        Outlines and scores alone; whole nodes are read by id. ``where`` is for all, or for each.
        """

    def nodes(self, where: Where = ...) -> list[Node]:
        """Nodes by tree, layer, ``Node.order``."""

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """What is published, by tree name; of these trees, or all."""

    def steady(self, read: Callable[[], Read]) -> Read:
        """What ``read`` gives that asks this store: all of it of one version of each tree.

        ``read`` may be called again, where a tree that it met was published meanwhile.
        """


class Publisher(Protocol):
    """What a build or an import asks of a store. Readers see each tree old or new, whole."""

    def marks(self) -> list[Mark]:
        """What is published, in short, by tree name; damage besides is not noticed."""

    def publishing(self) -> AbstractContextManager[Publishing]:
        """Publish and drop many trees at the price of a few, which are the commits.

        A crash leaves all trees of a commit as they were or all new (a server: each). A block that
        an exception ends leaves what was not committed as it was.

        Raises:
            StoreError: at the end, where a commit failed; the store is closed then.
        """

    def publish(
        self, manifest: Manifest, nodes: Sequence[Node], vectors: Mapping[str, Vectors] = ...
    ) -> Published:
        """Make these its tree; what else it had goes. Repeating it after a crash completes it.

        Raises:
            StoreError, StoreMismatchError: as ``Publishing.publish``; nothing was changed.
        """

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; number of live nodes removed."""


class Maintainer(Protocol):
    """What keeps a store in order."""

    @property
    def live(self) -> bool:
        """Whether this is the live collection of its corpus."""

    def promote(self, trees: Collection[str]) -> bool:
        """Make this the live collection, once every tree of ``trees`` is published in it.

        The switch is one durable write; the corpus's other collections are removed after it, if
        need be by whoever opens the corpus next to write. Stores that others hold open on a server
        fail once theirs is removed. On the live collection it does nothing.

        Returns:
            Whether this collection is live now; False while a tree is missing.
        """

    def mend(self) -> int:
        """Take away what is published and damaged, so that the next build makes it anew.

        Every live node and manifest is read: a node that is not what was written (its digest
        tells), that lost its vector or whose vector has another length goes, and so does a manifest
        that cannot be read. Number of points removed.
        """

    def optimize(self) -> None:
        """Build what makes search fast, where the engine does not do so by itself."""
