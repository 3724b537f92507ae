"""Reading a golden set: what it holds, and what a mistake in it is told as."""

import json
from collections import Counter
from pathlib import Path

import pytest

from raptor_core.documents import load_documents
from raptor_core.errors import SettingsError
from raptor_core.evaluation.golden_file import load_golden
from raptor_core.identity import normalize_text

EXAMPLE = Path(__file__).parents[3] / "examples" / "questions.jsonl"


def load(tmp_path, text):
    path = tmp_path / "golden.jsonl"
    path.write_text(text, encoding="utf-8")
    return load_golden(path)


def test_documents_spans_and_trees_are_read(tmp_path):
    lines = (
        '{"question": "When was it lit?", "expected": "point.md", "answer": "1872"}\n\n'
        '{"question": "Who?", "span": ["Agnes Moor lit it."], "tree": "point.md", "kind": "x"}\r\n'
    )
    first, second = load(tmp_path, "\ufeff" + lines)
    assert (first.text, first.sources, first.evidence, first.id) == (
        "When was it lit?",
        ("point.md",),
        (),
        "line 1",
    )
    assert (second.sources, second.evidence, second.document, second.id) == (
        (),
        ("Agnes Moor lit it.",),
        "point.md",
        "line 3",
    )


@pytest.fixture(scope="module")
def rows():
    return [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]


def test_the_examples_questions_are_a_golden_set_of_three_kinds(rows):
    assert [case.text for case in load_golden(EXAMPLE)] == [row["question"] for row in rows]
    assert len({row["question"].casefold() for row in rows}) == 60
    assert Counter(row["kind"] for row in rows) == {"local": 20, "thematic": 20, "multi": 20}
    assert all(row["answer"].strip() for row in rows)


def test_local_questions_need_one_passage_and_the_others_several(rows):
    for row in rows:
        names, spans = row["expected"], row["span"]
        assert len(set(names)) == len(names)
        assert len(set(spans)) == len(spans)
        if row["kind"] == "local":
            assert (len(names), len(spans)) == (1, 1), row["question"]
        else:
            assert len(names) >= 2, row["question"]
            assert 3 <= len(spans) <= 5, row["question"]


def test_every_passage_stands_in_an_expected_document_and_each_of_these_has_one(rows):
    documents = load_documents(EXAMPLE.parent / "handbook").documents
    texts = {document.id: normalize_text(document.text) for document in documents}
    for row in rows:
        assert set(row["expected"]) <= texts.keys(), row["question"]
        found = [
            {name for name in row["expected"] if normalize_text(span) in texts[name]}
            for span in row["span"]
        ]
        assert all(found), row["question"]
        assert set().union(*found) == set(row["expected"]), row["question"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "it is no JSON"),
        ("[1]", "expected an object"),
        ('{"expected": ["a.md"]}', "as 'question', it is missing"),
        ('{"question": " ", "expected": ["a.md"]}', "as 'question'"),
        ('{"question": "Who?"}', "neither 'expected' (documents) nor 'span' (text)"),
        ('{"question": "Who?", "expected": []}', "neither"),
        ('{"question": "Who?", "expected": [1]}', "as 'expected', got [1]"),
        ('{"question": "Who?", "span": [""]}', "as 'span'"),
        ('{"question": "Who?", "expected": "a", "tree": 3}', "as 'tree', got 3"),
        ('{"question": "Who?", "expcted": "a"}', "unknown key 'expcted'; did you mean 'expected'?"),
    ],
)
def test_a_mistake_names_file_line_and_what_to_write(tmp_path, line, told):
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, f'{{"question": "Who?", "expected": "a"}}\n{line}\n')
    assert told in str(caught.value)
    assert "golden.jsonl, line 2" in str(caught.value)
    assert "a line reads {" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_a_question_is_refused(tmp_path, text):
    with pytest.raises(SettingsError, match="holds no question"):
        load(tmp_path, text)


def test_a_missing_file_and_another_encoding_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="there is no golden set at"):
        load_golden(tmp_path / "nosuch.jsonl")
    with pytest.raises(SettingsError, match=r"cannot be read.*a line reads"):
        load_golden(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes('{"question": "Où?", "expected": "a"}'.encode("latin-1"))
    with pytest.raises(SettingsError, match="not UTF-8"):
        load_golden(tmp_path / "latin.jsonl")
