"""A small budget gets the line that answers: of a list, of directives, of a table, of a page."""

from dataclasses import replace

import pytest
from support.hashing import HashingEmbedder
from support.trees import leaf

from raptor_core.documents.base import Document
from raptor_core.retrieval import Query, Retriever
from raptor_core.retrieval.base import HybridWeights
from raptor_core.retrieval.hybrid.passages import cut
from raptor_core.retrieval.hybrid.reading import word_shares
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components
from raptor_formats.markup.markdown import parse_markdown
from raptor_formats.markup.rst import parse_rst

COMMANDS = """# kiln

> Commands for the kiln of the pottery.

- Heat the kiln for stoneware:

`kiln heat --to 1250`

- Cool all kilns at once:

`kiln cool --every`

- Show how much gas a kiln has burnt:

`kiln stat --gas`

- Clean the flue of a kiln:

`kiln flue --clean`
"""
SETTINGS = """glaze settings
==============

.. conf:: GLAZE_COAT

    Coats of glaze on a bowl. The default is ``two``, and it may be changed at any time.

.. conf:: GLAZE_DRY

    Hours until a glaze is dry. The default is ``nine``, and it may be changed at any time.

.. conf:: GLAZE_SIEVE

    Mesh of the sieve. The default is ``eighty``, and it may be changed at any time.
"""
TABLE = """# Prices

| piece | number | price | clay |
| --- | --- | --- | --- |
| Bowl, small | PB-10 | 12 | red |
| Bowl, large | PB-11 | 19 | red |
| Jug | PJ-20 | 31 | white |
| Teapot | PT-30 | 64 | white |
| Candlestick | PC-40 | 22 | black |
"""
SUPPORT = """# Help

## Resetting the wheel

Hold the pedal down for nine seconds until the lamp is dark.

## Shipping to Norway

Parcels to Norway take twelve days, and customs are paid there.

## Guarantee

Kilns are covered for two years, wheels for five, and cracks are not.
"""


@pytest.fixture(scope="module")
def retriever():
    pages = {"kiln.md": COMMANDS, "prices.md": TABLE, "help.md": SUPPORT, "glaze.rst": SETTINGS}
    documents = []
    for name, text in pages.items():
        parse = parse_rst if name.endswith("rst") else parse_markdown
        parsed = parse(text.encode())
        documents.append(
            Document(
                name, parsed.text, parsed.title, sections=parsed.sections, blocks=parsed.blocks
            )
        )
    components = Components(embedder=HashingEmbedder())
    trees = build_trees({"all": documents}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


def ask(retriever, question, budget, **how):
    """Ask by words alone: the vectors of the tests know nothing of meaning."""
    hybrid = HybridWeights(lexical=1)
    return retriever.search(question, Query(budget_tokens=budget, hybrid=hybrid, **how))


@pytest.mark.parametrize("budget", [40, 60, 90])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do I cool all kilns?", "`kiln cool --every`"),
        ("How is the flue of a kiln cleaned?", "`kiln flue --clean`"),
        ("How many hours until a glaze is dry?", "``nine``"),
        ("What is the default mesh of the sieve?", "``eighty``"),
        ("What is the price of a teapot?", "| Teapot | PT-30 | 64 | white |"),
        ("How do I reset the wheel?", "Hold the pedal down for nine seconds"),
    ],
)
def test_a_small_budget_gets_the_line_that_answers(retriever, question, answer, budget):
    found = ask(retriever, question, budget)
    assert answer in found.context
    assert found.n_tokens <= budget


def test_a_row_comes_with_the_names_of_its_columns(retriever):
    found = ask(retriever, "What is the price of a teapot?", 40)
    assert "piece | number | price | clay" in found.context
    (teapot,) = (hit.node for hit in found.hits if "Teapot" in hit.node.text)
    assert teapot.text == TABLE[teapot.start : teapot.end]


def test_no_passage_fills_the_budget_that_no_part_of_its_score_speaks_for(retriever):
    for question in ("How do I cool all kilns?", "How do I reset the wheel?"):
        found = ask(retriever, question, 2000)
        assert all(
            hit.score > 0 or any(part > 0 for part in hit.why.values()) for hit in found.hits
        )
        assert found.n_tokens < 400
    counted = ask(retriever, "How do I cool all kilns?", 2000, top_k=20)
    assert len(counted.hits) > len(found.hits)


def test_a_paragraph_over_the_budget_gives_the_sentence_that_answers():
    sentences = ("The kiln was built in spring.", "Its door came from Norway.", "Ada lit it first.")
    components = Components(embedder=HashingEmbedder())
    documents = [Document("a", " ".join(sentences)), Document("b", "Jugs dry slowly.")]
    trees = build_trees({"a": documents}, components=components)
    retriever = Retriever.from_trees(list(trees.values()), components)
    for question, sentence in zip(("When?", "Norway door?", "Who lit it?"), sentences, strict=True):
        assert ask(retriever, f"{question} kiln", 10).context == sentence


def test_the_only_chunk_is_found_though_nothing_compares_with_it():
    components = Components(embedder=HashingEmbedder())
    trees = build_trees({"a": [Document("a", "The kiln is hot.")]}, components=components)
    retriever = Retriever.from_trees(list(trees.values()), components)
    assert len(retriever.search("Where is Norway?", Query(kind="detail")).hits) == 1


def test_words_count_in_any_inflection_and_rare_ones_more():
    texts = ["the pumps are stopped", "the pump runs", "the tank leaks", "the cat sleeps"]
    shares = word_shares("How do I stop the pump?", texts)
    assert shares[0] == 1
    assert shares[0] > shares[1] > shares[2] == shares[3]
    assert word_shares("Why?", texts).tolist() == [0, 0, 0, 0]
    assert word_shares("Why?", []).tolist() == []


ROWS = (
    "code | meaning\nA1 | red\nB2 | green\n\nname: Ada | born: 1815\nname: Eve | born: 1820\n\nlast"
)


@pytest.mark.parametrize(
    ("context", "line", "shown"),
    [
        ("Codes", "B2 | green", "code | meaning\nB2 | green"),
        ("Codes\ncolour | word", "B2 | green", "colour | word\nB2 | green"),
        ("Codes\ncolour | word", "name: Eve | born: 1820", "name: Eve | born: 1820"),
        ("Codes\ncolour | word", "last", "last"),
    ],
)
def test_a_line_of_a_chunk_has_the_columns_of_its_table_alone(context, line, shown):
    starts = [ROWS.index(part) for part in ROWS.replace("\n\n", "\n").split("\n")]
    parts = tuple((start, 5) for start in starts)
    node = replace(leaf("a"), text=ROWS, start=0, end=len(ROWS), context=context, paragraphs=parts)
    at = starts.index(ROWS.index(line))
    assert cut(node, slice(at, at + 1)).shown_text == shown
    assert cut(node, slice(0, len(parts))).shown_text == node.shown_text
