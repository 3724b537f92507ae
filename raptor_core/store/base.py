"""Values that a store takes and returns; the rules of publication are in ``store.py``."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from raptor_core.documents.base import EVERYONE, PublishedDocument
from raptor_core.errors import SettingsError
from raptor_core.identity import digest, to_nfc
from raptor_core.nodes import ClusterFit, Node
from raptor_core.vectors import Vectors
from raptor_formats.base import MetadataScalar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """Corpus and embedder that a store was made for; the store rejects any other.

    ``corpus`` is the name of the collection. ``probe`` is the beginning of the embedder's vector of
    a fixed text; empty if it is not compared.
    """

    corpus: str
    embedder_model: str
    embedder_fingerprint: str
    n_dims: int
    probe: tuple[float, ...] = field(default=(), compare=False)

    @property
    def embedder_label(self) -> str:
        """The embedder, for messages."""
        short = self.embedder_fingerprint[:8]
        return f"embedder {self.embedder_model} (fingerprint {short}, {self.n_dims} dimensions)"


BOUNDS = ("gt", "gte", "lt", "lte")
"""Names of the bounds of a range: over, at least, under, at most."""

Bounds = Mapping[str, str | int | float]
"""Range of numbers or ISO 8601 dates; without bounds it matches any value."""

MetadataFilter = Mapping[str, MetadataScalar | Sequence[MetadataScalar] | Bounds]
"""Accepted values by key: one value, several of which one must match, or a range."""


@dataclass(frozen=True, slots=True)
class Where:
    """Filter on live nodes. Each field that is not None must match; an empty one matches nothing.

    A summary matches ``documents``, ``folders``, ``metadata`` and ``readers`` only if every chunk
    below it does, so a summary of several documents matches none of them. ``exclude`` excludes a
    node if any of its chunks matches any of its fields.

    Attributes:
        trees: names of trees.
        documents: ids of documents.
        folders: folders of documents, such as "policies/", including their subfolders.
        layers: layers; 0 holds the chunks.
        ids: ids of nodes.
        metadata: values by key: a value, a list of values, or a range such as
            ``{"gte": "2024-01-01", "lt": "2025-01-01"}`` of numbers or ISO 8601 dates.
        covers: documents of which at least one chunk is below the node.
        readers: users and groups, of whom one must be allowed to read every document below a node;
            nodes that everyone may read match, too.
        exclude: filter for what to exclude; its own ``exclude`` and ``readers`` must be None.

    Raises:
        SettingsError: a field has a value of another type.
    """

    trees: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None
    folders: tuple[str, ...] | None = None
    layers: tuple[int, ...] | None = None
    ids: tuple[str, ...] | None = None
    metadata: MetadataFilter = field(default_factory=dict)
    covers: tuple[str, ...] | None = None
    readers: tuple[str, ...] | None = None
    exclude: "Where | None" = None

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, _normalize_names(_to_tuple(name, getattr(self, name))))
        if not isinstance(self.metadata, Mapping):
            raise SettingsError(f"where.metadata: expected values by key, got {self.metadata!r}")
        for key, accepted in self.metadata.items():
            _check_filter_value(key, accepted)
        if self.exclude is not None and self.exclude.exclude is not None:
            raise SettingsError("where.exclude has an exclude of its own; leave that out")
        if self.exclude is not None and self.exclude.readers is not None:
            raise SettingsError(
                "where.exclude has readers; set them in where.readers, because access is granted, "
                "never derived by exclusion"
            )

    @property
    def conditions(self) -> dict[str, Any]:
        """The fields that filter, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, {})}

    @property
    def is_selective(self) -> bool:
        """Whether the filter may match only some nodes of a tree."""
        return bool(self.conditions.keys() - {"trees"})

    def narrow(
        self,
        *,
        trees: Sequence[str] | None = None,
        layers: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        covers: Sequence[str] | None = None,
        readers: Sequence[str] | None = None,
    ) -> Self:
        """Return the filter restricted further to these values; None adds no restriction.

        For readers it keeps those in both lists, and everyone.
        """
        added = {"trees": trees, "layers": layers, "ids": ids, "covers": covers}
        changes: dict[str, Any] = {
            name: _intersection(getattr(self, name), values)
            for name, values in added.items()
            if values is not None
        }
        if readers is not None:
            changes["readers"] = shared_readers(self.readers, readers)
        return replace(self, **changes) if changes else self


_LISTS = tuple(f.name for f in fields(Where) if f.name not in {"metadata", "exclude"})


