"""What goes into a store and comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.documents.base import MetadataValue
from raptor_core.identity import digest
from raptor_core.nodes import Fit, Node
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """What a store was made for; it refuses any other.

    ``corpus`` names the collection's alias; the collection itself also carries the embedder.
    """

    corpus: str
    embedder_model: str
    embedder_fingerprint: str
    n_dims: int

    @property
    def embedder(self) -> str:
        """The embedder, for messages."""
        short = self.embedder_fingerprint[:8]
        return f"embedder {self.embedder_model} (fingerprint {short}, {self.n_dims} dimensions)"


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
