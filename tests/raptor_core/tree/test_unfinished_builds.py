"""A build after an unfinished one pays for no text and no vector again."""

import pytest
from support.openai_server import FakeOpenAI
from support.paid_build import DOCUMENTS, make_components, paid_settings

from raptor_core.errors import BudgetError
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache


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
