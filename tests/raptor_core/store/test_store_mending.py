"""Damage of stored points: told where they are read, found and taken away by mending."""

import numpy as np
import pytest
import qdrant_edge
from support.stores import make_node, make_tree, open_at, publish, vectors_of

from raptor_core.errors import DamagedTreeError
from raptor_core.store import Where
from raptor_core.store.engines.edge import EdgeEngine

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
    update = qdrant_edge.UpdateOperation
    point = qdrant_edge.Point(
        id=record.id,
        vector={**record.vector, **(vector or {})},
        payload={**record.payload, **(payload or {})},
    )
    engine._shard.update(update.upsert_points([point]))
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


def test_a_vector_of_another_length_is_told(edge):
    store, nodes = edge
    n_dims = store.identity.n_dims
    (path,) = engine_of(store)._path.rglob("vector_storage-dense/**/chunk_0.mmap")
    store.close()
    data = np.fromfile(path, dtype="<f4")
    rows = data[: len(data) // n_dims * n_dims].reshape(-1, n_dims)
    rows[0] *= 1.01
    data.tofile(path)
    with open_at(engine_of(store)._path.parents[1], "edge") as again:
        assert len(again.vectors(n.embedding_key for n in nodes)) == len(nodes) - 1
        assert again.mend() == 1
        assert again.count() == len(nodes) - 1


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
