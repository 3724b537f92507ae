"""Nodes, layers and trees, as frozen values.

Ids and keys are computed in ``raptor_core.identity``, trees are built in ``raptor_core.tree``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from raptor_core.documents.base import CHUNK_ID
from raptor_core.vectors import Vectors
from raptor_formats.base import MetadataValue

TOP_NODE = "raptor_node"
"""Metadata key of a leaf of the corpus tree: id of the top node that the leaf copies."""


@dataclass(frozen=True, slots=True)
class Node:
    """Node of a tree: a leaf (layer 0) or a summary.

    Attributes:
        id: UUIDv5, see ``raptor_core.identity``.
        tree: name of the tree.
        layer: 0 for leaves.
        content_key: see ``raptor_core.identity``.
        text: the chunk, or the summary.
        n_tokens: tokens of ``text``.
        position: order in its document; a summary has the position of its first child.
        documents: ids of the documents under this node, sorted.
        children: ids of the nodes one layer below that it summarizes, in document order.
        fingerprint: fingerprint of the chunking (leaf) or of the summarizer (summary).
        embedding_key: key of its vector; it depends on ``embedding_text`` and the embedder.
        start: leaf only, first character in the document; -1 for a summary.
        end: leaf only, character after the last one; -1 for a summary.
        section: leaf only, path of headings.
        source: leaf only, path or URL of the document.
        context: leaf only, lines that the embedder reads above the text; not in the span. The first
            has title and headings, the second the columns of a table that began above the span.
        metadata: metadata of the document; for a summary, the entries that all children share.
        quality: quality figures of the node by name, for example ``compression_ratio``.
        slot: summary only, identity of its cluster; it stays when members and text change.
        name: summary only, its topic in a few words; see ``raptor_core.tree.naming``.
        key_terms: summary only, its key terms, best first.
        paragraphs: leaf only, its parts of paragraphs: first character of the paragraph in the
            document, and tokens of the part, those of ``table`` included. A heading belongs to
            the paragraph below it.
    """

    id: str
    tree: str
    layer: int
    content_key: str
    text: str
    n_tokens: int
    position: int
    documents: tuple[str, ...]
    children: tuple[str, ...]
    fingerprint: str
    embedding_key: str
    start: int = -1
    end: int = -1
    section: tuple[str, ...] = ()
    source: str = ""
    context: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    slot: str = ""
    name: str = ""
    key_terms: tuple[str, ...] = ()
    paragraphs: tuple[tuple[int, int], ...] = ()

    @property
    def anchor(self) -> str:
        """Key of this node in the cluster above: the slot of a summary, the id of a leaf."""
        return self.slot or self.id

    @property
    def label(self) -> str:
        """Name of a summary, else title and headings of a chunk; empty if it has none."""
        path = (str(self.metadata.get("title", "")), *self.section)
        return self.name or " > ".join(dict.fromkeys(filter(None, path)))

    @property
    def is_leaf(self) -> bool:
        """True for a chunk."""
        return self.layer == 0

    @property
    def is_summary(self) -> bool:
        """True for a text that is no span of a document; leaves of the corpus tree copy some."""
        return not self.is_leaf or bool(self.stands_for)

    @property
    def stands_for(self) -> str:
        """Id of the top node that a leaf of the corpus tree copies; empty for other nodes."""
        return str(self.metadata.get(TOP_NODE, "")) if self.is_leaf else ""

    @property
    def chunk_id(self) -> str:
        """Id of a chunk that the source supplies; empty for other nodes."""
        return str(self.metadata.get(CHUNK_ID, "")) if self.is_leaf else ""

    @property
    def pages(self) -> tuple[int, ...]:
        """First and last page of a chunk, counted from 1; empty if the document has no pages."""
        pages = (self.metadata.get("page"), self.metadata.get("last_page"))
        known = tuple(page for page in pages if isinstance(page, int))
        return (*known, *known)[:2] if self.is_leaf else ()  # a row may name one page alone

    @property
    def order(self) -> tuple[str, int, str]:
        """Sort key for document order within a layer: first document, position, id."""
        return (self.documents[0], self.position, self.id)

    @property
    def table(self) -> str:
        """Title and columns of the table whose rows a chunk begins with, where it has no head."""
        return self.context.partition("\n")[2]

    @property
    def shown_text(self) -> str:
        """Text for a reader: the columns of its table, if it has any, and the text."""
        return f"{self.table}\n{self.text}" if self.table else self.text

    @property
    def embedding_text(self) -> str:
        """Text that the embedder reads: the context and the text."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, eq=False)
class Layer:
    """Nodes of a layer in document order (``Node.order``), and their vectors, row for row.

    ``vectors`` has shape ``(len(nodes), n_dims)``, float32, unit norm.
    """

    nodes: tuple[Node, ...]
    vectors: Vectors

    def __repr__(self) -> str:
        return f"<Layer of {len(self.nodes)} nodes>"


