"""QASPER, QuALITY and NarrativeQA in their published forms."""

import json

import pytest
from support.evaluation_sets import LAMP, MILL, qasper, quality, write_lines, write_narrativeqa

from raptor_lab.datasets.load import load_dataset


def by_id(dataset):
    return {question.id: question for question in dataset.questions}


@pytest.fixture
def papers(tmp_path):
    def write(papers, **options):
        path = tmp_path / "qasper-dev.json"
        path.write_text(json.dumps(papers, **options))
        return path

    return write


@pytest.mark.parametrize("indent", [None, 1])
def test_qasper_as_published(papers, indent):
    found = load_dataset(papers(qasper(), indent=indent))
    assert found.name == "qasper"
    mill, lamp = found.documents
    assert (mill.id, mill.title) == ("1904.00001", "On mills")
    assert mill.text == f"Abstract\nWe study a mill.\n\nThe mill\n{MILL}\n\nNothing is left of it."
    assert [section.title for section in mill.sections] == ["Abstract", "The mill"]
    assert lamp.text == f"The lamp\n{LAMP}"
    assert found.abstracts == {"1904.00001": "We study a mill.", "1911.00002": ""}


def test_qasper_answers_are_read_as_the_official_evaluation_does(papers):
    asked = by_id(load_dataset(papers(qasper())))
    assert asked["q1"].answers == ("a smith, forty ploughs",)
    assert asked["q1"].evidence == ("She sold the wheel to a smith.",)
    assert asked["q2"].answers == ("Yes", "a smith, forty ploughs")
    assert asked["q2"].kinds == ("boolean", "extractive")
    assert asked["q3"].answers == ("Rape oil.",)
    assert (asked["q4"].answers, asked["q4"].evidence) == (("Unanswerable",), ())
    assert asked["q3"].document == asked["q3"].sources[0] == "1911.00002"


def test_quality_as_published(tmp_path):
    found = load_dataset(write_lines(tmp_path / "quality.dev", quality()))
    assert found.name == "quality"
    assert [document.id for document in found.documents] == ["mill", "lamp"]
    assert found.documents[1].text.strip() == LAMP
    asked = by_id(found)
    assert asked["mill_A_1"].gold == 0
    assert asked["mill_A_1"].answers == ("A smith.",)
    assert [asked[name].hard for name in ("mill_A_1", "mill_B_1", "lamp_A_1")] == [0, 1, 1]
    assert asked["lamp_A_1"].options[asked["lamp_A_1"].gold] == "Rape oil."


def test_a_test_set_without_labels_has_questions_without_gold(tmp_path):
    rows = quality()
    for key in ("gold_label", "writer_label", "difficult"):
        del rows[0]["questions"][0][key]
    asked = by_id(load_dataset(write_lines(tmp_path / "q.jsonl", rows)))
    assert (asked["mill_A_1"].gold, asked["mill_A_1"].hard) == (None, None)
    assert asked["mill_A_1"].answers == ()


def test_narrativeqa_as_published(tmp_path):
    found = load_dataset(write_narrativeqa(tmp_path / "nqa"))
    assert found.name == "narrativeqa"
    assert {document.id: document.text.strip() for document in found.documents} == {
        "book": MILL,
        "script": LAMP,
    }
    assert [item.name for item in found.left_out] == ["gone"]
    assert [q.answers for q in found.questions] == [("A smith.", "the smith"), ("Rape oil",)]
    train = load_dataset(tmp_path / "nqa", split="train")
    assert [q.answers for q in train.questions] == [("Then.",)]
