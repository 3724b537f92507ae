"""A node between what it summarizes and what summarizes it."""

from __future__ import annotations

from dataclasses import dataclass

from raptor_core.nodes import Node
from raptor_core.retrieval.trace import published_node
from raptor_core.store.base import Where
from raptor_core.store.protocols import Searcher


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
