"""Outlines, which rank candidates without their texts, and lists in metadata."""

import numpy as np
from support.engines import edge_only
from support.stores import make_tree, publish, vectors_of

from raptor_core.documents.base import Document
from raptor_core.nodes import Node
from raptor_core.store.facts import fact
from raptor_core.store.outlines import CandidateSearch, full_id
from raptor_core.store.payload import node_to_payload, payload_to_node
from raptor_core.tables.values import (
    documents_to_table,
    nodes_to_table,
    table_to_documents,
    table_to_nodes,
)


def values_of(outlines) -> list[tuple]:
    """What outlines say of each node, with its children's ids."""
    numbers = outlines.nodes[["layer", "position", "n_tokens"]].tolist()
    one_by_one = [outlines.take(np.array([at])) for at in range(len(numbers))]
    below = [tuple(full_id(*pair) for pair in one.children.tolist()) for one in one_by_one]
    return list(zip(outlines.ids(), numbers, below, strict=True))


def expected(nodes: list[Node]) -> list[tuple]:
    return [(n.id, (n.layer, n.position, n.n_tokens), n.children) for n in nodes]


def test_candidates_are_what_searches_find(store):
    nodes = make_tree()
    publish(store, nodes)
    vectors, texts = vectors_of(nodes[:3]), ["leaf 3", "", "summary"]
    rows = [*store.search(vectors, 99), *store.search_text(texts, 99)]
    searches = [CandidateSearch(query, 99) for query in (*vectors, *texts)]
    for row, ranks in zip(rows, store.candidates(searches), strict=True):
        assert values_of(ranks.outlines) == expected([hit.node for hit in row])
        assert ranks.scores.tolist() == [hit.score for hit in row]


def test_a_search_for_rare_words_returns_nothing_where_more_nodes_match(store):
    publish(store, make_tree())
    n_holders = len(store.search_text(["leaf"], 99)[0])
    assert n_holders > 1
    limits = (n_holders, n_holders - 1)
    searches = [CandidateSearch("leaf", limit, only_rare=True) for limit in limits]
    assert [len(row.scores) for row in store.candidates(searches)] == [n_holders, 0]


@edge_only
def test_points_that_go_before_their_outlines_come_hide_no_node(store, monkeypatch):
    publish(store, make_tree())
    fetch = store._engine.fetch
    monkeypatch.setattr(store._engine, "fetch", lambda ids, fields: fetch(ids, fields)[3:])
    (near,) = store.candidates([CandidateSearch(vectors_of(make_tree()[:1])[0], 99)])
    assert len(near.scores) == len(near.outlines.nodes) == 12


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
