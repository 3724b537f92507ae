"""Data sets in the plain form, and a user's own questions."""

import csv
import json

import pytest
from support.evaluation_sets import (
    LAMP,
    MILL,
    SOUP,
    qasper,
    records,
    write_lines,
)

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
    assert (first.bootstrap_unit, second.bootstrap_unit) == ("mill.md", "lamp.md")
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


@pytest.fixture
def papers(tmp_path):
    def write(papers, **options):
        path = tmp_path / "qasper-dev.json"
        path.write_text(json.dumps(papers, **options))
        return path

    return write


@pytest.mark.parametrize("indent", [None, 1])
def test_qasper_is_read_in_its_published_form(papers, indent):
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


def quality():
    """Two lines of one article, one of another that is HTML."""

    def line(article, set_id, text, *questions):
        return {
            "article_id": article,
            "set_unique_id": set_id,
            "title": article.title(),
            "article": text,
            "questions": list(questions),
        }

    def question(text, options, gold, difficult):
        labels = {"gold_label": gold, "writer_label": gold, "difficult": difficult}
        return {"question": text, "options": options, **labels}

    wheel = ["A smith.", "A king.", "The keeper.", "Nobody."]
    oil = ["Paraffin.", "Rape oil.", "Coal.", "Gas."]
    where = ["To Rome.", "To Oslo.", "To Bergen.", "To Osby."]
    return [
        line("mill", "mill_A", MILL, question("Who bought the wheel?", wheel, 1, 0)),
        line("mill", "mill_B", MILL, question("Where did Aud move?", where, 3, 1)),
        line("lamp", "lamp_A", f"<p>{LAMP}</p>", question("What did it burn first?", oil, 2, 1)),
    ]


def test_quality_is_read_in_its_published_form(tmp_path):
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


def write_narrativeqa(folder):
    """Three stories: a book, a script that is HTML, one that was not fetched; and a train one."""
    (folder / "tmp").mkdir(parents=True)
    stories = [("book", "test"), ("script", "test"), ("gone", "test"), ("other", "train")]
    _write_table(
        folder / "documents.csv",
        ["document_id", "set", "kind", "wiki_title"],
        [[name, split, "gutenberg", name.title()] for name, split in stories],
    )
    questions = [
        ["book", "test", "Who bought the wheel?", "A smith.", "the smith"],
        ["script", "test", "What burned?", "Rape oil", "Rape oil"],
        ["gone", "test", "Why, then?", "Because.", "So."],
        ["other", "train", "When?", "Then.", ""],
    ]
    header = ["document_id", "set", "question", "answer1", "answer2"]
    _write_table(folder / "qaps.csv", header, questions)
    (folder / "tmp" / "book.content").write_text(MILL, encoding="utf-8")
    script = f"<html><body><pre>{LAMP}</pre></body></html>"
    (folder / "tmp" / "script.content").write_text(script, encoding="utf-8")
    (folder / "tmp" / "other.content").write_text(SOUP, encoding="utf-8")
    return folder


def _write_table(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def test_narrativeqa_is_read_in_its_published_form(tmp_path):
    found = load_dataset(write_narrativeqa(tmp_path / "nqa"))
    assert found.name == "narrativeqa"
    assert {document.id: document.text.strip() for document in found.documents} == {
        "book": MILL,
        "script": LAMP,
    }
    assert [item.name for item in found.skipped_documents] == ["gone"]
    assert [q.answers for q in found.questions] == [("A smith.", "the smith"), ("Rape oil",)]
    train = load_dataset(tmp_path / "nqa", split="train")
    assert [q.answers for q in train.questions] == [("Then.",)]


def meeting(**fields):
    turns = [("A", "The lamp is lit."), ("B", "It burns oil."), ("A", "We stop here.")]
    asked = {"query": "What burns?", "answer": "The lamp.", "relevant_text_span": [["0", "1"]]}
    return {
        "meeting_transcripts": [{"speaker": who, "content": text} for who, text in turns],
        "general_query_list": [{"query": "Summarize the meeting.", "answer": "A lamp burns oil."}],
        "specific_query_list": [asked | fields],
        "topic_list": [],
    }


def test_qmsum_has_general_questions_and_specific_ones_with_their_turns(tmp_path):
    dataset = load_dataset(write_lines(tmp_path / "qmsum.jsonl", [meeting(), meeting()]))
    assert dataset.name == "qmsum"
    text = "A: The lamp is lit.\n\nB: It burns oil.\n\nA: We stop here."
    assert [document.text for document in dataset.documents] == [text, text]
    general, specific = dataset.questions[:2]
    assert (general.kinds, general.evidence) == (("general",), ())
    assert (specific.kinds, specific.answers) == (("specific",), ("The lamp.",))
    assert specific.evidence == ("A: The lamp is lit.", "B: It burns oil.")


def test_squality_asks_for_the_plot_first_and_has_several_answers(tmp_path):
    asked = [
        {"question_text": text, "responses": [{"response_text": "One."}, {"response_text": "Two."}]}
        for text in ("What is the plot of the story?", "Who is Aud?")
    ]
    row = {"metadata": {"passage_id": "7"}, "document": "Aud lit the lamp.", "questions": asked}
    dataset = load_dataset(write_lines(tmp_path / "s.jsonl", [row]))
    assert (dataset.name, dataset.documents[0].id) == ("squality", "7")
    assert [question.kinds for question in dataset.questions] == [("general",), ("specific",)]
    assert dataset.questions[0].answers == ("One.", "Two.")
