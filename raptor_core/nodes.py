"""The value classes of nodes, layers and trees.

``raptor_core.identity`` computes ids and keys; ``raptor_core.tree`` builds trees.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from raptor_core.documents.base import CHUNK_ID
from raptor_core.vectors import Vectors
from raptor_formats.base import MetadataValue

TOP_NODE = "raptor_node"
"""Metadata key of a leaf of the corpus tree: id of the top node that the leaf copies."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: a leaf (layer 0) or a summary.

    Fields are declared only here; tables, stored points and the store's schema derive from them.
    """

    id: Annotated[str, "UUIDv5 of tree, layer and content; see ``raptor_core.identity``"]
    tree: Annotated[str, "name of the tree"]
    layer: Annotated[int, "0 for leaves"]
    content_key: Annotated[str, "digest of text and settings; for a summary, of its children"]
    text: Annotated[str, "the chunk, or the summary"]
    n_tokens: Annotated[int, "tokens of text"]
    position: Annotated[int, "order in its document; for a summary, that of its first child"]
    documents: Annotated[tuple[str, ...], "ids of the documents under the node, sorted"]
    children: Annotated[tuple[str, ...], "ids of the nodes that it summarizes, in document order"]
    fingerprint: Annotated[str, "fingerprint of the chunking (leaf) or of the summarizer (summary)"]
    embedding_key: Annotated[str, "key of the vector, by the embedder and ``embedding_text``"]
    start: Annotated[int, "first character in the document; -1 for a summary"] = -1
    end: Annotated[int, "character after the last one; -1 for a summary"] = -1
    section: Annotated[tuple[str, ...], "of a leaf: headings over the span, outermost first"] = ()
    source: Annotated[str, "of a leaf: path or URL of the document"] = ""
    context: Annotated[
        str,
        "of a leaf: lines that the embedder reads above the text, outside the span; the first has "
        "title and headings, the second the columns of a table that began above the span",
    ] = ""
    metadata: Annotated[
        Mapping[str, MetadataValue], "of the document; for a summary, what all its children share"
    ] = field(default_factory=dict)
    quality: Annotated[
        Mapping[str, float], "quality figures by name, such as ``compression_ratio``"
    ] = field(default_factory=dict)
    slot: Annotated[str, "of a summary: identity of its cluster, kept while its text changes"] = ""
    name: Annotated[str, "of a summary: its topic in a few words"] = ""
    key_terms: Annotated[tuple[str, ...], "of a summary: its key terms, best first"] = ()
    paragraphs: Annotated[
        tuple[tuple[int, int], ...],
        "of a leaf: first character of each paragraph in the document, with the heading above it, "
        "and the tokens of the part in the chunk, those of ``table_header`` included",
    ] = ()

    @property
    def stable_id(self) -> str:
        """Identity of this node as a cluster member: the slot of a summary, the id of a leaf."""
        return self.slot or self.id

    @property
    def label(self) -> str:
        """Name of a summary, or title and headings of a leaf; empty if it has none."""
        path = (str(self.metadata.get("title", "")), *self.section)
        return self.name or " > ".join(dict.fromkeys(filter(None, path)))

    @property
    def is_leaf(self) -> bool:
        """Whether this is a leaf."""
        return self.layer == 0

    @property
    def is_summary(self) -> bool:
        """Whether the text is not a span of a document, also in a leaf of the corpus tree."""
        return not self.is_leaf or bool(self.copied_node_id)

    @property
    def copied_node_id(self) -> str:
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
        numbers = tuple(page for page in pages if isinstance(page, int))
        return (*numbers, *numbers)[:2] if self.is_leaf else ()  # a row may have only one page

    @property
    def document_order_key(self) -> tuple[str, int, str]:
        """Sort key for document order within a layer: first document, position, id."""
        return (self.documents[0], self.position, self.id)

    @property
    def table_header(self) -> str:
        """Title and columns of the table whose rows begin the chunk; "" if the text has them."""
        return self.context.partition("\n")[2]

    @property
    def shown_text(self) -> str:
        """Text to show, with the columns of its table if the chunk lacks them."""
        return f"{self.table_header}\n{self.text}" if self.table_header else self.text

    @property
    def embedding_text(self) -> str:
        """Text that is embedded: the context and the text."""
        return f"{self.context}\n{self.text}" if self.context else self.text


FieldKind = Literal["string", "int", "list[string]", "json"]
"""Stored type of a node's field; "json" is text."""

_KINDS: dict[object, FieldKind] = {str: "string", int: "int", tuple[str, ...]: "list[string]"}


