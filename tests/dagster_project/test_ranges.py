"""Ranges of partitions: neighbours in the definition's order share a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_assets.project.ranges import contiguous_ranges, range_tags


@pytest.mark.parametrize(
    ("names", "ranges"),
    [
        ("", []),
        ("abcdef", ["abcdef"]),
        ("ac", ["a", "c"]),
        ("fabc", ["abc", "f"]),
    ],
)
def test_neighbours_share_a_range(names, ranges):
    assert contiguous_ranges("abcdef", set(names)) == [tuple(found) for found in ranges]


@given(st.lists(st.integers(0, 60), unique=True), st.sets(st.integers(0, 60)), st.integers(1, 7))
def test_ranges_hold_what_is_wanted_and_nothing_else(order, wanted, limit):
    order, wanted = list(map(str, order)), set(map(str, wanted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("raptor_assets.project.ranges.MAX_RUN_PARTITIONS", limit)
        ranges = contiguous_ranges(order, wanted)
    assert [name for found in ranges for name in found] == [n for n in order if n in wanted]
    for found in ranges:
        start = order.index(found[0])
        assert list(found) == order[start : start + len(found)]
        assert len(found) <= limit


def test_a_range_is_told_by_its_ends():
    assert list(range_tags(("a", "b", "c")).values()) == ["a", "c"]
    assert range_tags(("a",)) == {"dagster/partition": "a"}
