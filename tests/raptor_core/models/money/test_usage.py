"""Usages: parts by weight, and as a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.models.money.usage import Usage

counts = st.integers(0, 10_000)
usages = st.builds(Usage, counts, counts, counts, counts, st.none() | st.floats(0, 100))


@given(usages, st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_parts_are_whole_and_together_all_of_it(usage, weights):
    parts = usage.shares(weights)
    total = sum(parts, Usage())
    counted = (total.calls, total.prompt_tokens, total.completion_tokens, total.retries)
    assert counted == (
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.retries,
    )
    assert total.usd == (None if usage.usd is None else pytest.approx(usage.usd))
    assert all(part.calls >= 0 for part in parts)
    if any(weights):
        assert all(
            abs(p.calls - usage.calls * w / sum(weights)) <= 1
            for p, w in zip(parts, weights, strict=True)
        )


def test_nobody_has_no_part_and_who_weighs_nothing_has_none():
    assert Usage(3).shares([]) == []
    assert Usage(3, 30, usd=0.3).shares([0, 1, 0]) == [Usage(), Usage(3, 30, usd=0.3), Usage()]
    assert [part.calls for part in Usage(3).shares([0, 0, 0])] == [1, 1, 1]
