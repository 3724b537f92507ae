"""A published tree that lacks a vector is damaged, and no rebuild continues from it."""

from dataclasses import replace

import pytest
from support.stores import keyed_vectors, make_manifest, make_tree, open_at

from raptor_core.errors import DamagedTreeError
from raptor_core.store.engines.base import Condition, Match, Upsert
from raptor_core.tree.published import published_tree


def test_a_tree_with_a_missing_vector_is_refused():
    nodes = make_tree()
    with open_at(None) as store:
        store.publish(make_manifest(nodes), nodes, keyed_vectors(nodes))
        first = Condition((Match("node_id", (nodes[0].id,)),))
        (point,) = store._engine.scroll(first, None)
        store._engine.apply([Upsert((replace(point, dense=None),))])
        with pytest.raises(DamagedTreeError, match="missing vectors: 1"):
            published_tree(store, "t")
