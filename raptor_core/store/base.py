"""Values that a store takes and returns; the rules of publishing are in ``store.py``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from raptor_core.documents.base import MetadataValue
from raptor_core.identity import digest
from raptor_core.nodes import Fit, Node
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """Corpus and embedder that a store was made for; it refuses any other.

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
    """Filter on live nodes; every field that is not None must match.

    ``trees``, ``documents`` and ``layers`` match any of their values (a summary matches a
    document that lies under it); ``ids`` are node ids; ``metadata`` matches equal values, or any
    of a tuple.
    """

    trees: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None
    layers: tuple[int, ...] | None = None
    ids: tuple[str, ...] | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """Node that a search returned.

    ``score`` is the cosine similarity, the lexical score, or a strategy's score; then ``why``
    has its parts by name ("dense", "lexical", "neighbours", "document", "paragraph", "reranker",
    or "coverage").
    Of a chunk that is shown in part, the node has the text and span of that part.
    """

    node: Node
    score: float
    why: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublicationCounts:
    """Numbers of nodes that one publication changed."""

    added: int
    updated: int
    unchanged: int
    removed: int

    @property
    def changed(self) -> bool:
        """Whether readers see a change."""
        return bool(self.added or self.updated or self.removed)


@dataclass(frozen=True, slots=True)
class Mark:
    """Short form of a manifest, to compare a published tree with its record."""

    tree: str
    build_id: str
    n_nodes: int
    quarantined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of one published tree.

    ``build_id`` is a digest of all nodes, and ``layer_sizes[k]`` the number of those in layer
    ``k``. ``documents`` maps document id to content hash. ``end`` says why the tree ended at its
    top layer. ``published_at`` is an ISO 8601 time in UTC, and no part of any identity. ``fits``
    are those of ``Tree``: the next rebuild anchors on them. ``quarantined`` are sorted ids of
    summaries that no search returns; they are listed and traced. ``title`` is that of the only
    document or the name of the only top node; empty where there are several.
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
        """Digest of its documents' content, whatever their names; see ``content_of``."""
        return content_of(self.documents.values())


def content_of(hashes: Iterable[str]) -> str:
    """Return the digest of the content hashes of a tree's documents, in any order."""
    return digest("documents", *sorted(hashes))


@dataclass(frozen=True, slots=True)
class Edition:
    """Tree to publish, with vectors by embedding key; those that are live may be left out."""

    manifest: Manifest
    nodes: Sequence[Node]
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
