"""A question that nothing answers comes back with a note."""

import pytest

from raptor_core import Components, Document, Query, Retriever, build_trees

TEXTS = {
    "pumps.md": "The harbour pump failed in March, since silt had blocked its intake. Engineer "
    "Oduya replaced the filter, and the pump ran again after three hours.",
    "bridge.md": "Traffic over the northern bridge rose by 12 percent after the toll was "
    "abolished. The council did not extend the night ferry.",
    "lamps.md": "The keeper trims the wick each evening. The lamp burns rape oil, and its glass "
    "is polished with chalk on Saturdays.",
}


@pytest.fixture(scope="module")
def retriever():
    components = Components()
    trees = build_trees({n: [Document(n, t)] for n, t in TEXTS.items()}, components=components)
    return Retriever.from_trees(list(trees.values()), components)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hybrid", "collapsed", "traversal"])
@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("Why did the pump stop working?", True),
        ("Who repaired the machine that drains the port?", True),
        ("How did traffic change without a toll?", True),
        ("What fuel does the lighthouse use?", True),
        ("Summarize everything.", True),
        ("How do I score in cricket?", False),
        ("Which vaccine does a puppy need first?", False),
        ("Was kostet eine Wohnung in Berlin?", False),
        ("Quel est le meilleur vin de Bordeaux ?", False),
        ("如何申请签证", False),
    ],
)
def test_a_question_that_nothing_answers_has_a_note(retriever, strategy, question, is_answered):
    found = retriever.search(question, Query(strategy))
    assert found.hits
    assert ("nearer to the question than chance" in found.note) is not is_answered
