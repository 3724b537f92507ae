"""Searches of several threads at once return what each returns alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.hashing import HashingEmbedder
from support.workshop import SMALL, prose

from raptor_core.documents.base import Document
from raptor_core.retrieval import STRATEGIES, Query, Retriever
from raptor_core.settings import Settings
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

QUESTIONS = [f"{prose(2, seed)} {seed}" for seed in range(24)]


@pytest.fixture(scope="module")
def retriever():
    settings = Settings.model_validate({part: SMALL[part] for part in ("chunking", "components")})
    components = Components(settings, embedder=HashingEmbedder())
    documents = {name: [Document(name, prose(60, seed))] for seed, name in enumerate("ab")}
    return Retriever.from_trees(
        list(build_trees(documents, components=components).values()), components
    )


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_searches_at_once_give_what_each_gives_alone(retriever, strategy):
    query = Query(strategy, budget_tokens=120, top_k=4)
    alone = [retriever.search(question, query) for question in QUESTIONS]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda asked: retriever.search(asked, query), QUESTIONS)) == alone
    assert all(found.hits for found in alone)
