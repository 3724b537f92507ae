"""The sentences of the best passages rerank them."""

from dataclasses import replace

import pytest
from support.hashing import HashingEmbedder
from support.openai_server import FakeOpenAI

from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError
from raptor_core.models.embedding import make_embedder
from raptor_core.retrieval import STRATEGIES, Query, Questions, Retriever
from raptor_core.retrieval.hybrid import reranking
from raptor_core.settings import HybridSettings, Settings
from raptor_core.settings.models import EmbedderSettings
from raptor_core.store.base import Where
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

ANSWER = "The old heron keeps its eel traps under the pier."
QUESTION = "Where does the old heron keep its eel traps?"
HIDDEN = (
    f"Rain fell on the hills for a week. Nobody counted the sheep. The heron keeps eels. {ANSWER}"
)
DECOY = "Where it is, does it matter? Traps of old, keep its traps, old traps, does its old keep."
FILLERS = [f"Row {n} of the wall was painted blue. Day {n} was quiet." for n in range(30)]
TEXT = "\n\n".join([*FILLERS[:5], DECOY, *FILLERS[5:20], HIDDEN, *FILLERS[20:]])

LOOK = Query(budget_tokens=40, reranker="sentences")


def trees_of(embedder, text=TEXT):
    settings = Settings.model_validate({"chunking": {"max_tokens": 40}})
    components = Components(settings, embedder=embedder)
    document = Document("b.md", text, title="The book")
    return list(build_trees({"b.md": [document]}, components=components).values()), components


@pytest.fixture
def found_by():
    reranking._vector_cache.clear()
    embedder = HashingEmbedder()
    retriever = Retriever.from_trees(*trees_of(embedder))
    embedder.n_embedded = 0
    return retriever, embedder


def values(retrieval):
    return [(hit.node, hit.score, dict(hit.why)) for hit in retrieval.hits]


def test_one_sentence_that_answers_brings_its_paragraph_to_the_front(found_by):
    retriever, _ = found_by
    before = retriever.search(QUESTION, replace(LOOK, reranker=""))
    found = retriever.search(QUESTION, LOOK)
    assert ANSWER not in before.context
    assert ANSWER in found.context
    assert ANSWER in found.ranked[0].node.text


def test_a_hit_tells_what_the_second_look_added(found_by):
    retriever, _ = found_by
    hits = retriever.search(QUESTION, replace(LOOK, budget_tokens=400)).ranked
    for hit in hits:
        assert sum(hit.why.values()) == pytest.approx(hit.score, abs=1e-4)
    assert hits[0].why["reranker"] > 0


def test_nothing_is_embedded_where_it_is_off_and_a_weight_of_nothing_changes_nothing(found_by):
    retriever, embedder = found_by
    off = retriever.search(QUESTION, replace(LOOK, reranker=""))
    assert embedder.n_embedded == 1
    none = retriever.search(QUESTION, replace(LOOK, hybrid=HybridSettings(reranker=0)))
    assert embedder.n_embedded > 2
    assert values(none) == values(off)


def test_the_same_question_gets_the_same_alone_and_beside_others_and_embeds_no_sentence_twice(
    found_by,
):
    retriever, embedder = found_by
    first = retriever.search(QUESTION, LOOK)
    n_before = embedder.n_embedded
    again = retriever.search_many(["What was painted?", QUESTION], LOOK)[1]
    reranking._vector_cache.clear()
    afresh = retriever.search(QUESTION, LOOK)
    assert values(first) == values(again) == values(afresh)
    n_known = embedder.n_embedded
    retriever.search(QUESTION, LOOK)
    assert embedder.n_embedded == n_known + 1  # the question
    assert n_known > n_before


def test_a_few_vectors_are_kept(found_by, monkeypatch):
    monkeypatch.setattr(reranking, "MAX_VECTORS", 7)
    retriever, _ = found_by
    first = values(retriever.search(QUESTION, LOOK))
    assert len(reranking._vector_cache) == 7
    assert values(retriever.search(QUESTION, LOOK)) == first


def test_passages_that_were_not_read_stay_under_the_one_that_was(found_by, monkeypatch):
    monkeypatch.setattr(reranking, "N_PASSAGES", 1)
    retriever, _ = found_by
    everything = replace(LOOK, budget_tokens=10_000)
    before = retriever.search(QUESTION, replace(everything, reranker="")).ranked
    after = retriever.search(QUESTION, everything).ranked
    assert after[0].node == before[0].node
    assert ANSWER not in after[0].node.text
    assert len(after) == len(before) > 3


def test_chunks_are_read_where_paragraphs_are_not_known_or_not_asked_for():
    embedder = HashingEmbedder()
    (tree,), components = trees_of(embedder)
    bare = tuple(replace(node, paragraphs=()) for node in tree.layers[0].nodes)
    old = replace(tree, layers=(replace(tree.layers[0], nodes=bare), *tree.layers[1:]))
    for retriever, top_k in (
        (Retriever.from_trees([old], components), None),
        (Retriever.from_trees([tree], components), 5),
    ):
        reranking._vector_cache.clear()
        embedder.n_embedded = 0
        found = retriever.search(QUESTION, replace(LOOK, budget_tokens=400, top_k=top_k))
        assert found.n_paragraphs == 0
        assert embedder.n_embedded > 2
        assert found.ranked[0].why["reranker"] > 0
        assert ANSWER in found.context


def test_no_passage_is_read_where_there_is_none(found_by):
    retriever, _ = found_by
    assert retriever.search(QUESTION, replace(LOOK, where=Where(documents=("none.md",)))).hits == ()


def test_questions_without_an_embedder_are_refused(found_by):
    retriever, embedder = found_by
    asked = Questions((QUESTION,), embedder.embed_queries([QUESTION]))
    with pytest.raises(SettingsError, match="Questions has no embedder"):
        STRATEGIES["hybrid"].retrieve(asked, LOOK, retriever._store)


def test_an_endpoint_is_sent_the_sentences_after_their_headings_once():
    reranking._vector_cache.clear()
    with FakeOpenAI() as server:
        settings = EmbedderSettings(kind="openai", base_url=server.base_url, model="tiny")
        retriever = Retriever.from_trees(*trees_of(make_embedder(settings)))
        n_before = len(server.bodies)
        first = retriever.search(QUESTION, replace(LOOK, budget_tokens=400))
        question, *read = [text for body in server.bodies[n_before:] for text in body["input"]]
        assert question == QUESTION
        assert f"The book\n{ANSWER}" in read
        n_before = len(server.bodies)
        again = retriever.search(QUESTION, replace(LOOK, budget_tokens=400))
        assert [body["input"] for body in server.bodies[n_before:]] == [[QUESTION]]
        assert values(first) == values(again)
