"""Staged points: written with their layer, and live with their tree."""

from support.engines import edge_only
from support.stores import (
    faults,
    keyed_vectors,
    live_ids,
    make_tree,
    publish,
    vectors_of,
)

from raptor_core.store import PublicationCounts
from raptor_core.store.engines.base import Condition, Match, SetLive

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
