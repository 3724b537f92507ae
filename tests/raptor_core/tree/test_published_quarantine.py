"""A published tree with a quarantined node is complete: the next rebuild continues from it."""

from dataclasses import replace

import numpy as np
import pytest
from support.stores import keyed_vectors, make_manifest, make_tree, open_at, vectors_of

from raptor_core.errors import DamagedTreeError
from raptor_core.store.engines.base import Condition, Match, Upsert
from raptor_core.tree.published import published_tree


def published(nodes, hidden, **manifest):
    with open_at(None) as store:
        made = replace(make_manifest(nodes), quarantined=hidden, **manifest)
        store.publish(made, nodes, keyed_vectors(nodes))
        return published_tree(store, "t")


def test_a_node_in_quarantine_stands_where_its_children_do():
    nodes = make_tree()
    summary = nodes[-1]
    tree = published(nodes, (summary.id,))
    assert [len(layer.nodes) for layer in tree.layers] == [12, 3]
    children = sum(tree.vector(child) for child in summary.children)
    assert np.allclose(tree.vector(summary.id), children / np.linalg.norm(children), atol=1e-6)
    assert np.array_equal(tree.vector(nodes[0].id), vectors_of(nodes[:1])[0])


def test_a_leaf_without_a_vector_is_no_quarantine_but_damage():
    nodes = make_tree()
    hidden = (nodes[-1].id,)
    with open_at(None) as store:
        made = replace(make_manifest(nodes), quarantined=hidden)
        store.publish(made, nodes, keyed_vectors(nodes))
        first = Condition((Match("node_id", (nodes[0].id,)),))
        (point,) = store._engine.scroll(first, None)
        store._engine.apply([Upsert((replace(point, dense=None),))])
        with pytest.raises(DamagedTreeError, match="1 vectors missing"):
            published_tree(store, "t")
