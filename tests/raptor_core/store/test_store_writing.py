"""Contract of every backend: publish, look up, drop."""

from dataclasses import replace

import numpy as np
import pytest
from support.engines import edge_only
from support.stores import (
    keyed_vectors,
    live_ids,
    make_manifest,
    make_node,
    make_tree,
    publish,
    vectors_of,
)

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.store import PublicationCounts


def test_vectors_come_back_bit_for_bit(store):
    nodes = make_tree(n=40)
    expected = vectors_of(nodes)
    keys = [node.embedding_key for node in nodes]
    publish(store, nodes)
    found = store.vectors([*keys, "unknown"])
    assert set(found) == set(keys)
    assert (np.array([found[key] for key in keys]) == expected).all()
    assert all(vector.dtype == np.float32 for vector in found.values())


def test_publishing_counts_what_changed(store):
    old = make_tree(n=12)
    assert publish(store, old) == PublicationCounts(added=15, updated=0, unchanged=0, removed=0)
    assert publish(store, old) == PublicationCounts(added=0, updated=0, unchanged=15, removed=0)
    new = [replace(old[0], position=99), *old[2:], make_node(text="an added leaf", position=50)]
    # The summary over the removed leaf has other facts.
    assert publish(store, new) == PublicationCounts(added=1, updated=2, unchanged=12, removed=1)
    assert store.nodes() == sorted(new, key=lambda n: (n.tree, n.layer, *n.document_order_key))


@edge_only
def test_a_missing_vector_changes_nothing(store):
    nodes = make_tree()
    publish(store, nodes)
    bare = make_node(text="without a vector", position=77)
    before = (store.nodes(), store.manifests(), live_ids(store, "t"))
    with pytest.raises(StoreError, match=bare.id):
        store.publish(make_manifest([*nodes, bare]), [*nodes, bare])
    assert (store.nodes(), store.manifests(), live_ids(store, "t")) == before


def test_dropping_removes_every_point_of_the_tree(store):
    publish(store, make_tree("one"), "one")
    publish(store, make_tree("two"), "two")
    assert store.drop("one") == 15
    assert live_ids(store, "one") == []
    assert [manifest.tree for manifest in store.manifests()] == ["two"]
    assert store.drop("one") == 0
    assert store.drop("never there") == 0


def test_manifests_come_back_as_they_were(store):
    documents = {"a.b/c d.md": "1", "": "2", '日本 "x".txt': "3"}
    nodes = make_tree()
    manifest = replace(make_manifest(nodes), documents=documents)
    store.publish(manifest, nodes, keyed_vectors(nodes))
    assert store.manifests() == [manifest]
    assert store.manifests(["t", "unknown"]) == [manifest]
    assert store.manifests(["unknown"]) == store.manifests([]) == []


@edge_only
def test_vectors_of_a_wrong_shape_or_norm_are_refused_by_name(store):
    nodes = make_tree()
    with pytest.raises(StoreMismatchError, match=r"\(15, 16\).*\(15, 8\)"):
        store.publish(make_manifest(nodes), nodes, keyed_vectors(nodes, 8))
    for wrong in (0.0, 2.0, np.nan):
        vectors = keyed_vectors(nodes)
        vectors[nodes[4].embedding_key] *= wrong
        with pytest.raises(StoreError, match=nodes[4].id):
            store.publish(make_manifest(nodes), nodes, vectors)
    assert live_ids(store, "t") == []


@pytest.mark.parametrize(
    "values",
    [
        {"text": "half a pair \ud83d"},
        {"quality": {"ratio": float("nan")}},
        {"metadata": {"n": float("inf")}},
        {"metadata": {"n": 2**70}},
    ],
)
@edge_only
def test_a_node_that_cannot_be_stored_without_loss_is_refused_by_name(store, values):
    node = replace(make_node(), **values)
    with pytest.raises(StoreError, match=node.id):
        store.publish(make_manifest([node]), [node], keyed_vectors([make_node()]))


@edge_only
def test_publishing_refuses_nodes_of_another_tree(store):
    nodes = make_tree("other")
    with pytest.raises(StoreError, match="other"):
        store.publish(make_manifest(nodes), nodes)
