"""Comparison of two answers to a golden set: a loss is found, and noise is not."""

import numpy as np
import pytest

from raptor_core.evaluation.bootstrap import (
    N_SAMPLES,
    draw_bootstrap_rows,
    format_interval,
    mean_interval,
    paired_difference,
)
from raptor_core.evaluation.golden import GoldenReport, GoldenResult
from raptor_core.evaluation.golden_file import Question
from raptor_core.evaluation.regression import Regression, evaluate_regression
from raptor_core.retrieval import Query, Retrieval

EMPTY = Retrieval("?", Query(), (), 0, 0, 0)


def report(ranks):
    """A report of questions on documents of their own."""
    cases = [Question(f"line {at}", f"question {at}?", f"{at}.md") for at in range(len(ranks))]
    return GoldenReport(
        tuple(
            GoldenResult(case, rank, float(rank > 0), None, EMPTY)
            for case, rank in zip(cases, ranks, strict=True)
        )
    )


def test_the_questions_that_got_worse_are_named_and_missed_ones_come_first():
    before, after = [1] * 10, [2, 0, *[0] * 7, 1]
    regression = Regression(report(before), report(after))
    assert set(regression.significant_losses) == {"hit_rate", "mrr", "evidence_recall"}
    assert [new.rank for _, new in regression.worse_answers] == [0] * 8 + [2]
    result = evaluate_regression(regression)
    assert not result.passed
    assert "“question 1?”" in result.remedy
    assert result.worst[0].why == "rank 1 → missed"
    assert evaluate_regression(Regression(report(before), report(before))).passed


def test_a_gain_is_no_loss():
    regression = Regression(report([0] * 10), report([1] * 10))
    assert (regression.significant_losses, regression.worse_answers) == ([], [])


def test_whole_documents_are_drawn_and_always_the_same():
    documents = ["a", "b", "a", "c", "b"]
    found = draw_bootstrap_rows(tuple(documents))
    assert len(found) == N_SAMPLES
    for rows in found[:50]:
        counts = np.bincount(rows, minlength=5)
        assert counts[0] == counts[2]
        assert counts[1] == counts[4]
        assert counts[0] + counts[1] + counts[3] == 3
    assert all(
        (one == two).all()
        for one, two in zip(found, draw_bootstrap_rows(tuple(documents)), strict=True)
    )
    assert len(draw_bootstrap_rows(())) == 0


def test_questions_of_one_document_are_worth_one():
    rng = np.random.default_rng(1)
    of_document = rng.random(40).repeat(10)
    clustered = mean_interval(of_document.tolist(), [str(at // 10) for at in range(400)])
    alone = mean_interval(of_document.tolist(), [str(at) for at in range(400)])
    assert clustered.value == alone.value == pytest.approx(of_document.mean())
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)
    standard_error = of_document.reshape(40, 10)[:, 0].std() / np.sqrt(40)
    assert clustered.high - clustered.low == pytest.approx(2 * 1.96 * standard_error, rel=0.15)


def test_a_clear_difference_and_none():
    rng = np.random.default_rng(2)
    low = rng.random(60)
    documents = [str(at) for at in range(60)]
    clear = paired_difference((low + 0.1 + 0.02 * rng.random(60)).tolist(), low.tolist(), documents)
    assert clear.interval.value == pytest.approx(0.11, abs=0.005)
    assert clear.interval.low > 0.1
    assert clear.p_value == pytest.approx(2 / (N_SAMPLES + 1))
    reverse = paired_difference(low.tolist(), (low + 0.1 * rng.random(60)).tolist(), documents)
    assert (reverse.interval.high < 0, reverse.p_value < 0.01) == (True, True)
    same = paired_difference(low.tolist(), low.tolist(), documents)
    assert (same.interval.value, same.p_value) == (0, 1)


@pytest.mark.parametrize(("n_documents", "least"), [(1, 1.0), (2, 0.5), (5, 0.0625)])
def test_few_documents_show_no_more_than_their_signs_can(n_documents, least):
    documents = [str(at % n_documents) for at in range(40)]
    better = paired_difference([0.9 + at / 1000 for at in range(40)], [0.1] * 40, documents)
    assert better.p_value == least
    assert (better.interval.low is None) == (n_documents == 1)
    printed = format_interval(mean_interval([0.5] * 40, documents))
    assert printed == ("0.500" if n_documents == 1 else "0.500 [0.500, 0.500]")
