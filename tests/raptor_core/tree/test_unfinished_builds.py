"""A build after an unfinished one pays for no text and no vector again."""

from collections import Counter

import numpy as np
import pytest
from support.openai_server import FakeOpenAI
from support.paid_build import DOCUMENTS, make_components, paid_settings

from raptor_core.errors import BudgetError
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.leaves import make_leaves


def test_answers_of_a_build_that_ended_are_not_asked_for_again(tmp_path):
    with FakeOpenAI() as server:
        settings = paid_settings(server.base_url, tree={"max_layers": 1})
        bounded = paid_settings(server.base_url, tree={"max_layers": 1}, budget={"calls": 5})
        with pytest.raises(BudgetError):
            build_tree(DOCUMENTS, components=make_components(bounded, tmp_path))
        assert server.n_requests == 5
        tree = build_tree(DOCUMENTS, components=make_components(settings, tmp_path))
        assert len(tree.layers[1].nodes) == server.n_requests
    cache = NodeCache(tmp_path)
    assert cache.unfinished() == ["a.md"]
    cache.forget(["a.md"])
    assert cache.texts(node.content_key for node in tree.nodes()) == {}
    assert cache.vectors(node.embedding_key for node in tree.nodes()) == {}


def test_tools_without_a_cache_keep_nothing_of_a_finished_build():
    with FakeOpenAI() as server:
        bounded = paid_settings(server.base_url, budget={"calls": 5})
        components = make_components(bounded)
        with pytest.raises(BudgetError):
            build_tree(DOCUMENTS, components=components)
        assert components.cache.unfinished() == ["a.md"]
        components = make_components(paid_settings(server.base_url))
        tree = build_tree(DOCUMENTS, components=components)
    keys = [node.embedding_key for node in tree.nodes()]
    assert (components.cache.unfinished(), components.cache.vectors(keys)) == ([], {})


def test_vectors_of_a_build_that_ended_are_not_asked_for_again(tmp_path):
    with FakeOpenAI() as server:
        embedder = {"kind": "openai", "model": "vector", "base_url": server.base_url}
        values = {"embedder": embedder, "tokens": {"counter": "tiktoken"}}
        bounded = paid_settings(
            server.base_url,
            **{**values, "embedder": {**embedder, "batch_size": 9}},
            budget={"calls": 3},
        )
        leaves = make_leaves("t", DOCUMENTS, make_components(bounded))
        with pytest.raises(BudgetError):
            embed_nodes(leaves, make_components(bounded, tmp_path), NodeCache())
        components = make_components(paid_settings(server.base_url, **values), tmp_path)
        embedded = embed_nodes(leaves, components, NodeCache())
        assert len(embedded.reused) == 27
        np.testing.assert_array_equal(
            embedded.vectors, components.embedder.embed([leaf.embedding_text for leaf in leaves])
        )
    sent = Counter(text for body in server.bodies for text in body["input"])
    assert max(sent.values()) == 2  # once to compare


def test_junk_in_the_cache_becomes_no_summary(tmp_path):
    with FakeOpenAI() as server:
        settings = paid_settings(server.base_url, tree={"max_layers": 1})
        tree = build_tree(DOCUMENTS, components=make_components(settings, tmp_path))
        n_paid = server.n_requests
        key = tree.layers[1].nodes[0].content_key
        NodeCache(tmp_path).keep_texts({key: "I'm sorry, but I can't assist with that request."})
        again = build_tree(DOCUMENTS, components=make_components(settings, tmp_path))
        assert server.n_requests == n_paid + 1
    assert list(again.nodes()) == list(tree.nodes())
