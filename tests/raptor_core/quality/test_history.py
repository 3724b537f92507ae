"""The robust z-score against earlier builds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trees import checked_layer, leaf, summary

from raptor_core.quality.checks import WorstNode
from raptor_core.quality.sizes import compression_drift
from raptor_core.quality.statistics import HISTORY_BUILDS, evaluate_drift, measure_drift
from raptor_core.settings import CheckSettings

CHECKS = CheckSettings()
STEADY = [0.28, 0.27, 0.29, 0.28, 0.3, 0.28]
values = st.floats(-1e6, 1e6)


def judge(value, past):
    drift = measure_drift(value, past, HISTORY_BUILDS)
    return evaluate_drift("The mean", drift, CHECKS, [WorstNode("n", "", 1, "")])


def test_a_value_like_the_earlier_ones_passes():
    assert judge(0.29, STEADY).passed


def test_a_drift_warns_long_before_the_bound_breaks():
    found = judge(0.4, STEADY)
    assert CHECKS.max_compression > 0.4
    assert not found.passed
    assert found.numbers["z"] > CHECKS.max_drift
    assert found.numbers["median"] == 0.28
    assert [worst.node_id for worst in found.worst] == ["n"]
    assert "checks.max_drift" in found.remedy


def test_a_fall_is_a_drift_too():
    assert judge(0.15, STEADY).numbers["z"] < -CHECKS.max_drift


@pytest.mark.parametrize("n", range(5))
def test_with_fewer_than_five_earlier_builds_nothing_is_said(n):
    found = judge(0.9, STEADY[:n])
    assert found.passed
    assert "z" not in found.numbers
    assert found.numbers["earlier_builds"] == n


def test_equal_builds_have_no_spread_and_a_small_change_is_no_drift():
    assert judge(0.29, [0.28] * 6).passed
    assert not judge(0.35, [0.28] * 6).passed


def test_one_odd_build_neither_widens_nor_moves_what_is_usual():
    assert judge(0.29, [*STEADY, 5.0]).passed
    assert not judge(0.5, [*STEADY, 5.0]).passed


def test_only_the_last_builds_count():
    assert judge(0.6, [0.28] * 20 + [0.6] * 10).passed


def test_zeros_are_no_division_by_zero():
    assert measure_drift(0.0, [0.0] * 5, 10).z == 0
    assert measure_drift(0.1, [0.0] * 5, 10).z == 1000


def test_nothing_measured_is_nothing_to_compare():
    found = compression_drift(checked_layer([]))
    assert (found.name, found.passed, found.numbers) == ("compression_drift", True, {})


def test_the_mean_of_a_layer_is_compared_with_those_of_its_earlier_builds():
    nodes, below = [summary("s", "ab", n_tokens=8)], [leaf("a"), leaf("b")]
    past = [{"compression_ratio": ratio} for ratio in STEADY]
    found = compression_drift(replace(checked_layer(nodes, below), past=past))
    assert (found.name, found.passed, found.severity) == ("compression_drift", False, "warn")
    assert (found.numbers["value"], found.numbers["median"]) == (0.4, 0.28)
    assert found.summary.startswith("The layer's ratio mean is 0.4")
    assert [worst.node_id for worst in found.worst] == ["s"]


@given(st.lists(values, min_size=5, max_size=20), values)
def test_the_score_is_finite_and_has_the_sign_of_the_change(past, value):
    drift = measure_drift(value, past, 20)
    assert -1000 <= drift.z <= 1000
    assert drift.z * (value - drift.median) >= 0
    assert measure_drift(drift.median, past, 20).z == 0


@given(st.lists(values, min_size=5, max_size=9), values, st.randoms())
def test_the_order_of_the_earlier_builds_does_not_matter(past, value, rng):
    shuffled = list(past)
    rng.shuffle(shuffled)
    assert measure_drift(value, shuffled, 9) == measure_drift(value, past, 9)
