"""A cross-encoder's second look, with a tiny random one."""

from dataclasses import replace

import numpy as np
import pytest
from support.cross_encoder import make_cross_encoder
from support.trees import leaf

from raptor_core.errors import ModelError
from raptor_core.retrieval import Query
from raptor_core.retrieval.hybrid.reranking import RERANKED, reranked
from raptor_core.settings import HybridSettings
from raptor_core.store.candidates import candidate_of

pytestmark = pytest.mark.slow

QUESTION = "what failed"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_cross_encoder(tmp_path_factory.mktemp("models") / "ranker", {0: "score"})


def leaves(n):
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = [" ".join(letters[(at * k) % 26] for k in range(2, 9)) for at in range(1, n + 1)]
    return [
        candidate_of(replace(leaf(f"l{at}", text), position=at)) for at, text in enumerate(texts)
    ]


def test_the_encoders_order_rules_where_its_weight_is_large(model):
    from sentence_transformers import CrossEncoder

    nodes = leaves(12)
    told = CrossEncoder(model).predict([(QUESTION, node.read().text) for node in nodes])
    assert len(set(told.tolist())) > 6
    query = Query(reranker=model, hybrid=HybridSettings(reranker=1e6))
    found = reranked(QUESTION, nodes, np.zeros(12), query)
    assert np.argsort(-found, kind="stable").tolist() == np.argsort(-told, kind="stable").tolist()


def test_a_weight_of_nothing_changes_nothing(model):
    given = np.arange(12.0)
    query = Query(reranker=model, hybrid=HybridSettings(reranker=0))
    np.testing.assert_allclose(reranked(QUESTION, leaves(12), given, query), given)


def test_what_was_not_read_again_stays_under_what_was(model):
    nodes = leaves(RERANKED + 5)
    given = np.linspace(1, 0, len(nodes))
    found = reranked(QUESTION, nodes, given, Query(reranker=model))
    assert found[RERANKED:].max() <= found[:RERANKED].min()
    assert np.argsort(-found[RERANKED:]).tolist() == list(range(5))


def test_nothing_is_ranked_where_nothing_is(model):
    assert len(reranked(QUESTION, [], np.zeros(0), Query(reranker=model))) == 0


def test_a_model_that_is_not_there_or_ranks_nothing_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"retrieval\.reranker"):
        reranked(QUESTION, leaves(2), np.zeros(2), Query(reranker=str(tmp_path / "none")))
    three = make_cross_encoder(tmp_path / "nli", {0: "a", 1: "b", 2: "c"})
    with pytest.raises(ModelError, match="expected one"):
        reranked(QUESTION, leaves(2), np.zeros(2), Query(reranker=three))
