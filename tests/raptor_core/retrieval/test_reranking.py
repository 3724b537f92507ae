"""A cross-encoder reranks the best chunks; the model is tiny and random."""

from dataclasses import replace

import numpy as np
import pytest
from support.cross_encoder import make_cross_encoder
from support.trees import leaf, outlined, uid

from raptor_core.errors import ModelError
from raptor_core.retrieval import Query
from raptor_core.retrieval.hybrid.pool import Ranked
from raptor_core.retrieval.hybrid.reranking import N_CHUNKS, rerank
from raptor_core.settings import HybridSettings

pytestmark = pytest.mark.slow

QUESTION = "what failed"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_cross_encoder(tmp_path_factory.mktemp("models") / "ranker", {0: "score"})


class Leaves:
    """A store of chunks."""

    def __init__(self, n):
        letters = "abcdefghijklmnopqrstuvwxyz"
        texts = [" ".join(letters[(at * k) % 26] for k in range(2, 9)) for at in range(1, n + 1)]
        self.all = [
            replace(leaf(f"l{at}", text), id=uid(f"l{at}"), position=at)
            for at, text in enumerate(texts)
        ]

    def nodes(self, where):
        return [node for node in self.all if node.id in where.ids]


def read_again(n, scores, query):
    leaves = Leaves(n)
    ranked = Ranked(outlined(leaves.all), {"dense": scores})
    return rerank(QUESTION, ranked, query, leaves).scores


def test_the_encoders_order_rules_where_its_weight_is_large(model):
    from sentence_transformers import CrossEncoder

    told = CrossEncoder(model).predict([(QUESTION, node.text) for node in Leaves(12).all])
    assert len(set(told.tolist())) > 6
    query = Query(reranker=model, hybrid=HybridSettings(reranker=1e6))
    found = read_again(12, np.zeros(12), query)
    assert np.argsort(-found, kind="stable").tolist() == np.argsort(-told, kind="stable").tolist()


def test_a_weight_of_nothing_changes_nothing(model):
    given = np.arange(12.0)
    query = Query(reranker=model, hybrid=HybridSettings(reranker=0))
    np.testing.assert_allclose(read_again(12, given, query), given)


def test_what_was_not_read_again_stays_under_what_was(model):
    given = np.linspace(1, 0, N_CHUNKS + 5)
    found = read_again(len(given), given, Query(reranker=model))
    assert found[N_CHUNKS:].max() <= found[:N_CHUNKS].min()
    assert np.argsort(-found[N_CHUNKS:]).tolist() == list(range(5))


def test_nothing_is_ranked_where_nothing_is(model):
    assert len(read_again(0, np.zeros(0), Query(reranker=model))) == 0


def test_a_model_that_is_not_there_or_ranks_nothing_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"retrieval\.reranker"):
        read_again(2, np.zeros(2), Query(reranker=str(tmp_path / "none")))
    three = make_cross_encoder(tmp_path / "nli", {0: "a", 1: "b", 2: "c"})
    with pytest.raises(ModelError, match="expected one"):
        read_again(2, np.zeros(2), Query(reranker=three))
