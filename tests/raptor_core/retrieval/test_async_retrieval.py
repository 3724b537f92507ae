"""Concurrent searches, from coroutines and threads, return what each returns alone."""

import asyncio
import threading

import pytest
from support.hashing import HashingEmbedder
from support.workshop import SMALL, prose

from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError, UnknownTreeError
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

    async def together():
        return await asyncio.gather(*(retriever.asearch(asked, query) for asked in QUESTIONS))

    assert asyncio.run(together()) == alone
    assert all(found.hits for found in alone)
    assert asyncio.run(retriever.asearch_many(QUESTIONS, query)) == alone


def test_the_event_loop_goes_on_while_a_search_waits(retriever):
    gate = threading.Event()

    class Slow(HashingEmbedder):
        def embed_queries(self, texts):
            assert gate.wait(60)
            return super().embed_queries(texts)

    waiting = Retriever(retriever._store, Slow())

    async def search_and_open():
        search = asyncio.create_task(waiting.asearch(QUESTIONS[0]))
        await asyncio.sleep(0)
        gate.set()
        return await search

    assert asyncio.run(search_and_open()).hits == retriever.search(QUESTIONS[0]).hits


def test_errors_reach_who_awaits(retriever):
    with pytest.raises(SettingsError, match="no strategy"):
        asyncio.run(retriever.asearch("why?", Query("nosuch")))
    with pytest.raises(UnknownTreeError, match="no published node"):
        asyncio.run(retriever.atrace("00000000-0000-0000-0000-000000000000"))
