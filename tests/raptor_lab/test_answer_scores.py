"""Scores of answers, against values computed by hand."""

import math
import sys
from contextlib import redirect_stderr

import pytest

from raptor_core.evaluation.golden_file import Question
from raptor_lab.answer_scores import answer_f1, choice, overlap_scores, score_answer

with redirect_stderr(sys.__stderr__):
    # When logging is set up anew, absl closes what was standard error at its import: pytest's.
    import absl.logging  # noqa: F401

OPTIONS = ("A smith.", "A king.", "The keeper of 1872.", "Nobody.")


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("The rape oil.", "rape oil", 1),
        ("oil oil", "oil", 2 / 3),  # one word in common, of two and of one
        ("It burned rape oil", "Rape oil.", 2 * 2 / (4 + 2)),
        ("the", "a", 0),
        ("state-of-the-art", "stateoftheart", 1),
    ],
)
def test_answer_f1(answer, gold, expected):
    assert answer_f1(answer, gold) == pytest.approx(expected)


def test_the_best_of_the_reference_answers_counts():
    asked = Question("q", "?", answers=("Unanswerable", "rape oil"))
    assert score_answer("qasper", asked, "oil") == {"answer_f1": pytest.approx(2 / 3)}
    assert score_answer("qasper", asked, "unanswerable.") == {"answer_f1": 1}
    assert score_answer("qasper", Question("q", "?"), "oil") == {}


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("Option 2.", 1),
        ("(3) The keeper of 1872.", 2),
        ("the keeper of 1872", 2),
        ("It was a smith, it says.", 0),
        ("It was a smith or a king.", None),
        ("9", None),
    ],
)
def test_the_option_that_an_answer_names(answer, named):
    assert choice(answer, OPTIONS) == named


def test_accuracy_and_hard_accuracy():
    asked = Question("q", "?", options=OPTIONS, gold=1, hard=True)
    assert score_answer("quality", asked, "2") == {"accuracy": 1, "accuracy_hard": 1}
    easy = Question("q", "?", options=OPTIONS, gold=1, hard=False)
    assert score_answer("quality", easy, "1") == {"accuracy": 0}
    assert score_answer("quality", Question("q", "?", options=OPTIONS), "1") == {}


def test_the_overlap_measures():
    found = overlap_scores("Aud sold wheel", ["aud sold the wheel", "nobody"])
    # 3 of 3 words, 1 of 2 pairs, 0 of 1 triple and of 1 quadruple (0.1 each by smoothing); three
    # words are one short of the nearer reference's four.
    brevity = math.exp(1 - 4 / 3)
    assert found["bleu_1"] == pytest.approx(brevity)
    assert found["bleu_4"] == pytest.approx(brevity * (1 * 0.5 * 0.1 * 0.1) ** 0.25)
    assert found["rouge_l"] == pytest.approx(2 * 1 * 0.75 / 1.75)  # precision 3/3, recall 3/4
    f_mean = 1 * 0.75 / (0.9 * 1 + 0.1 * 0.75)  # recall weighs nine times
    assert found["meteor"] == pytest.approx(f_mean * (1 - 0.5 * (2 / 3) ** 3))  # 3 words, 2 chunks