@dataclass(frozen=True, slots=True)
class End:
    """End of a tree: ``layer`` is its top layer, ``reason`` says in words why it is the top."""

    layer: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fit:
    """Last fit of the clusters over a layer, and their drift since then.

    Attributes:
        fingerprint: fingerprint of the clusterer.
        n_placed: number of nodes that were assigned singly since clusters near them were fitted.
        fitted_cohesion: ``cohesion`` after the last attempt to fit. Drift is measured from it.
        cohesion: mean cosine similarity of a member to the centre of its cluster. A plan computes
            it with the expected vectors.
        reason: why clusters were fitted in this rebuild; empty if none were.
        embedder: fingerprint of the embedder by whose vectors the layer was clustered.
    """

    fingerprint: str
    n_placed: int
    fitted_cohesion: float
    cohesion: float
    reason: str = ""
    embedder: str = ""


@dataclass(frozen=True, eq=False)
class Tree:
    """Tree: a layered directed acyclic graph.

    Attributes:
        name: name of the tree.
        layers: its layers; ``layers[0]`` holds the leaves.
        end: its top layer, and why it ended there.
        fits: ``fits[k]`` describes the clusters over layer ``k``, for each layer below the top.
        settings_fingerprint: that of the settings that a published tree was built with, else "".
        readers: readers by document, of those documents that someone may read.
    """

    name: str
    layers: tuple[Layer, ...]
    end: End
    fits: tuple[Fit, ...] = ()
    settings_fingerprint: str = ""
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(layer.nodes)) for layer in self.layers)
        return f"<Tree {self.name!r}, nodes by layer: {sizes}>"

    @cached_property
    def _by_id(self) -> dict[str, tuple[Node, int]]:
        return {n.id: (n, row) for layer in self.layers for row, n in enumerate(layer.nodes)}

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        parents: dict[str, list[str]] = {}
        for node in self.nodes():
            for child in node.children:
                parents.setdefault(child, []).append(node.id)
        return {child: tuple(node_ids) for child, node_ids in parents.items()}

    def nodes(self) -> Iterator[Node]:
        """Iterate over all nodes, layer by layer from the leaves up, in document order."""
        for layer in self.layers:
            yield from layer.nodes

    @property
    def documents(self) -> tuple[str, ...]:
        """Ids of its documents, sorted."""
        return tuple(sorted({name for node in self.layers[0].nodes for name in node.documents}))

    def vectors(self) -> dict[str, Vectors]:
        """Return the vectors of all nodes, by embedding key."""
        return {
            node.embedding_key: vector
            for layer in self.layers
            for node, vector in zip(layer.nodes, layer.vectors, strict=True)
        }

    def node(self, node_id: str) -> Node:
        """Return the node with this id.

        Raises:
            KeyError: the tree has no such node.
        """
        return self._by_id[node_id][0]

    def vector(self, node_id: str) -> Vectors:
        """Return the vector of a node, shape ``(n_dims,)``."""
        node, row = self._by_id[node_id]
        vector: Vectors = self.layers[node.layer].vectors[row]
        return vector

    def children(self, node_id: str) -> tuple[Node, ...]:
        """Return the nodes that a summary was made from, in document order; none for a leaf."""
        return tuple(self.node(child) for child in self.node(node_id).children)

    def parents(self, node_id: str) -> tuple[Node, ...]:
        """Return the summaries over a node; soft assignment gives several."""
        return tuple(self.node(parent) for parent in self._parents.get(node_id, ()))

    @property
    def n_nodes(self) -> int:
        """Number of nodes in all layers."""
        return sum(len(layer.nodes) for layer in self.layers)


Key = TypeVar("Key")


def grouped(nodes: Iterable[Node], key: Callable[[Node], Key]) -> dict[Key, list[Node]]:
    """Group nodes by ``key``; keys and nodes keep their order."""
    groups: dict[Key, list[Node]] = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return groups


def leaf_texts(
    nodes: Iterable[Node], lower: Iterable[Sequence[Node]]
) -> dict[str, tuple[str, ...]]:
    """Return the texts of the leaves beneath each node, in document order of its children.

    ``lower`` holds the layers below the nodes, from the leaves up.
    """
    leaves: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    for layer in (*lower, tuple(nodes)):
        texts.update((node.id, node.text) for node in layer if node.is_leaf)
        leaves = {
            node.id: (node.id,)
            if node.is_leaf
            else tuple(dict.fromkeys(leaf for c in node.children for leaf in leaves.get(c, ())))
            for node in layer
        }
    return {node: tuple(texts[leaf] for leaf in of_node) for node, of_node in leaves.items()}


def labelled(label: str, place: str) -> str:
    """Return the label and the place in brackets; the place alone without a label."""
    return f"{label} ({place})" if label else place


def format_pages(pages: tuple[int, ...]) -> str:
    """Format pages after a comma: ", page 12" or ", pages 12-13"; "" for no pages."""
    if not pages:
        return ""
    first, last = pages[0], pages[-1]
    return f", page {first}" if first == last else f", pages {first}-{last}"
