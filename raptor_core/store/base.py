"""The seam for vector stores: publish, look up, delete, read.

A store holds what is published; the work on trees that are not is in a cache
(``raptor_core.tree.cache``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from raptor_core.documents.base import MetadataValue
from raptor_core.nodes import Node
from raptor_core.store.manifest import Manifest, Mark, content_of
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from raptor_core.store.outlines import Found

Read = TypeVar("Read")

__all__ = [
    "Edition",
    "Hit",
    "Manifest",
    "Mark",
    "Published",
    "Publishing",
    "StoreIdentity",
    "VectorStore",
    "Where",
    "content_of",
]


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """What a store was made for; it refuses any other.

    ``corpus`` names the collection's alias; the collection itself also carries the embedder.
    """

    corpus: str
    embedder_model: str
    embedder_fingerprint: str
    n_dims: int


@dataclass(frozen=True, slots=True)
class Where:
    """A filter on live nodes; every field that is given must match.

    ``trees``, ``documents`` and ``layers`` match any of their values (a summary matches a
    document that lies under it); ``ids`` are node ids; ``metadata`` matches equal values, or any
    of a tuple.
    """

    trees: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None
    layers: tuple[int, ...] | None = None
    ids: tuple[str, ...] | None = None
    metadata: Mapping[str, MetadataValue | tuple[MetadataValue, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that a search found. ``score``: cosine similarity, or the lexical score."""

    node: Node
    score: float


@dataclass(frozen=True, slots=True)
class Published:
    """What one publication changed, in nodes."""

    added: int
    updated: int
    unchanged: int
    removed: int

    @property
    def changed(self) -> bool:
        """Whether readers see anything new."""
        return bool(self.added or self.updated or self.removed)


@dataclass(frozen=True, slots=True)
class Edition:
    """A tree as it is to be published: its manifest, all its nodes, vectors by embedding key.

    A vector that is live already, of any tree, need not be among them.
    """

    manifest: Manifest
    nodes: Sequence[Node]
    vectors: Mapping[str, Vectors] = field(default_factory=dict)


class Publishing(Protocol):
    """What becomes live together: as many trees as a commit holds, and the last where it ends."""

    def publish(self, editions: Sequence[Edition]) -> list[Published]:
        """Make each edition its tree, as ``VectorStore.publish`` does; what each will change.

        Trees of one call, and of several, become live at once as long as they fit one commit, so
        nothing is sure before the end.

        Raises:
            StoreError: a node's vector is neither given nor live, or is no unit vector, which is
                told of the tree; the call's trees stay as they were, but for those of a commit
                that was full. Or a commit failed, which the end raises again.
            StoreMismatchError: a vector's length is not the store's.
        """

    def drop(self, trees: Collection[str]) -> int:
        """Remove trees as ``VectorStore.drop`` does; number of live nodes that go."""


class VectorStore(Protocol):
    """One open collection. A context manager: an embedded engine is locked while it is open.

    A corpus has one live collection, which readers open, and while its embedder changes another
    beside it (``open_store`` with ``beside``), which is built like any and promoted at the end.
    """

    @property
    def identity(self) -> StoreIdentity:
        """What the store was made for."""

    @property
    def live(self) -> bool:
        """Whether this is the live collection of its corpus."""

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

    def vectors(self, embedding_keys: Iterable[str]) -> dict[str, Vectors]:
        """Live vectors by embedding key, of any tree; unknown keys left out."""

    def texts(self, content_keys: Iterable[str]) -> dict[str, str]:
        """Live summary texts by content key, of any tree; unknown keys left out."""

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

    def drop(self, tree: str) -> int:
        """Remove a tree with all its points and its manifest; number of live nodes removed."""

    def publishing(self) -> AbstractContextManager[Publishing]:
        """Publish and drop many trees at the price of a few, which are the commits.

        Readers see each tree old or new, whole. A crash leaves all trees of a commit as they were
        or all new. A block that an exception ends leaves what was not committed as it was.

        Raises:
            StoreError: at the end, where a commit failed; the store is closed then.
        """

    def mend(self) -> int:
        """Take away what is published and damaged, so that the next build makes it anew.

        Every live node and manifest is read: a node that is not what was written (its digest
        tells), that lost its vector, whose vector is not what it was or whose stored words are not
        those of its text goes, and so does a manifest that cannot be read. Number of points
        removed.
        """

    def manifests(self, trees: Sequence[str] | None = None) -> list[Manifest]:
        """What is published, by tree name; of these trees, or all."""

    def marks(self) -> list[Mark]:
        """What is published, in short, by tree name; a quarter of the work of ``manifests``.

        A manifest that is damaged besides is not noticed.
        """

    def manifests_of(self, contents: Sequence[str]) -> list[Manifest]:
        """What is published with one of these contents (``Manifest.content``), by tree name."""

    def search(
        self, vectors: Vectors, limit: int, where: Where = Where(), *, exact: bool = False
    ) -> list[list[Hit]]:
        """Nearest live nodes to each row of ``vectors`` by cosine, best first.

        Ties are broken by node id. ``exact`` compares every vector, where an engine would look
        along a graph and may miss some.
        """

    def search_text(
        self, texts: Sequence[str], limit: int, where: Where = Where()
    ) -> list[list[Hit]]:
        """Best live nodes for each text by lexical score (BM25 weights, IDF of the corpus)."""

    def candidates(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        limit: int,
        where: Where | Sequence[Where] = Where(),
    ) -> list[tuple[Found, Found]]:
        """What ``search`` and ``search_text`` find for each row and text, to be ranked.

        Outlines and scores alone: the nodes of those that are returned are read by id. ``where``
        is one filter for all, or one for each row.
        """

    def steady(self, read: Callable[[], Read]) -> Read:
        """What ``read`` gives that asks this store: all of it of one version of each tree.

        ``read`` may be called again, where a tree that it met was published meanwhile.
        """

    def nodes(self, where: Where = Where()) -> list[Node]:
        """Live nodes, ordered by tree, layer, ``Node.order``."""

    def count(self, where: Where = Where()) -> int:
        """Number of live nodes."""

    def point_ids(self, tree: str) -> list[str]:
        """Ids of the tree's live points, sorted: what an audit compares."""

    def optimize(self) -> None:
        """Build what makes search fast, where the engine does not do so by itself."""

    def close(self) -> None:
        """Release the engine and its lock; closing twice is allowed."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
