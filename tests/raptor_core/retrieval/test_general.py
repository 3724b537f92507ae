"""General questions: which they are, in which language, and what their context covers."""

from dataclasses import replace

import numpy as np
import pytest
from support.hashing import HashingEmbedder

from raptor_core.documents.base import Document
from raptor_core.nodes import Node
from raptor_core.retrieval import Query, Retriever
from raptor_core.retrieval.general import terms
from raptor_core.retrieval.general.coverage import KEPT_WORTH, TOKENS_POWER, choose_nodes
from raptor_core.retrieval.general.terms import TermTable
from raptor_core.retrieval.general.wording import read_wording
from raptor_core.settings import Settings
from raptor_core.store.base import Where
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components
from raptor_formats.blocks import Section

GENERAL = """Summarize the whole meeting.
What's the gist of this book?
How do the characters develop in the course of the story?
Fasse den folgenden Dialog prägnant zusammen
De quoi parle ce livre ?
¿Cuál es el tema central de la historia?
Riassumi tutta la riunione
Resuma a reunião inteira.
请用三句话总结全文。
会議では何が話し合われましたか？""".splitlines()

SPECIFIC = """How many people took part in the meeting?
What does the handbook say about fuel?
Wer hat den Leuchtturm gebaut?
Quelle main tient la lampe ?
¿Qué dijo el ministro sobre las escuelas?
这本书多少钱？
電池についての議論を要約してください""".splitlines()


@pytest.mark.parametrize("question", GENERAL)
def test_a_general_question_has_no_names_in_its_language(question):
    wording = read_wording(question)
    assert wording.is_generic
    assert wording.names == []


@pytest.mark.parametrize("question", SPECIFIC)
def test_a_specific_question_has_names_or_asks_for_a_detail(question):
    wording = read_wording(question)
    assert wording.names or wording.detail or not wording.is_generic


PARTS = {
    "The cold store": "The compressor of the cold store {0} iced up and alarm number {0} failed.",
    "The landing": "The boat came to the landing at tide {0} with rope, fuel and {0} crates.",
    "The garden plot": "The plot number {0} grows beans, and the plot beside it grows leeks.",
}
"""Sections, and the sentence that each paragraph of them has."""


def handbook():
    return document_of(PARTS)


def document_of(parts):
    text, sections = "", []
    for heading, sentence in parts.items():
        start = len(text)
        text += "\n\n".join([heading, *(sentence.format(n) for n in range(12))]) + "\n\n"
        sections.append(Section(heading, 1, start, len(text)))
    return Document("handbook.md", text.strip(), title="Station", sections=tuple(sections))


