"""Follow-up questions: which lean on the turns before them, and what they take of these."""

import pytest
from support.hashing import HashingEmbedder

from raptor_core.documents.base import Document
from raptor_core.errors import SettingsError
from raptor_core.retrieval import Query, Retriever
from raptor_core.retrieval.questions import follow_up
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

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
    assert follow_up(question, history) == expected


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
    assert follow_up(question, ["Who is Bob?", "Bob is the captain of the red boat."]) == question


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
