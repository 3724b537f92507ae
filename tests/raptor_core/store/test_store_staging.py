"""Staged points: written with their layer, and live with their tree."""

import numpy as np
from support.engines import edge_only
from support.stores import (
    faults,
    keyed_vectors,
    live_ids,
    make_tree,
    publish,
    vectors_of,
)

from raptor_core.documents.base import Document
from raptor_core.nodes import Node
from raptor_core.store import PublicationCounts
from raptor_core.store.engines.base import Condition, Match, SetLive
from raptor_core.store.facts import hash_filter_value
from raptor_core.store.outlines import CandidateSearch, join_id
from raptor_core.store.payload import node_to_payload, payload_to_node
from raptor_core.tables.values import (
    documents_to_table,
    nodes_to_table,
    table_to_documents,
    table_to_nodes,
)

OLD, NEW = make_tree(word="old"), make_tree(word="new")


def layers(nodes):
    return [[n for n in nodes if n.layer == layer] for layer in (0, 1)]


def stage(store, nodes):
    """Stage both layers of a tree; return the numbers of points that were written."""
    leaves, summaries = layers(nodes)
    vectors = keyed_vectors(nodes)
    return [store.stage(leaves, [], vectors), store.stage(summaries, leaves, vectors)]


def states(store):
    records = store._engine.scroll(Condition((Match("tree", ("t",)),)), ("state",))
    found = [record.payload["state"] for record in records]
    return {state: found.count(state) for state in found}


def answers(store):
    return (
        store.nodes(),
        store.count(),
        live_ids(store, "t"),
        store.search(vectors_of(NEW[:2]), 99),
        store.vectors(node.embedding_key for node in NEW),
        store.texts(node.content_key for node in NEW),
    )


def test_staged_nodes_are_in_no_answer_until_their_tree_is_published(store, monkeypatch):
    publish(store, OLD)
    before = answers(store)
    assert stage(store, NEW) == [12, 3]
    assert stage(store, NEW) == [0, 0]
    assert states(store) == {"live": 15, "manifest": 1, "staged": 15}
    assert answers(store) == before
    written, apply = [], store._engine.apply
    monkeypatch.setattr(
        store._engine, "apply", lambda operations: written.append(operations) or apply(operations)
    )
    assert publish(store, NEW) == PublicationCounts(added=15, updated=0, unchanged=0, removed=15)
    ((_, live, *_),) = written
    assert (type(live), len(live.ids)) == (SetLive, 15)
    assert states(store) == {"live": 15, "manifest": 1}
    assert {node.id for node in store.nodes()} == {node.id for node in NEW}
    assert faults(store) == []


@edge_only
def test_what_a_later_build_does_not_use_goes_with_its_publication(store):
    publish(store, OLD)
    stage(store, NEW)
    assert publish(store, OLD) == PublicationCounts(added=0, updated=0, unchanged=15, removed=0)
    assert states(store) == {"live": 15, "manifest": 1}
    stage(store, NEW)
    assert store.drop("t") == 15
    assert states(store) == {}


def test_a_tree_that_was_only_staged_is_dropped_with_its_points(store):
    stage(store, NEW)
    assert states(store) == {"staged": 15}
    assert store.drop("t") == 0  # none of them was live
    assert states(store) == {}


def values_of(outlines) -> list[tuple]:
    """What outlines say of each node, with its children's ids."""
    numbers = outlines.nodes[["layer", "position", "n_tokens"]].tolist()
    one_by_one = [outlines.select_rows(np.array([at])) for at in range(len(numbers))]
    below = [tuple(join_id(*pair) for pair in one.children.tolist()) for one in one_by_one]
    return list(zip(outlines.ids(), numbers, below, strict=True))


def expected(nodes: list[Node]) -> list[tuple]:
    return [(n.id, (n.layer, n.position, n.n_tokens), n.children) for n in nodes]


def test_candidates_are_what_searches_find(store):
    nodes = make_tree()
    publish(store, nodes)
    vectors, texts = vectors_of(nodes[:3]), ["leaf 3", "", "summary"]
    rows = [*store.search(vectors, 99), *store.search_text(texts, 99)]
    searches = [CandidateSearch(query, 99) for query in (*vectors, *texts)]
    for row, ranks in zip(rows, store.search_candidates(searches), strict=True):
        assert values_of(ranks.outlines) == expected([hit.node for hit in row])
        assert ranks.scores.tolist() == [hit.score for hit in row]


def test_a_search_for_rare_words_returns_nothing_where_more_nodes_match(store):
    publish(store, make_tree())
    n_holders = len(store.search_text(["leaf"], 99)[0])
    assert n_holders > 1
    limits = (n_holders, n_holders - 1)
    searches = [CandidateSearch("leaf", limit, only_rare=True) for limit in limits]
    assert [len(row.scores) for row in store.search_candidates(searches)] == [n_holders, 0]


@edge_only
def test_points_that_go_before_their_outlines_come_hide_no_node(store, monkeypatch):
    publish(store, make_tree())
    fetch = store._engine.fetch
    monkeypatch.setattr(store._engine, "fetch", lambda ids, fields: fetch(ids, fields)[3:])
    (near,) = store.search_candidates([CandidateSearch(vectors_of(make_tree()[:1])[0], 99)])
    assert len(near.scores) == len(near.outlines.nodes) == 12


def node(name, **metadata):
    return Node(name, "t", 0, name, "x", 1, 0, ("d",), (), "f", "e", 0, 1, metadata=metadata)


def test_a_list_has_a_fact_for_each_item_and_comes_back_as_it_was():
    leaf = node("a", tags=("pumps", "brass"), sizes=(1, 2.5), draft=True)
    payload = node_to_payload(leaf)
    items = (("tags", "pumps"), ("tags", "brass"), ("sizes", "1"))
    assert {hash_filter_value("value", *item) for item in items} < {*payload["facts"]}
    assert payload["metadata"]["tags"] == ["pumps", "brass"]
    assert payload_to_node(payload) == leaf
    assert table_to_nodes(nodes_to_table([leaf])) == (leaf,)
    document = Document("d", "x", metadata=leaf.metadata)
    assert table_to_documents(documents_to_table({"t": [document]})) == {"t": (document,)}
