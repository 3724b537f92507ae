"""The LangChain retriever returns the hits of a search, and behaves as LangChain requires."""

import asyncio
import importlib
import json
import sys
from dataclasses import replace

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from raptor_core.errors import MissingExtraError, SettingsError
from raptor_core.integrations.langchain import RaptorRetriever
from raptor_core.retrieval import STRATEGIES, Query

pytestmark = pytest.mark.slow

QUESTION = "the castle by the river"


def test_documents_are_the_hits_the_best_first(retriever, mixed):
    found = retriever.search(QUESTION, mixed).ranked
    documents = RaptorRetriever(searcher=retriever, query=mixed).invoke(QUESTION)
    assert [document.page_content for document in documents] == [hit.node.text for hit in found]
    assert [document.id for document in documents] == [hit.node.id for hit in found]
    assert [document.metadata["score"] for document in documents] == [hit.score for hit in found]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_relevance_falls_from_one_to_zero_at_least(retriever, strategy):
    query = Query(strategy, 100_000)
    documents = RaptorRetriever(searcher=retriever, query=query).invoke(QUESTION)
    relevances = [document.metadata["relevance"] for document in documents]
    assert relevances == sorted(relevances, reverse=True)
    assert relevances[0] == 1.0
    assert relevances[-1] >= 0.0


def test_metadata_leads_to_the_source(retriever, mixed):
    documents = RaptorRetriever(searcher=retriever, query=mixed).invoke(QUESTION)
    chunks = [document for document in documents if document.metadata["layer"] == 0]
    summaries = [document for document in documents if document.metadata["layer"] > 0]
    assert chunks
    assert summaries
    for document in chunks:
        (span,) = retriever.trace(document.metadata["node_id"]).spans
        told = document.metadata
        assert (told["start"], told["end"], told["source"]) == (span.start, span.end, span.source)
        assert (told["documents"], told["section"]) == ([span.document], list(span.section))
        assert told["metadata"]["year"] == (0 if told["tree"] == "a.md" else 1)
    assert not any({"start", "end", "source", "section"} & set(d.metadata) for d in summaries)
    json.dumps([document.metadata for document in documents])


def test_waiting_and_batches_give_the_same(retriever, mixed):
    ours = RaptorRetriever(searcher=retriever, query=mixed)
    questions = [QUESTION, "winter in the harbour", "a copper violin"]
    alone = [ours.invoke(question) for question in questions]
    assert asyncio.run(ours.ainvoke(QUESTION)) == alone[0]
    assert ours.batch(questions) == alone
    assert asyncio.run(ours.abatch(questions)) == alone


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_strategy_gives_more_than_were_asked_for(retriever, strategy):
    query = Query(strategy, 100_000)
    found = retriever.search(QUESTION, replace(query, top_k=2))
    best = {hit.node.id for hit in found.ranked[:2]}
    ours = RaptorRetriever(searcher=retriever, query=query)
    assert {document.id for document in ours.invoke(QUESTION, k=2)} == best
    assert {document.id for document in asyncio.run(ours.ainvoke(QUESTION, k=2))} == best


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests of a retriever."""

    retriever_constructor = RaptorRetriever
    retriever_query_example = QUESTION

    @pytest.fixture(autouse=True)
    def _searched(self, retriever_over_trees):
        self._searcher = retriever_over_trees

    @property
    def retriever_constructor_params(self):
        return {"searcher": self._searcher}


def test_a_parameter_that_nobody_knows_is_an_error(retriever):
    with pytest.raises(ValueError, match="top_n"):
        RaptorRetriever(searcher=retriever, top_n=3)
    with pytest.raises(TypeError, match="top_n"):
        RaptorRetriever(searcher=retriever).invoke(QUESTION, top_n=3)
    with pytest.raises(SettingsError, match="expected 1 or more results, got 0"):
        RaptorRetriever(searcher=retriever).invoke(QUESTION, k=0)


def test_without_langchain_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_core.retrievers", None)
    monkeypatch.delitem(sys.modules, "raptor_core.integrations.langchain")
    with pytest.raises(MissingExtraError, match=r"raptor-assets\[langchain\]"):
        importlib.import_module("raptor_core.integrations.langchain")


def test_documents_stand_in_the_order_of_the_texts_on_request(retriever, mixed):
    ours = RaptorRetriever(searcher=retriever, query=mixed, order="document")
    found = retriever.search(QUESTION, mixed).hits
    assert [document.id for document in ours.invoke(QUESTION)] == [hit.node.id for hit in found]
