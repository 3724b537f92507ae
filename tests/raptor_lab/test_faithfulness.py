"""Judges on labelled summaries: reading them, and what the figures say."""

import json
import math
import sys
from contextlib import redirect_stderr

import numpy as np
import pytest
from support.command import raptor

from raptor_core.audit.base import SentenceFinding
from raptor_core.evaluation.golden_file import Question
from raptor_lab.answer_scores import (
    answer_f1,
    bleu_rouge_meteor_scores,
    find_chosen_option_index,
    score_answer,
)
from raptor_lab.labelled import (
    auc,
    load_labelled,
    score_judge,
)

TEXT = "The mill stood idle for six years. Its owner moved to Bergen."


def folder(root, n_documents=40, **changes):
    """For each document a claim that repeats it and one that does not."""
    root.mkdir(exist_ok=True)
    documents, pairs = [], []
    for at in range(n_documents):
        name = f"doc-{at}"
        documents.append({"doc_id": name, "text": f"{TEXT} Entry {at} of the register."})
        claims = (("The mill stood idle for six years.", 1), ("Penguins sang in Rome.", 0))
        for claim, label in claims:
            pair = {"pair_id": f"{name}-{label}", "dataset": "mills", "doc_id": name}
            pairs.append({**pair, "claim": claim, "label": label})
    pairs[0] |= changes
    for name, rows in (("docs", documents), ("pairs", pairs)):
        lines = [json.dumps({k: v for k, v in row.items() if v is not ...}) for row in rows]
        (root / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return root


class Scoring:
    """Scores every sentence by a function of the claim."""

    name, version = "scoring", "1"

    def __init__(self, score):
        self.score = score

    def judge(self, summaries):
        return [[self.finding(item)] for item in summaries]

    def finding(self, item):
        score = self.score(item)
        if score is None:
            return SentenceFinding(item.node.id, item.node.text, "not judged", 0.0)
        judgement = "supported" if score >= 0.5 else "unsupported"
        return SentenceFinding(item.node.id, item.node.text, judgement, score)


def scored(root, score):
    (found,) = score_judge(load_labelled(folder(root)), Scoring(score))
    return found


@pytest.mark.slow
def test_half_of_the_documents_calibrate_and_the_other_is_reported(tmp_path):
    labelled = load_labelled(folder(tmp_path / "made"))
    calibrating = {pair.document for pair in labelled.claims if pair.is_for_calibration}
    assert 10 < len(calibrating) < 30
    found = scored(tmp_path / "again", lambda _item: 0.5)
    assert found.n_documents == 40 - len(calibrating)
    assert (found.n_pairs, found.n_consistent) == (2 * found.n_documents, found.n_documents)


@pytest.mark.slow
def test_a_perfect_judge_an_inverted_one_and_a_coin(tmp_path):
    right = scored(tmp_path / "right", lambda item: 0.9 if "mill" in item.node.text else 0.1)
    assert (right.auc.value, right.auc.low, right.verdict_accuracy.value) == (1, 1, 1)
    assert (right.balanced_accuracy.value, right.bound) == (1, 0.5)
    wrong = scored(tmp_path / "wrong", lambda item: 0.1 if "mill" in item.node.text else 0.9)
    assert (wrong.auc.value, wrong.verdict_accuracy.value) == (0, 0)
    coin = scored(tmp_path / "coin", lambda item: int(item.node.id[4:-2]) % 7 / 7)
    assert coin.auc.value == 0.5
    assert coin.auc.low <= 0.5 <= coin.auc.high


def test_what_was_not_judged_is_counted_and_left_out(tmp_path):
    found = scored(tmp_path / "mute", lambda i: None if "Penguins" in i.node.text else 0.7)
    assert found.n_not_judged == found.n_pairs
    assert (found.auc.value, found.auc.low) == (None, None)


def test_auc_counts_ties_half_and_agrees_with_counting_pairs():
    rng = np.random.default_rng(5)
    labels, scores = rng.random(60) < 0.4, rng.integers(0, 6, 60).astype(float)
    true, false = scores[labels], scores[~labels]
    wins = [(a > b) + 0.5 * (a == b) for a in true for b in false]
    assert auc(labels, scores) == pytest.approx(np.mean(wins))
    assert np.isnan(auc(np.ones(3, bool), np.zeros(3)))


@pytest.mark.slow
def test_the_command_prints_a_table_or_json(tmp_path):
    made = folder(tmp_path / "made")
    printed = raptor("eval", "audit", made, "--judge", "support", "--home", tmp_path / "none")
    assert printed.code == 0, printed.err
    assert "mills" in printed.out
    assert "1.000 [1.000, 1.000]" in printed.out
    scored = raptor(
        "eval", "audit", made, "--judge", "support", "--home", tmp_path / "none", "--json"
    ).json
    assert (scored["judge"], scored["datasets"][0]["auc"]["value"]) == ("support", 1.0)
    assert "hash" in scored["split"]
    wrong = raptor("eval", "audit", tmp_path / "nowhere", "--json")
    assert (wrong.code, wrong.json["error"]) == (4, "SourceError")


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
def test_answer_f1_counts_the_words_that_both_answers_have(answer, gold, expected):
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
    assert find_chosen_option_index(answer, OPTIONS) == named


def test_only_hard_questions_count_for_hard_accuracy():
    asked = Question("q", "?", options=OPTIONS, gold=1, hard=True)
    assert score_answer("quality", asked, "2") == {"accuracy": 1, "accuracy_hard": 1}
    easy = Question("q", "?", options=OPTIONS, gold=1, hard=False)
    assert score_answer("quality", easy, "1") == {"accuracy": 0}
    assert score_answer("quality", Question("q", "?", options=OPTIONS), "1") == {}


def test_bleu_rouge_and_meteor_are_as_computed_by_hand():
    found = bleu_rouge_meteor_scores("Aud sold wheel", ["aud sold the wheel", "nobody"])
    # 3 of 3 words, 1 of 2 pairs, 0 of 1 triple and of 1 quadruple (0.1 each by smoothing); three
    # words are one short of the nearer reference's four.
    brevity = math.exp(1 - 4 / 3)
    assert found["bleu_1"] == pytest.approx(brevity)
    assert found["bleu_4"] == pytest.approx(brevity * (1 * 0.5 * 0.1 * 0.1) ** 0.25)
    assert found["rouge_l"] == pytest.approx(2 * 1 * 0.75 / 1.75)  # precision 3/3, recall 3/4
    f_mean = 1 * 0.75 / (0.9 * 1 + 0.1 * 0.75)  # recall weighs nine times
    assert found["meteor"] == pytest.approx(f_mean * (1 - 0.5 * (2 / 3) ** 3))  # 3 words, 2 chunks
