"""A small budget gets the line that answers: of a list, of directives, of a table, of a page."""

from dataclasses import replace

import pytest
from support.hashing import HashingEmbedder
from support.trees import leaf

from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError
from raptor_core.retrieval import Query, Retriever
from raptor_core.retrieval.general.wording import is_courtesy
from raptor_core.retrieval.hybrid.passages import cut_chunk
from raptor_core.retrieval.hybrid.reading import word_shares
from raptor_core.retrieval.questions import complete_follow_up
from raptor_core.settings.retrieval import HybridSettings
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
                name,
                parsed.text,
                parsed.title,
                sections=parsed.sections,
                blocks=parsed.packed_blocks,
            )
        )
    components = Components(embedder=HashingEmbedder())
    trees = build_trees({"all": documents}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


def ask(retriever, question, budget, **how):
    """Ask by words alone: the vectors of the tests know nothing of meaning."""
    hybrid = HybridSettings(lexical=1)
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
    assert cut_chunk(node, slice(at, at + 1)).shown_text == shown
    assert cut_chunk(node, slice(0, len(parts))).shown_text == node.shown_text


WEEKENDS = "Is this course also given on weekends?"
LEANING = [
    ("And why?", ["What broke the pump?"], "And why? (broke, pump)"),
    ("And the seal?", ["What broke the pump?"], "And the seal? (broke, pump)"),
    ("Und warum?", ["Wer hat den Leuchtturm gebaut?"], "Und warum? (leuchtturm)"),
    ("他多大了？", ["谁建造了灯塔？"], "他多大了？ (建造, 灯塔)"),
    ("And why?", ["The pump failed.", "The seal is new."], "And why? (seal, new, pump, failed)"),
    ("And why?", ["What broke the pump?", "", " "], "And why? (broke, pump)"),
    ("What about the red seal?", ["Hi", "The pump?"], "What about the red seal? (pump)"),
    ("How much does it cost?", ["The pump?"], "How much does it cost? (pump)"),
    ("Yes, B1 please", ["A1 or B1?"], "Yes, B1 please (a1)"),
    (WEEKENDS, ["A1?"], f"{WEEKENDS} (a1)"),
    ("Who won?", ["The regatta?"], "Who won? (regatta)"),
    ("Was ist mit der Wartung?", ["Die Pumpe?"], "Was ist mit der Wartung? (pumpe)"),
    ("Et le service ?", ["La pompe ?"], "Et le service ? (pompe)"),
    ("¿Y el servicio?", ["¿La bomba?"], "¿Y el servicio? (bomba)"),
    ("E la manutenzione?", ["La pompa?"], "E la manutenzione? (pompa)"),
    ("E a bomba?", ["O barco?"], "E a bomba? (barco)"),
    ("那维修呢？", ["谁建造了灯塔？"], "那维修呢？ (建造, 灯塔)"),
    ("では修理は？", ["灯台は？"], "では修理は？ (灯台)"),
]


@pytest.mark.parametrize(("question", "history", "expected"), LEANING)
def test_a_question_takes_what_it_leans_on(question, history, expected):
    assert complete_follow_up(question, history) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Summarize the whole meeting",
        "What colour is the flag of Norway?",
        "When did she leave the harbour?",
        "Wann wurde der Vertrag unterschrieben?",
        "What is photosynthesis?",
        "Who is Anna?",
        "Is there a museum?",
        "Now something else: compost?",
        "Wer ist Anna?",
        "Gibt es ein Museum?",
        "Qui est Anna ?",
        "¿Quién es Anna?",
        "Chi è Anna?",
        "Quem é Ana?",
        "安娜是谁？",
        "アンナは誰ですか",
    ],
)
def test_a_question_that_stands_alone_takes_nothing(question):
    assert (
        complete_follow_up(question, ["Who is Bob?", "Bob is the captain of the red boat."])
        == question
    )


COURTESIES = """
Thanks! / ok / Great, thank you! / Thank you so much for the quick answer / No, thanks.
That's all.
OK, got it. / That was very helpful, thanks / Hello! / Good morning / I see. / Have a nice day, bye!
Danke / Super, vielen Dank! / Alles klar, danke dir / Das hat mir sehr geholfen / Guten Tag
Merci beaucoup ! / D'accord, c'est parfait / ¡Muchas gracias! / Vale, entendido
Grazie mille / Perfetto, va bene / Muito obrigado / Ótimo, entendi! / 好的，谢谢你 / 明白了
ありがとうございます / 了解です
"""
ASKING = """
ok and why? / Great, tell me more / Thanks, and the price? / OK, what about it? / Yes / Yes please
Is it good? / Is that all right for it? / 好吗？ / Danke, und warum? / Gut, und wie lange? / Ja
Merci, et pourquoi ? / Gracias, ¿y por qué? / Grazie, e perché? / 好的，为什么？
ありがとう、なぜ？
"""


def turns(text):
    return [turn.strip() for line in text.strip().splitlines() for turn in line.split(" / ")]


@pytest.mark.parametrize("turn", turns(COURTESIES))
def test_thanks_and_greetings_ask_for_nothing_and_are_no_history(turn):
    assert complete_follow_up(turn, ["What broke the pump?", "The seal."]) == turn
    assert complete_follow_up("And why?", ["The pump?", turn]) == "And why? (pump)"


@pytest.mark.parametrize("turn", turns(ASKING))
def test_thanks_before_a_question_leave_it_a_question(turn):
    assert not is_courtesy(turn)
    assert not is_courtesy(f"{500 * 'thank you ok 好的 '}{turn}")  # in linear time


@pytest.mark.slow
def test_a_search_reads_a_follow_up_with_its_history_and_says_so():
    texts = {"pump": "The pump failed as the seal broke.", "boat": "The boat sank in a storm."}
    documents = {name: [Document(name, text)] for name, text in texts.items()}
    components = Components(embedder=HashingEmbedder())
    trees = build_trees(documents, components=components)
    retriever = Retriever.from_trees(list(trees.values()), components)
    for history, document in ((["What of the pump?"], "pump"), (["What of the boat?"], "boat")):
        retrieval = retriever.search("And why?", Query(top_k=1), history=history)
        assert [hit.node.documents for hit in retrieval.hits] == [(document,)]
        assert retrieval.question == "And why?"
        assert f"the question was read as 'And why? ({document})'" in retrieval.note
        with pytest.raises(SettingsError, match="expected a list of messages"):
            retriever.search("And why?", history=history[0])
