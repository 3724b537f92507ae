"""Data sets in the plain form, and a user's own questions."""

import pytest
from support.evaluation_sets import MILL, records, write_lines

from raptor_core.documents.base import Document
from raptor_core.errors import SourceError
from raptor_lab.datasets.load import load_dataset, needs_documents
from raptor_lab.datasets.sections import find_sections


def by_id(dataset):
    return {question.id: question for question in dataset.questions}


def test_documents_with_their_questions(tmp_path):
    found = load_dataset(write_lines(tmp_path / "village.jsonl", records()))
    assert found.name == "village"
    assert [document.id for document in found.documents] == ["mill", "lamp", "soup"]
    asked = by_id(found)
    assert asked["mill-w"].answers == ("a smith",)
    assert asked["lamp-1"].answers == ("rape oil",)
    assert asked["soup-1"].evidence == ()


PAPER = """Introduction
Mills grind.
A line that ends with a stop.
2.1 The wheel
It turns: slowly, in a line that is far longer than any heading of a paper would ever be, no doubt
Is it ours?
ok
Results
"""


def paper_row(**fields):
    ask = {"question": "What grinds?", "evidence": ["2.1 The wheel", "Mills grind."]}
    return {"paper_id": "p", "title": "Mills", "text": PAPER, "questions": [ask], **fields}


def test_the_sections_that_a_paper_lists_are_its_sections(tmp_path):
    row = paper_row(sections=[{"name": "Introduction"}, {"name": "Results"}])
    (document,) = load_dataset(write_lines(tmp_path / "p.jsonl", [row])).documents
    assert [section.title for section in document.sections] == ["Introduction", "Results"]


def test_listed_sections_are_nested_by_their_names():
    text = "Data\nThe Data.\nData ::: Sources\nS.\nEnd ::: A\nE."
    listed = [{"name": "Data"}, {"name": "Data ::: Sources"}, {"name": "End ::: A"}]
    found = [(s.level, s.title) for s in find_sections(text, listed)]
    assert found == [(1, "Data"), (2, "Sources"), (1, "End ::: A")]
    for unusable in ([{"name": "No"}], [1], "Data", {}, None):
        assert find_sections(text, unusable) == ()


def test_own_questions_are_asked_of_given_documents(tmp_path):
    rows = [
        {"question": "Who bought the wheel?", "expected": ["mill.md", "soup.md"], "kind": "multi"},
        {"question": "What burned?", "span": "rape oil", "tree": "lamp.md", "answer": "Oil."},
    ]
    path = write_lines(tmp_path / "mine.jsonl", rows)
    assert needs_documents(path)
    documents = [Document(f"{name}.md", MILL) for name in ("mill", "soup", "lamp")]
    found = load_dataset(path, documents=documents)
    first, second = found.questions
    assert (first.document, first.sources, first.kinds) == (
        None,
        ("mill.md", "soup.md"),
        ("multi",),
    )
    assert (second.document, second.evidence, second.answers) == (
        "lamp.md",
        ("rape oil",),
        ("Oil.",),
    )
    assert (first.cluster, second.cluster) == ("mill.md", "lamp.md")
    with pytest.raises(SourceError, match=r"line 1: the source has no document 'mill\.md'"):
        load_dataset(path, documents=documents[1:])
    with pytest.raises(SourceError, match="no documents; name their documents"):
        load_dataset(path)


def test_ids_of_questions_need_to_be_unique_in_their_document_only(tmp_path):
    rows = records()
    for row in rows:
        row["questions"][0]["qid"] = "s0"
    dataset = load_dataset(write_lines(tmp_path / "same.jsonl", rows))
    assert {f"{row}-s0" for row in ("mill", "lamp")} <= {item.id for item in dataset.questions}