def _declared(name: str, hint: Any) -> tuple[str, FieldKind, str]:
    return name, _KINDS.get(hint.__origin__, "json"), str(hint.__metadata__[0])


NODE_FIELDS = tuple(
    _declared(*field) for field in get_type_hints(Node, include_extras=True).items()
)
"""Name, kind and description of each field of a node, in declaration order."""


@dataclass(frozen=True, eq=False)
class Layer:
    """The nodes of a layer in document order (``Node.document_order_key``), and their vectors.

    ``vectors`` has shape ``(len(nodes), n_dims)``, float32, unit norm.
    """

    nodes: tuple[Node, ...]
    vectors: Vectors

    def __repr__(self) -> str:
        return f"<Layer of {len(self.nodes)} nodes>"


@dataclass(frozen=True, slots=True)
class TreeEnd:
    """Number of a tree's top ``layer``, and the ``reason`` why the tree ends there, in words."""

    layer: int
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterFit:
    """The last fit of the clusters over a layer, and their drift since then.

    Attributes:
        fingerprint: fingerprint of the clusterer.
        n_placed: number of nodes placed into existing clusters since clusters near them were
            fitted.
        fitted_cohesion: ``cohesion`` after the last attempt to fit, from which drift is measured.
        cohesion: mean cosine similarity of members to the centre of their cluster. A plan computes
            it from predicted vectors.
        reason: why clusters were fitted in this rebuild; empty if none were.
        embedder: fingerprint of the embedder whose vectors were clustered.
    """

    fingerprint: str
    n_placed: int
    fitted_cohesion: float
    cohesion: float
    reason: str = ""
    embedder: str = ""


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, which is a layered directed acyclic graph.

    Attributes:
        name: name of the tree.
        layers: layers from the leaves up; ``layers[0]`` contains the leaves.
        end: its top layer, and why the tree ends there.
        fits: ``fits[k]`` describes the clusters over layer ``k``, for each layer below the top.
        settings_fingerprint: fingerprint of the settings of a published tree, else "".
        readers: readers by document id; documents that nobody may read are missing.
    """

    name: str
    layers: tuple[Layer, ...]
    end: TreeEnd
    fits: tuple[ClusterFit, ...] = ()
    settings_fingerprint: str = ""
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(layer.nodes)) for layer in self.layers)
        return f"<Tree {self.name!r}, nodes by layer: {sizes}>"

    @cached_property
    def _nodes_by_id(self) -> dict[str, tuple[Node, int]]:
        return {n.id: (n, row) for layer in self.layers for row, n in enumerate(layer.nodes)}

    @cached_property
    def _parents_by_id(self) -> dict[str, tuple[str, ...]]:
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

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes_by_id

    def node(self, node_id: str) -> Node:
        """Return the node with this id.

        Raises:
            KeyError: the tree has no such node.
        """
        return self._nodes_by_id[node_id][0]

    def vector(self, node_id: str) -> Vectors:
        """Return the vector of a node, shape ``(n_dims,)``."""
        node, row = self._nodes_by_id[node_id]
        vector: Vectors = self.layers[node.layer].vectors[row]
        return vector

    def children(self, node_id: str) -> tuple[Node, ...]:
        """Return the nodes that a summary was made from, in document order; none for a leaf."""
        return tuple(self.node(child) for child in self.node(node_id).children)

    def parents(self, node_id: str) -> tuple[Node, ...]:
        """Return the summaries of a node; with soft assignment there may be several."""
        return tuple(self.node(parent) for parent in self._parents_by_id.get(node_id, ()))

    @property
    def n_nodes(self) -> int:
        """Number of nodes in all layers."""
        return sum(len(layer.nodes) for layer in self.layers)


Key = TypeVar("Key")


def group_nodes(nodes: Iterable[Node], key: Callable[[Node], Key]) -> dict[Key, list[Node]]:
    """Group nodes by ``key``; groups and their nodes keep the order of the nodes."""
    groups: dict[Key, list[Node]] = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return groups


def leaf_texts_by_node(
    nodes: Iterable[Node], lower: Iterable[Sequence[Node]]
) -> dict[str, tuple[str, ...]]:
    """Return the texts of the leaves below each node by its id, in the order of its children.

    ``lower`` contains the layers below the nodes, from the leaves up.
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


def format_label(label: str, place: str) -> str:
    """Format a label as "label (place)", or return the place if there is no label."""
    return f"{label} ({place})" if label else place


def format_pages(pages: tuple[int, ...]) -> str:
    """Format pages after a comma: ", page 12" or ", pages 12-13"; "" for no pages."""
    if not pages:
        return ""
    first, last = pages[0], pages[-1]
    return f", page {first}" if first == last else f", pages {first}-{last}"
