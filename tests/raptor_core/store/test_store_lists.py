"""Lists in metadata: kept by tables and stores, a fact for each item, shared items in summaries."""

from raptor_core.documents.base import Document
from raptor_core.nodes import Node
from raptor_core.store.facts import fact
from raptor_core.store.payload import node_to_payload, payload_to_node
from raptor_core.tables.values import (
    documents_to_table,
    nodes_to_table,
    table_to_documents,
    table_to_nodes,
)
from raptor_core.tree.summarize import _common_metadata


def node(name, **metadata):
    return Node(name, "t", 0, name, "x", 1, 0, ("d",), (), "f", "e", 0, 1, metadata=metadata)


def test_a_list_has_a_fact_for_each_item_and_comes_back_as_it_was():
    leaf = node("a", tags=("pumps", "brass"), sizes=(1, 2.5), draft=True)
    payload = node_to_payload(leaf)
    items = (("tags", "pumps"), ("tags", "brass"), ("sizes", "1"))
    assert {fact("value", *item) for item in items} < {*payload["facts"]}
    assert payload["metadata"]["tags"] == ["pumps", "brass"]
    assert payload_to_node(payload) == leaf
    assert table_to_nodes(nodes_to_table([leaf])) == (leaf,)
    document = Document("d", "x", metadata=leaf.metadata)
    assert table_to_documents(documents_to_table({"t": [document]})) == {"t": (document,)}


def test_a_summary_has_the_items_that_all_its_children_have():
    first = node("a", tags=("pumps", "brass"), lang="en", size=1)
    second = node("b", tags=("brass", "tin"), lang="en", size=2)
    assert _common_metadata([first, second]) == {"tags": ("brass",), "lang": "en"}
    assert _common_metadata([first, node("c", tags="brass", lang=("en",))]) == {}