def _intersection(known: Sequence[Any] | None, added: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(added) if known is None else tuple(sorted(set(known).intersection(added)))


def shared_readers(known: Sequence[str] | None, added: Sequence[str]) -> tuple[str, ...]:
    """Return the readers in both lists, and everyone; all added ones if ``known`` is None."""
    if known is None or not added:
        return tuple(added)
    return tuple(sorted({EVERYONE, *set(known).intersection(added)})) if known else ()


def _to_tuple(name: str, values: Any) -> tuple[Any, ...] | None:
    if values is None or isinstance(values, tuple):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise SettingsError(f"where.{name}: expected a list, got {values!r:.80}")
    return tuple(values)


def _normalize_names(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Normalize names as those of documents and trees are; see ``composed``."""
    if values is None:
        return None
    return tuple(to_nfc(value) if isinstance(value, str) else value for value in values)


def check_reader_names(readers: Sequence[str]) -> tuple[str, ...]:
    """Return users and groups as a tuple; raise SettingsError if they are not a list of names."""
    names = _to_tuple("readers", readers) or ()
    if not all(isinstance(name, str) and name for name in names):
        raise SettingsError(f"expected a list of names as readers, got {names!r:.80}")
    return tuple(map(to_nfc, names))


def _check_filter_value(key: str, accepted: Any) -> None:
    """Raise SettingsError unless ``accepted`` is a value, a list of values, or a range."""
    if isinstance(accepted, Mapping):
        if unknown := sorted(set(accepted) - set(BOUNDS)):
            raise SettingsError(
                f"where.metadata {key!r}: expected bounds among {', '.join(BOUNDS)}, got "
                f"{', '.join(map(str, unknown))}"
            )
        return
    values = accepted if isinstance(accepted, tuple | list) else (accepted,)
    for value in values:
        if not isinstance(value, str | int | float):
            raise SettingsError(
                f"where.metadata {key!r}: expected a text, a number, a boolean, a list of "
                f"these, or a range such as {{'gte': 2020}}, got {value!r:.80}"
            )


@dataclass(frozen=True, slots=True)
class Hit:
    """Node that a search returned.

    ``score`` is the cosine similarity, the BM25 score, or a strategy's score. For a strategy,
    ``why`` names its parts ("dense", "lexical", "neighbours", "document", "hop", "named",
    "paragraph", or "coverage"). If only a part of a chunk is shown, the node has the text and span
    of that part.
    """

    node: Node
    score: float
    why: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublicationCounts:
    """Numbers of nodes that a publication changed.

    ``readers`` counts live nodes of which only the readers change. ``new_ids`` are the sorted ids
    of the added nodes.
    """

    added: int
    updated: int
    unchanged: int
    removed: int
    readers: int = 0
    new_ids: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def has_changes(self) -> bool:
        """Whether searches see a difference."""
        return bool(self.added or self.updated or self.removed or self.readers)


@dataclass(frozen=True, slots=True)
class ShortManifest:
    """Short form of a manifest, to compare a published tree with its source; see ``Manifest``.

    ``readers`` is the digest of the documents' readers.
    """

    tree: str
    build_id: str
    inputs: str = ""
    is_refused: bool = False
    pin: str = ""
    readers: str = ""


def readers_digest(readers: Mapping[str, Sequence[str]]) -> str:
    """Return a digest of readers by document, 32 hexadecimal characters; "" for none."""
    lines = (digest(name, *names) for name, names in sorted(readers.items()))
    return digest("readers", *lines) if readers else ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of one published tree.

    ``build_id`` is a digest of all nodes, and ``layer_sizes[k]`` the number of nodes in layer
    ``k``. ``documents`` maps document ids to content hashes. ``end`` says why the tree ended at its
    top layer. ``published_at`` is an ISO 8601 time in UTC and not part of any identity. ``fits``
    are those of ``Tree``, on which the next rebuild anchors its clusters. ``title`` is that of the
    only document or the name of the only top node; empty if there are several. ``sources`` lists
    only documents whose source differs from their id, ``readers`` only documents that have some.

    ``inputs`` is the digest of everything that the build of its partition depended on: the tree is
    up to date as long as the source gives the same digest. It is empty for a tree that was
    published by hand or by an import. ``is_refused`` is set if a model refused one of its
    summaries. ``pin`` says who pinned the tree to this build and why; builds leave it unchanged
    until it is released.
    """

    tree: str
    build_id: str
    layer_sizes: tuple[int, ...]
    n_tokens: int
    documents: Mapping[str, str]
    end: str
    settings_fingerprint: str
    published_at: str
    fits: tuple[ClusterFit, ...] = ()
    title: str = ""
    inputs: str = ""
    is_refused: bool = False
    pin: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def short_form(self) -> ShortManifest:
        """The short form of the manifest."""
        readers = readers_digest(self.readers)
        return ShortManifest(
            self.tree, self.build_id, self.inputs, self.is_refused, self.pin, readers
        )

    def restrict_to_readers(self, readers: Collection[str]) -> Self:
        """Return the manifest restricted to documents that one of these readers may read.

        A restricted manifest has no build id, title or ``end``, which may count nodes of the
        whole tree; its own counts still include the whole tree.
        """
        known = {*readers, EVERYONE} if readers else set()
        readable = {name for name, names in self.readers.items() if not known.isdisjoint(names)}
        if readable.issuperset(self.documents):
            return self
        return replace(
            self,
            build_id="",
            documents=_select_names(self.documents, readable),
            sources=_select_names(self.sources, readable),
            readers=_select_names(self.readers, readable),
            end="",
            fits=(),
            title="",
            inputs="",
            pin="",
        )

    @property
    def published_documents(self) -> list[PublishedDocument]:
        """The documents with their sources."""
        sources = self.sources
        return [PublishedDocument(d, h, sources.get(d, d)) for d, h in self.documents.items()]

    @property
    def content_digest(self) -> str:
        """Digest of its documents without their names; see ``digest_contents``."""
        return digest_contents(self.documents.values())


def _select_names(values: Mapping[str, Value], names: Collection[str]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name in names}


def digest_contents(hashes: Iterable[str]) -> str:
    """Digest the content hashes of a tree's documents, in any order."""
    return digest("documents", *sorted(hashes))


@dataclass(frozen=True, slots=True)
class TreeEdition:
    """Tree to publish, with vectors by embedding key; those already stored may be omitted."""

    manifest: Manifest
    nodes: Sequence[Node]
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