@pytest.fixture(scope="module")
def components():
    settings = Settings.model_validate({"chunking": {"max_tokens": 24, "max_context_tokens": 0}})
    return Components(settings, embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def trees(components):
    plots = [f"Plot {n} has beans. The plot was dug on day {n}." for n in range(30)]
    garden = Document("garden.md", "\n\n".join(plots), title="Allotments")
    documents = {"handbook.md": [handbook()], "garden.md": [garden]}
    return build_trees(documents, components=components)


@pytest.fixture(scope="module")
def retriever(components, trees):
    return Retriever.from_trees(list(trees.values()), components)


@pytest.fixture(scope="module")
def with_a_part(components):
    document = replace(handbook(), text=f"{handbook().text}\n\nThe part X-4711 broke.")
    trees = build_trees({"handbook.md": [document]}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


BOOK = Where(trees=("handbook.md",))


@pytest.mark.slow
@pytest.mark.parametrize("question", ["Summarize the handbook", "总结这本手册", "Worum geht es?"])
def test_the_context_of_a_general_question_covers_every_section_in_order(retriever, question):
    retrieval = retriever.search(question, Query(budget_tokens=200, where=BOOK))
    assert (retrieval.kind, retrieval.reason) == (
        "general",
        "names nothing that is in the text",
    )
    for word in ("compressor", "boat", "leeks"):
        assert word in retrieval.context
    assert 0 < retrieval.n_tokens <= 200
    positions = [hit.node.position for hit in retrieval.hits]
    assert positions == sorted(positions)
    assert all(hit.why == {"coverage": hit.score} for hit in retrieval.hits)


def test_a_topic_word_that_is_the_subject_of_the_text_is_a_name(retriever):
    in_garden = retriever.search("What is the plot?", Query(where=Where(trees=("garden.md",))))
    assert (in_garden.kind, in_garden.reason) == (
        "detail",
        "names something in the text: plot",
    )
    assert retriever.search("What is the theme?", Query(where=BOOK)).kind == "general"


def test_a_general_request_about_words_of_no_heading_is_a_detail_unless_it_is_forced(retriever):
    question = "Summarize what was said about crates"
    assert retriever.search(question, Query(where=BOOK)).kind == "detail"
    forced = retriever.search(question, Query(budget_tokens=200, where=BOOK, kind="general"))
    assert forced.reason == "is general, as the query says"
    assert (
        forced.hits == retriever.search("Summarize it", Query(budget_tokens=200, where=BOOK)).hits
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "kind", "reason"),
    [
        (
            "Summarize the discussion about crates",
            "detail",
            "names something in the text: crates",
        ),
        ("Summarize the report on X-4711", "detail", "names something in the text: 4711"),
        ("Summarize what broke", "detail", "names something in the text: broke"),
        ("Summarize it for rich and broke fans", "general", "names nothing that the text is about"),
        ("Summarize the landing", "general", "names a part of the text: Station > The landing"),
    ],
)
def test_a_name_of_many_chunks_or_a_heading_and_an_identifier_are_subjects(
    with_a_part, question, kind, reason
):
    retrieval = with_a_part.search(question)
    assert (retrieval.kind, retrieval.reason) == (kind, reason)


def test_bounds_hold_for_general_questions(retriever):
    bounded = Query(top_k=3, where=BOOK)
    assert len(retriever.search("Summarize it", bounded).hits) == 3
    leaves = Query(where=Where(trees=("handbook.md",), layers=(1,)), budget_tokens=500)
    assert {hit.node.layer for hit in retriever.search("Summarize it", leaves).hits} == {1}
    single = Query(max_per_document=1, budget_tokens=1000)
    hits = [hit for hit in retriever.search("Summarize it", single).hits if hit.node.is_leaf]
    assert len(hits) == len({hit.node.documents for hit in hits})
    nothing = retriever.search("Summarize it", Query(budget_tokens=1))
    assert (nothing.hits, nothing.n_passed_over > 0) == ((), True)
    for kind in ("auto", "general"):
        nobody = Query(kind=kind, where=Where(readers=()))
        assert not retriever.search("Summarize it", nobody).hits


def test_questions_of_both_kinds_in_a_batch_give_what_each_gives_alone(retriever):
    questions = ["Summarize it", "Which alarm number failed?", "What is this about?"]
    query = Query(budget_tokens=200, where=BOOK)
    batch = retriever.search_many(questions, query)
    assert [item.kind for item in batch] == ["general", "detail", "general"]
    assert batch == [retriever.search(question, query) for question in questions]


def test_a_large_scope_is_read_from_the_top_with_a_spread_of_chunks(retriever, trees, monkeypatch):
    monkeypatch.setattr(terms, "MAX_NODES", 20)
    monkeypatch.setattr(terms, "_tables", type(terms._tables)())
    retrieval = retriever.search("Summarize it", Query(budget_tokens=400))
    (table,) = terms._tables.values()
    nodes = [node for tree in trees.values() for node in tree.nodes()]
    tops = {node.id for tree in trees.values() for node in tree.layers[-1].nodes}
    ids = {node.id for node in table.nodes}
    assert tops <= ids
    assert 0 < table.is_chunk.sum() < sum(node.is_leaf for node in nodes)
    assert retrieval.hits
    assert {hit.node.id for hit in retrieval.hits} <= ids


def node(name, text, layer=0, children=()):
    return Node(name, "t", layer, name, text, 10, 0, ("d",), tuple(children), "", "")


def test_written_summaries_gain_by_words_of_their_own_and_copies_do_not():
    chunks = [node(f"c{n}", f"red boats sail north {n} red boats") for n in range(4)]
    written = node("w", "vessels departed towards cold arctic harbours", 1, ["c0", "c1"])
    copied = node("k", "red boats sail north", 1, ["c2", "c3"])
    assert TermTable.from_nodes([*chunks, written]).node_factors[-1] == 4
    assert TermTable.from_nodes([*chunks, copied]).node_factors[-1] == 1


def test_a_word_of_a_single_chunk_or_of_no_chunk_is_worth_nothing():
    chunks = [node("a", "oak rare"), node("b", "oak elm"), node("c", "elm yew"), node("e", "yew")]
    texts = ("oak", "oak invented", "oak rare")
    summaries = [node(text, text, 1, ["a", "b"]) for text in texts]
    table = TermTable.from_nodes([*chunks, *summaries])
    worths = table.term_worths(table.is_chunk)
    oak, invented, rare = (worths[table.terms_of(row)].sum() for row in (4, 5, 6))
    assert oak == invented == rare > 0


def test_each_chosen_node_has_the_greatest_gain_of_those_that_fit():
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(list("abcdefghijklmnop"), 8)) for _ in range(30)]
    table = TermTable.from_nodes([node(str(n), text) for n, text in enumerate(texts)])
    worths = table.overall_term_worths.copy()
    chosen = list(choose_nodes(table, Query(budget_tokens=105), [np.ones(30, dtype=bool)]))
    for number, (row, gain) in enumerate(chosen):
        gains = table.sum_worths_by_node(worths) / 10**TOKENS_POWER
        gains[[row for row, _ in chosen[:number]]] = 0
        assert gain == pytest.approx(gains.max()) == pytest.approx(gains[row])
        worths[table.terms_of(row)] *= KEPT_WORTH
    assert len({row for row, _ in chosen}) == 10


OF_THE_THIRD = """What is chapter 3 about?
Summarize chapter three
Give me an overview of the third chapter
What happens in chapter III?
Worum geht es im dritten Kapitel?
De quoi parle le chapitre trois ?
Resuma o terceiro capítulo""".splitlines()
CHAPTERS = ("{}. The cold store", "The landing, chapter {}", "{} chapter: the garden")
"""Headings; each has a numeral of its own in a test."""


@pytest.mark.parametrize(
    "numerals",
    [
        ("I", "Two", "Third"),
        *(pytest.param(of, marks=pytest.mark.rare) for of in (("1", "2", "3"), ("I", "II", "III"))),
    ],
)
def test_a_part_is_found_by_its_number_in_any_form(components, numerals):
    headings = [h.format(n) for h, n in zip(CHAPTERS, numerals, strict=True)]
    book = document_of(dict(zip(headings, PARTS.values(), strict=True)))
    trees = build_trees({"book": [book]}, components=components)
    retriever = Retriever.from_trees(list(trees.values()), components)
    for question in OF_THE_THIRD:
        found = retriever.search(question, Query(budget_tokens=200))
        assert found.kind == "general"
        assert {hit.node.section for hit in found.hits if hit.node.is_leaf} == {(headings[2],)}
