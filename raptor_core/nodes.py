"""Frozen values: nodes, layers, trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from raptor_core.documents.base import MetadataValue
from raptor_core.vectors import Vectors

TOP_NODE = "raptor_node"
"""Metadata of a leaf of the corpus tree: id of the top node that it is."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a tree: a leaf (layer 0) or a summary.

    Attributes:
        id: UUIDv5, see ``raptor_core.identity``.
        tree: name of the tree.
        layer: 0 for leaves.
        content_key: see ``raptor_core.identity``.
        text: the chunk, or the summary.
        n_tokens: tokens of ``text``.
        position: order in its document; a summary has its first child's position.
        documents: ids of the documents under this node, sorted.
        children: ids of the nodes one layer below that it summarizes, in document order.
        fingerprint: of the chunking (leaf) or the summarizer (summary) that made the text.
        embedding_key: key of its vector (text that the embedder read, and embedder).
        start: leaf only, first character in the document; -1 for a summary.
        end: leaf only, character after the last; -1 for a summary.
        section: leaf only, path of headings.
        source: leaf only, path or URL of the document.
        context: leaf only, what the embedder read before the text; never part of the span.
        metadata: of the document; a summary keeps what all its children agree on.
        quality: numbers that judge the node, for example ``compression_ratio``.
        slot: summary only, identity of its cluster, kept while members and text change.
        name: summary only, what it is about in a few words; see ``raptor_core.tree.naming``.
        key_terms: summary only, its key terms, best first.
        paragraphs: leaf only, for each paragraph that it holds text of the paragraph's first
            character in the document, and the tokens of that part; a heading is one with the
            paragraph below it. Empty where an earlier version made the leaf.
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
        """What a cluster above remembers of this node: the slot of a summary, a leaf's id."""
        return self.slot or self.id

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a chunk."""
        return self.layer == 0

    @property
    def stands_for(self) -> str:
        """Id of the top node that a leaf of the corpus tree is; empty for any other."""
        return str(self.metadata.get(TOP_NODE, "")) if self.is_leaf else ""

    @property
    def pages(self) -> tuple[int, ...]:
        """Numbers of the first and the last page of a chunk, from 1; empty where it has none."""
        found = (self.metadata.get("page"), self.metadata.get("last_page"))
        return tuple(page for page in found if isinstance(page, int)) if self.is_leaf else ()

    @property
    def order(self) -> tuple[str, int, str]:
        """Sorts the nodes of a layer in document order: first document, position, id."""
        return (self.documents[0], self.position, self.id)

    @property
    def embedding_text(self) -> str:
        """What the embedder reads."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, eq=False)
class Layer:
    """The nodes of one layer in document order (``Node.order``), and their vectors, row for row.

    ``vectors`` has shape ``(len(nodes), n_dims)``, float32, unit norm.
    """

    nodes: tuple[Node, ...]
    vectors: Vectors

    def __repr__(self) -> str:
        return f"<Layer of {len(self.nodes)} nodes>"


@dataclass(frozen=True, slots=True)
class End:
    """Where a tree ended: ``layer`` is its top layer, ``reason`` says why in words."""

    layer: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fit:
    """How the clusters over a layer came about, and how far they have moved since.

    Attributes:
        fingerprint: of the clusterer.
        n_placed: nodes placed one by one since clusters around them were last fitted.
        fitted_cohesion: ``cohesion`` after the last fit that was tried, less what has left with
            removed nodes since; what drift is measured from.
        cohesion: mean cosine of a member to its cluster's centre, by the layer's own vectors; in a
            plan by the expected ones.
        reason: why clusters were fitted in this rebuild; empty when none were.
    """

    fingerprint: str
    n_placed: int
    fitted_cohesion: float
    cohesion: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Tree:
    """A layered directed acyclic graph; ``layers[0]`` holds the leaves.

    ``fits[k]`` tells of the clusters over layer ``k``, one for each layer but the top.
    """

    name: str
    layers: tuple[Layer, ...]
    end: End
    fits: tuple[Fit, ...] = ()

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(layer.nodes)) for layer in self.layers)
        return f"<Tree {self.name!r}, nodes by layer: {sizes}>"

    @cached_property
    def _by_id(self) -> dict[str, tuple[Node, int]]:
        return {n.id: (n, row) for layer in self.layers for row, n in enumerate(layer.nodes)}

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for node in self.nodes():
            for child in node.children:
                found.setdefault(child, []).append(node.id)
        return {child: tuple(parents) for child, parents in found.items()}

    def nodes(self) -> Iterator[Node]:
        """All nodes, layer by layer from the leaves up, in document order."""
        for layer in self.layers:
            yield from layer.nodes

    def vectors(self) -> dict[str, Vectors]:
        """Vectors of all nodes, by embedding key."""
        return {
            node.embedding_key: vector
            for layer in self.layers
            for node, vector in zip(layer.nodes, layer.vectors, strict=True)
        }

    def node(self, node_id: str) -> Node:
        """The node with this id.

        Raises:
            KeyError: it is not in this tree.
        """
        return self._by_id[node_id][0]

    def vector(self, node_id: str) -> Vectors:
        """The node's vector, shape ``(n_dims,)``."""
        node, row = self._by_id[node_id]
        vector: Vectors = self.layers[node.layer].vectors[row]
        return vector

    def children(self, node_id: str) -> tuple[Node, ...]:
        """The nodes that this one summarizes, in document order; none for a leaf."""
        return tuple(self.node(child) for child in self.node(node_id).children)

    def parents(self, node_id: str) -> tuple[Node, ...]:
        """The summaries over this node, several under soft membership."""
        return tuple(self.node(parent) for parent in self._parents.get(node_id, ()))

    @property
    def n_nodes(self) -> int:
        """Nodes in all layers."""
        return sum(len(layer.nodes) for layer in self.layers)


Key = TypeVar("Key")


def grouped(nodes: Iterable[Node], key: Callable[[Node], Key]) -> dict[Key, list[Node]]:
    """The nodes by what ``key`` gives of each; keys and nodes stay in order."""
    groups: dict[Key, list[Node]] = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return groups


def told_pages(pages: tuple[int, ...]) -> str:
    """Pages for people, after a comma: ", page 12" or ", pages 12-13"; empty if there are none."""
    if not pages:
        return ""
    first, last = pages[0], pages[-1]
    return f", page {first}" if first == last else f", pages {first}-{last}"
