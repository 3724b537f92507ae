"""What goes into a store and comes out, and what callers ask of it.

A caller names the part that it needs: ``Searcher``, ``Publisher`` or ``Maintainer``. A
``VectorStore`` is all three; whoever has a store of another kind brings the part that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from raptor_core.documents.base import MetadataValue
from raptor_core.identity import digest
from raptor_core.nodes import Fit, Node
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from raptor_core.store.outlines import Candidates
    from raptor_core.store.publishing import Publishing


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
    """A node that a search found.

    ``score``: cosine similarity, the lexical score, or what a strategy makes of both; then ``why``
    has its parts by name ("dense", "lexical", "neighbours", "document", "paragraph", "reranker").
    Of a chunk that is not shown whole, the node has the text and span of what is.
    """

    node: Node
    score: float
    why: Mapping[str, float] = field(default_factory=dict)


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
class Mark:
    """A manifest in short: whether a tree is the one that was recorded, with all its nodes.

    ``build_id`` and ``quarantined`` are the manifest's; ``n_nodes`` counts those of all layers.
    """

    tree: str
    build_id: str
    n_nodes: int
    quarantined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is published under one tree name.

    ``build_id`` is a digest of all nodes: the same content has the same build id.
    ``layer_sizes[k]`` is the number of nodes in layer ``k``. ``documents`` maps document id to
    content hash. ``end`` says why the tree ended at its top layer.
    ``published_at`` is an ISO 8601 time in UTC; it is no part of any identity. ``fits`` are those
    of ``Tree``: the next rebuild anchors on them. ``quarantined`` are ids of summaries that no
    search finds, sorted: they are listed and traced like any. ``title`` is that of its only
    document, for people, or what its only top node is called; empty where it has several.
    """

    tree: str
    build_id: str
    layer_sizes: tuple[int, ...]
    n_tokens: int
    documents: Mapping[str, str]
    end: str
    settings_fingerprint: str
    published_at: str
    fits: tuple[Fit, ...] = ()
    quarantined: tuple[str, ...] = ()
    title: str = ""

    @property
    def mark(self) -> Mark:
        """The manifest in short."""
        return Mark(self.tree, self.build_id, sum(self.layer_sizes), self.quarantined)

    @property
    def content(self) -> str:
        """What its documents say, under whatever names; see ``content_of``."""
        return content_of(self.documents.values())


def content_of(hashes: Iterable[str]) -> str:
    """Digest of the content hashes of a tree's documents, in any order."""
    return digest("documents", *sorted(hashes))


@dataclass(frozen=True, slots=True)
class Edition:
    """A tree as it is to be published: its manifest, all its nodes, vectors by embedding key.

    A vector that is live already, of any tree, need not be among them.
    """

    manifest: Manifest
    nodes: Sequence[Node]
    vectors: Mapping[str, Vectors] = field(default_factory=dict)


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
