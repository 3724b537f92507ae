"""The LlamaIndex retriever returns the hits of a search, and behaves as LlamaIndex requires."""

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from raptor_core.integrations.llama_index import RaptorRetriever
from raptor_core.retrieval import Query

pytestmark = pytest.mark.slow

QUESTION = "the castle by the river"


def test_nodes_are_the_hits_the_best_first(retriever, mixed):
    found = retriever.search(QUESTION, mixed).hits_by_score
    nodes = RaptorRetriever(retriever, mixed).retrieve(QUESTION)
    assert [node.text for node in nodes] == [hit.node.text for hit in found]
    assert [node.node_id for node in nodes] == [hit.node.id for hit in found]
    assert [node.metadata["score"] for node in nodes] == [hit.score for hit in found]


def test_a_chunk_has_its_place_and_a_summary_has_none(retriever, mixed):
    nodes = [found.node for found in RaptorRetriever(retriever, mixed).retrieve(QUESTION)]
    chunks = [node for node in nodes if node.metadata["layer"] == 0]
    assert chunks
    for node in chunks:
        (span,) = retriever.trace(node.node_id).spans
        assert (node.start_char_idx, node.end_char_idx) == (span.start, span.end)
        assert node.metadata["source"] == span.source
    summaries = [node for node in nodes if node.metadata["layer"] > 0]
    assert summaries
    assert all(node.start_char_idx is None for node in summaries)


def test_it_stands_in_a_query_engine(retriever):
    ours = RaptorRetriever(retriever, Query(budget_tokens=60))
    answer = RetrieverQueryEngine.from_args(ours, llm=MockLLM()).query(QUESTION)
    expected = [
        hit.node.id for hit in retriever.search(QUESTION, Query(budget_tokens=60)).hits_by_score
    ]
    assert [node.node_id for node in answer.source_nodes] == expected
    assert all(node.text in str(answer) for node in answer.source_nodes)
