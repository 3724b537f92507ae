"""Comparison of two answers to a golden set: a loss is found, and noise is not."""

import random

import pytest

from raptor_core.evaluation.golden import GoldenHit, GoldenReport
from raptor_core.evaluation.golden_file import Question
from raptor_core.evaluation.regression import Regression, evaluate_regression
from raptor_core.retrieval import Query, Retrieval

EMPTY = Retrieval("?", Query(), (), 0, 0, 0)


def report(ranks):
    """A report of questions on documents of their own."""
    cases = [Question(f"line {at}", f"question {at}?", f"{at}.md") for at in range(len(ranks))]
    return GoldenReport(
        tuple(
            GoldenHit(case, rank, float(rank > 0), None, EMPTY)
            for case, rank in zip(cases, ranks, strict=True)
        )
    )


def drawn(rng, n):
    """Ranks of n questions of which one in five is missed."""
    return [rng.choice([1, 1, 1, 2, 2, 3, 4, 6, 0, 0]) for _ in range(n)]


@pytest.mark.rare
@pytest.mark.slow
def test_noise_is_no_loss_in_a_hundred_resamplings():
    rng, alarms = random.Random(0), 0
    for _ in range(100):
        before = drawn(rng, 40)
        after = [rng.choice(drawn(rng, 1)) if rng.random() < 0.3 else rank for rank in before]
        alarms += bool(Regression(report(before), report(after)).losses)
    assert alarms <= 5


@pytest.mark.rare
@pytest.mark.slow
def test_a_planted_loss_is_found_in_a_hundred_resamplings():
    rng, found = random.Random(1), 0
    for _ in range(100):
        before = drawn(rng, 40)
        after = [0 if rank and rng.random() < 0.3 else rank for rank in before]
        found += bool(Regression(report(before), report(after)).losses)
    assert found >= 95


def test_the_questions_that_got_worse_are_named_and_missed_ones_come_first():
    before, after = [1] * 10, [2, 0, *[0] * 7, 1]
    regression = Regression(report(before), report(after))
    assert set(regression.losses) == {"hit_rate", "mrr", "evidence_recall"}
    assert [new.rank for _, new in regression.worse] == [0] * 8 + [2]
    result = evaluate_regression(regression)
    assert not result.passed
    assert "“question 1?”" in result.remedy
    assert result.worst[0].why == "rank 1 → missed"
    assert evaluate_regression(Regression(report(before), report(before))).passed


def test_a_gain_is_no_loss():
    regression = Regression(report([0] * 10), report([1] * 10))
    assert (regression.losses, regression.worse) == ([], [])
