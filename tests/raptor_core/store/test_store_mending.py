"""Damage of stored points: told where they are read, found and taken away by mending."""

import numpy as np
import pytest
from support.stores import make_node, make_tree, open_at, publish, vectors_of

from raptor_core.errors import DamagedTreeError
from raptor_core.store import Where
from raptor_core.store.damage import vector_check
from raptor_core.store.edge import EdgeEngine

pytestmark = pytest.mark.slow


def words_tree(n=60):
    """Leaves of common and rare words."""
    return [
        make_node(text=f"common words {'even' if i % 2 else 'odd'} rare{i} once{i}", position=i)
        for i in range(n)
    ]


def engine_of(store) -> EdgeEngine:
    return store._engine


def rewrite(store, node, payload=None, vector=None):
    """Put other fields or vectors into the engine's point of a node, past the store."""
    engine = engine_of(store)
    (record,) = engine._shard.retrieve([node.id], True, ["dense", "lexical"])
    update = engine._edge.UpdateOperation
    point = engine._edge.Point(
        id=record.id,
        vector={**record.vector, **(vector or {})},
        payload={**record.payload, **(payload or {})},
    )
    engine._shard.update(update.upsert_points([point]))
    engine._outlines.forget()


def without(store, node, *names):
    """Take fields out of the engine's point of a node, as if an earlier version had written it."""
    engine = engine_of(store)
    (record,) = engine._shard.retrieve([node.id], True, ["dense", "lexical"])
    payload = {name: value for name, value in record.payload.items() if name not in names}
    point = engine._edge.Point(id=record.id, vector=record.vector, payload=payload)
    engine._shard.update(engine._edge.UpdateOperation.delete_points([record.id]))
    engine._shard.update(engine._edge.UpdateOperation.upsert_points([point]))
    engine._outlines.forget()


@pytest.fixture
def edge(tmp_path):
    """A published tree in Edge, and its nodes."""
    nodes = words_tree()
    with open_at(tmp_path, "edge") as store:
        publish(store, nodes)
        yield store, nodes


def test_nothing_is_taken_away_where_nothing_is_damaged(store):
    texts = ("—", "水の音 日本")
    nodes = [*make_tree(), *(make_node(text=t, position=50 + i) for i, t in enumerate(texts))]
    publish(store, nodes)
    assert store.mend() == 0
    store.optimize()
    assert store.mend() == 0
    assert store.count() == len(nodes)


def test_a_change_far_within_the_length_of_a_vector_is_told(edge):
    store, nodes = edge
    (vector,) = vectors_of(nodes[:1])
    vector[3] += 1e-4
    rewrite(store, nodes[0], vector={"dense": (vector / np.linalg.norm(vector)).tolist()})
    assert nodes[0].embedding_key not in store.vectors(n.embedding_key for n in nodes)
    assert store.mend() == 1
    assert store.count() == len(nodes) - 1


def test_a_check_value_is_the_same_for_any_length_and_moves_with_any_component():
    (vector,) = vectors_of(words_tree(1))
    assert abs(vector_check(vector * np.float32(1.0009)) - vector_check(vector)) <= 1
    for at in range(len(vector)):
        changed = vector.copy()
        changed[at] += 1e-4
        assert abs(vector_check(changed) - vector_check(vector)) > 5


def test_words_that_changed_are_found(edge):
    store, nodes = edge
    sparse = engine_of(store)._edge.SparseVector
    rewrite(store, nodes[7], vector={"lexical": sparse(indices=[5, 6], values=[1.0, 2.0])})
    assert store.mend() == 1
    assert {node.id for node in store.nodes()} == {n.id for n in nodes} - {nodes[7].id}


def ranked_ids(store, nodes, limit):
    ((near, _),) = store.candidates(vectors_of(nodes), [""], limit)
    return near.outlines.ids()


def test_what_ranks_a_node_cannot_be_read(edge):
    store, nodes = edge
    (record,) = engine_of(store)._shard.retrieve([nodes[0].id], True, False)
    cut = record.payload["rest"][:-9]
    rewrite(store, nodes[0], payload={"rest": cut})
    with pytest.raises(DamagedTreeError, match=nodes[0].id):
        ranked_ids(store, nodes[:1], 3)
    with pytest.raises(DamagedTreeError):
        store.nodes(Where(ids=(nodes[0].id,)))
    assert store.mend() == 1
    assert ranked_ids(store, nodes[1:2], 1) == [nodes[1].id]


def test_damaged_text_is_told_when_it_is_read_and_not_when_it_is_only_ranked(edge):
    store, nodes = edge
    (record,) = engine_of(store)._shard.retrieve([nodes[0].id], True, False)
    forged = record.payload["rest"].replace("common words", "forged words")
    rewrite(store, nodes[0], payload={"rest": forged})
    best, *others = ranked_ids(store, nodes[:1], 3)
    assert best == nodes[0].id
    assert all(node in nodes for node in store.nodes(Where(ids=tuple(others))))
    with pytest.raises(DamagedTreeError):
        store.search(vectors_of(nodes[:1]), 3)
    with pytest.raises(DamagedTreeError):
        store.nodes(Where(ids=(nodes[0].id,)))


def test_a_point_with_the_payload_of_another_is_told(edge):
    store, nodes = edge
    (other,) = engine_of(store)._shard.retrieve([nodes[1].id], True, False)
    rewrite(store, nodes[0], payload=dict(other.payload))
    with pytest.raises(DamagedTreeError, match=nodes[0].id):
        store.search(vectors_of(nodes[:1]), 1)
    assert store.mend() == 1


def test_points_of_earlier_versions_are_read_and_are_not_damaged(edge):
    store, nodes = edge
    rewrite(store, nodes[1], payload={"outline": "00000000[]"})
    assert store.mend() == 0
    without(store, nodes[0], "vector_check")
    for node in nodes[:2]:
        assert store.search(vectors_of([node]), 1)[0][0].node == node
        assert ranked_ids(store, [node], 1) == [node.id]
    assert nodes[0].embedding_key in store.vectors([nodes[0].embedding_key])
