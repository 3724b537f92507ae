"""The default strategy against flat retrieval, and against its own past."""

import pytest

from raptor_core.evaluation.compare import Comparison, QuestionScore
from raptor_core.evaluation.datasets import Question
from raptor_core.evaluation.measures import MEASURES
from raptor_core.evaluation.strategy_check import evaluate_strategy
from raptor_core.settings import CheckSettings

CHECKS = CheckSettings()


def comparison(values, measure="evidence_recall"):
    """From values of each question by way and budget; every question has a document of its own."""
    found = [
        QuestionScore(
            Question(f"q{at}", "?", document=f"d{at}"), system, budget, 9, {}, {measure: value}
        )
        for (system, budget), given in values.items()
        for at, value in enumerate(given)
    ]
    return Comparison.of("set", False, MEASURES, found)


def judge(values, past=(), strategy="hybrid"):
    asked = []
    told = evaluate_strategy(
        comparison(values), strategy, CHECKS, lambda measure: asked.append(measure) or past
    )
    assert asked == ["evidence_recall"]
    return told


def test_a_strategy_that_is_better_or_as_good_passes():
    verdict = judge({("flat", 400): [0.2, 0.4, 0.6], ("hybrid", 400): [0.4, 0.4, 0.7]})
    assert verdict.passed
    assert verdict.numbers == {"evidence_recall": 0.5, "evidence_recall_flat": 0.4}
    assert verdict.summary == (
        "evidence_recall of hybrid is 0.500 on average over the budgets, of flat 0.400."
    )
    assert verdict.remedy == ""


def test_worse_beyond_the_interval_at_any_budget_warns():
    values = {
        ("flat", 400): [0.5, 0.6, 0.7, 0.8],
        ("hybrid", 400): [0.9, 0.9, 0.9, 0.9],
        ("flat", 1000): [0.9, 0.9, 0.9, 0.9],
        ("hybrid", 1000): [0.7, 0.8, 0.7, 0.8],
    }
    verdict = judge(values)
    assert (verdict.passed, verdict.severity) == (False, "warn")
    assert "it is worse beyond the interval at 1,000 tokens" in verdict.summary
    assert "--strategy flat --strategy hybrid" in verdict.remedy


def test_a_loss_within_the_interval_passes():
    assert judge({("flat", 400): [0.2, 0.9, 0.5], ("hybrid", 400): [0.9, 0.1, 0.4]}).passed


@pytest.mark.parametrize(("before", "passed"), [(0.55, True), (0.7, False), (0.2, True)])
def test_a_value_far_under_its_past_warns_and_one_above_does_not(before, passed):
    values = {("flat", 400): [0.5, 0.5], ("hybrid", 400): [0.5, 0.5]}
    verdict = judge(values, past=[before] * 5)
    assert verdict.passed is passed
    assert verdict.numbers["evidence_recall_median"] == before
    assert ("the median of 5 earlier evaluations is 0.700" in verdict.summary) is not passed
    assert judge(values, past=[before] * 4).passed


def test_flat_itself_is_compared_with_its_past_alone():
    verdict = judge({("flat", 400): [0.5, 0.5]}, past=[0.9] * 5, strategy="flat")
    assert not verdict.passed
    assert "of flat is 0.500 on average over the budgets; the median" in verdict.summary


def test_without_a_measure_there_is_nothing_to_judge():
    chance = {"option_stand_in": 0.0, "option_stand_in_hard": 0.0}
    found = [
        QuestionScore(Question("q", "?"), system, 400, 9, {}, chance)
        for system in ("flat", "hybrid")
    ]
    nothing = Comparison.of("set", False, MEASURES, found)
    verdict = evaluate_strategy(nothing, "hybrid", CHECKS, lambda _: [])
    assert (verdict.passed, verdict.numbers) == (True, {})
    assert verdict.summary == "The questions of set allow no measure that compares strategies."


def test_a_loss_on_general_questions_alone_warns():
    general = {"flat": 0.5, "hybrid": 0.2}
    scores = [
        QuestionScore(
            Question(f"{measure}{at}", "?", document=f"d{at}"), system, 400, 9, {}, {measure: value}
        )
        for system in ("flat", "hybrid")
        for measure, value in (("evidence_recall", 0.5), ("content_recall", general[system]))
        for at in range(4)
    ]
    both = Comparison.of("set", False, MEASURES, scores)
    result = evaluate_strategy(both, "hybrid", CHECKS, lambda _: [])
    assert not result.passed
    assert result.numbers["content_recall"] == 0.2
    assert "content_recall of hybrid is 0.200" in result.summary
    assert result.summary.count("worse beyond the interval") == 1
