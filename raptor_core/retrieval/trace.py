"""What is around a published node: the spans of documents under it, and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from raptor_core.errors import InvariantError, UnknownTreeError
from raptor_core.nodes import Node
from raptor_core.store.base import Where
from raptor_core.store.protocols import Searcher


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A leaf's place: characters ``start`` to ``end`` (exclusive) of a document, and its text.

    ``pages`` are those of ``Node``; ``title`` is the document's, empty where it has none.
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


@dataclass(frozen=True, slots=True)
class Trace:
    """A node, and the spans that it was made from in document order, each once."""

    node: Node
    spans: tuple[SourceSpan, ...]

    def __repr__(self) -> str:
        n_documents = len({span.document for span in self.spans})
        return f"<Trace of {self.node.id}: {len(self.spans)} spans of {n_documents} documents>"


def trace(store: Searcher, node_id: str) -> Trace:
    """Resolve a published node, layer by layer, to the leaves under it.

    Raises:
        UnknownTreeError: no published node has this id.
        InvariantError: a child is missing in the store.
    """
    node = published_node(store, node_id)
    leaves: dict[str, Node] = {}
    front = [node]
    while front:
        leaves.update((item.id, item) for item in front if item.is_leaf)
        wanted = {child for item in front for child in item.children}
        front = store.nodes(Where(ids=tuple(sorted(wanted)))) if wanted else []
        if len(front) != len(wanted):
            raise InvariantError(
                f"{len(wanted) - len(front)} nodes under {node_id} are not in the store; "
                f"build the tree {node.tree!r} again"
            )
    ordered = sorted(leaves.values(), key=lambda leaf: leaf.order)
    return Trace(node, tuple(_span(leaf) for leaf in ordered))


@dataclass(frozen=True, slots=True)
class Family:
    """A node, the summaries over it (several under soft membership), and what it summarizes."""

    node: Node
    parents: tuple[Node, ...]
    children: tuple[Node, ...]


def family(store: Searcher, node_id: str) -> Family:
    """A published node with its neighbours one layer up and down, each in document order.

    Parents are looked for among the summaries one layer up that share a document with the node.

    Raises:
        UnknownTreeError: no published node has this id.
    """
    node = published_node(store, node_id)
    above = Where(trees=(node.tree,), layers=(node.layer + 1,), documents=node.documents)
    parents = (found for found in store.nodes(above) if node_id in found.children)
    children = store.nodes(Where(ids=node.children)) if node.children else []
    return Family(node, tuple(parents), tuple(children))


def published_node(store: Searcher, node_id: str) -> Node:
    """The published node with this id.

    Raises:
        UnknownTreeError: there is none.
    """
    found = store.nodes(Where(ids=(node_id,)))
    if not found:
        raise UnknownTreeError(
            f"no published node has the id {node_id!r}; `raptor tree TREE --ids` lists them"
        )
    return found[0]


def _span(leaf: Node) -> SourceSpan:
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
    )
