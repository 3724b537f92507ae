"""Traces from a published node to spans of documents, and its parents and children."""

from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.errors import InvariantError, UnknownTreeError
from raptor_core.nodes import Node
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore

_GAP_CHARS = 2
"""Maximum white space between two chunks that are joined."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """The span of a leaf in its document, and its text.

    Fields are as in ``Node``. ``title`` is "" if the document has none; ``chunk_id`` is "" unless
    the source supplies chunks.
    """

    document: str
    source: str
    section: tuple[str, ...]
    start: int
    end: int
    text: str
    node_id: str
    pages: tuple[int, ...] = ()
    title: str = ""
    chunk_id: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """A node, and the distinct spans from which it derives, in document order."""

    node: Node
    spans: tuple[SourceSpan, ...]

    def __repr__(self) -> str:
        n_documents = len({span.document for span in self.spans})
        return f"<Trace of {self.node.id}: {len(self.spans)} spans of {n_documents} documents>"

    @property
    def joined_spans(self) -> tuple[tuple[str, int, int], ...]:
        """The spans as document, start and end (exclusive); adjacent ones are joined."""
        joined: list[tuple[str, int, int]] = []
        for span in self.spans:
            document, start, end = joined[-1] if joined else ("", 0, 0)
            if document == span.document and start <= span.start <= end + _GAP_CHARS:
                joined[-1] = (document, start, max(end, span.end))
            else:
                joined.append((span.document, span.start, span.end))
        return tuple(joined)


def trace_node(store: VectorStore, node_id: str) -> Trace:
    """Trace a published node, layer by layer, to the leaves below it.

    Raises:
        UnknownTreeError: no published node has this id.
        InvariantError: the store lacks a child.
    """
    return trace_from_nodes(nodes_under(store, [node_id]))


def trace_from_nodes(nodes: Sequence[Node]) -> Trace:
    """Return the trace of the first node; the others are all nodes below it."""
    leaves = {node.id: node for node in nodes if node.is_leaf and not node.copied_node_id}
    spans = map(_source_span, sorted(leaves.values(), key=lambda leaf: leaf.document_order_key))
    return Trace(nodes[0], tuple(spans))


def nodes_under(store: VectorStore, node_ids: Sequence[str]) -> list[Node]:
    """Return published nodes and all nodes below them, layer by layer.

    If one of the nodes is below another one, it may occur twice.

    Raises:
        UnknownTreeError: no published node has one of the ids.
        InvariantError: the store lacks a child.
    """
    nodes = front = [read_published_node(store, node_id) for node_id in node_ids]
    while children := {child: item.tree for item in front for child in item.children}:
        front = store.nodes(Where(ids=tuple(sorted(children))))
        if missing := children.keys() - {node.id for node in front}:
            trees = sorted({children[child] for child in missing})
            raise InvariantError(
                f"{len(missing)} nodes below {node_ids[0]} are not in the store; "
                f"build the tree {trees[0]!r} again"
            )
        nodes = nodes + front
    return nodes


@dataclass(frozen=True, slots=True)
class Family:
    """A node with its parents (several with soft assignment) and children."""

    node: Node
    parents: tuple[Node, ...]
    children: tuple[Node, ...]


def read_family(store: VectorStore, node_id: str) -> Family:
    """Return a published node with its parents and children, in document order.

    A parent shares a document with the node, so only such summaries of the next layer are read.

    Raises:
        UnknownTreeError: no published node has this id.
    """
    node = read_published_node(store, node_id)
    above = Where(trees=(node.tree,), layers=(node.layer + 1,), covers=node.documents)
    parents = (parent for parent in store.nodes(above) if node_id in parent.children)
    children = store.nodes(Where(ids=node.children)) if node.children else []
    return Family(node, tuple(parents), tuple(children))


def read_published_node(store: VectorStore, node_id: str) -> Node:
    """Return the published node with this id.

    Raises:
        UnknownTreeError: no published node has this id.
    """
    nodes = store.nodes(Where(ids=(node_id,)))
    if not nodes:
        raise UnknownTreeError(
            f"no published node has the id {node_id!r}; `raptor tree TREE --ids` lists them"
        )
    return nodes[0]


def _source_span(leaf: Node) -> SourceSpan:
    return SourceSpan(
        document=leaf.documents[0],
        source=leaf.source,
        section=leaf.section,
        start=leaf.start,
        end=leaf.end,
        text=leaf.text,
        node_id=leaf.id,
        pages=leaf.pages,
        title=str(leaf.metadata.get("title", "")),
        chunk_id=leaf.chunk_id,
    )
