"""The LangChain retriever returns the hits of a search, and behaves as LangChain requires."""

import json

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from raptor_core.integrations.langchain import RaptorRetriever
from raptor_core.retrieval import STRATEGIES, Query

pytestmark = pytest.mark.slow

QUESTION = "the castle by the river"


def test_documents_are_the_hits_the_best_first(retriever, mixed):
    found = retriever.search(QUESTION, mixed).hits_by_score
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
        described = document.metadata
        assert (described["start"], described["end"], described["source"]) == (
            span.start,
            span.end,
            span.source,
        )
        assert (described["documents"], described["section"]) == (
            [span.document],
            list(span.section),
        )
        assert described["metadata"]["year"] == (0 if described["tree"] == "a.md" else 1)
    assert not any({"start", "end", "source", "section"} & set(d.metadata) for d in summaries)
    json.dumps([document.metadata for document in documents])


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


def test_documents_stand_in_the_order_of_the_texts_on_request(retriever, mixed):
    ours = RaptorRetriever(searcher=retriever, query=mixed, order="document")
    found = retriever.search(QUESTION, mixed).hits
    assert [document.id for document in ours.invoke(QUESTION)] == [hit.node.id for hit in found]
