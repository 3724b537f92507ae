"""Reading a golden set: what it holds, and what a mistake in it is told as."""

from pathlib import Path

import pytest

from raptor_core.errors import SettingsError
from raptor_core.evaluation.golden import load_golden

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
    assert (first.question, first.documents, first.spans, first.line) == (
        "When was it lit?",
        ("point.md",),
        (),
        1,
    )
    assert (second.documents, second.spans, second.tree, second.line) == (
        (),
        ("Agnes Moor lit it.",),
        "point.md",
        3,
    )


def test_the_examples_questions_are_a_golden_set():
    cases = load_golden(EXAMPLE)
    assert len(cases) == 12
    handbook = EXAMPLE.parent / "handbook"
    assert all((handbook / name).exists() for case in cases for name in case.documents)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "it is no JSON"),
        ("[1]", "expected an object"),
        ('{"expected": ["a.md"]}', "as 'question', got None"),
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
    (tmp_path / "latin.jsonl").write_bytes('{"question": "Où?", "expected": "a"}'.encode("latin-1"))
    with pytest.raises(SettingsError, match="not UTF-8"):
        load_golden(tmp_path / "latin.jsonl")
