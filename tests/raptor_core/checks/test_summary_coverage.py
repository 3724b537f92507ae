"""Coverage of children by their summary, and copies of one child."""

import pytest
from support.trees import by_id, leaf, summary

from raptor_core.checks.base import CheckedLayer
from raptor_core.checks.coverage import copied_child_index, covered_word_shares, summary_coverage
from raptor_core.identity import FALLBACK
from raptor_core.settings import Settings

LAMP = "The lamp was lit in 1872 by Agnes Moor and burned rape oil until paraffin came in 1911."
STORM = "In the storm of January the sea broke the windows and the keeper was drowned."
SCHOOL = "The village school taught forty children, and its bell was cast in Bristol."
CHILDREN = (leaf("lamp", LAMP), leaf("storm", STORM), leaf("school", SCHOOL))


def checked(text, quotes=False, **quality):
    node = summary("top", [child.id for child in CHILDREN], text)
    node = node.__class__(**{**{f: getattr(node, f) for f in node.__slots__}, "quality": quality})
    layer = CheckedLayer([node], by_id(*CHILDREN), Settings(), quotes)
    return summary_coverage(layer)


def test_children_that_are_left_out_are_counted_and_named():
    result = checked("The lamp of Agnes Moor burned oil, later paraffin.")
    assert not result.passed
    assert result.numbers["children_left_out"] == 2
    assert result.worst[0].why == "omits 2 of 3 children: storm, school"


def test_a_copy_of_one_child_is_a_finding():
    result = checked(STORM)
    assert result.numbers["copies_of_a_child"] == 1
    assert result.worst[0].why == "repeats its child storm"
    assert not result.passed


@pytest.mark.parametrize("values", [{"quotes": True}, {FALLBACK: 1.0}])
def test_a_summary_of_quotations_may_be_one_of_its_short_children(values):
    assert checked(STORM, **values).numbers["copies_of_a_child"] == 0


def test_words_that_all_siblings_share_count_little():
    topic = "The history of the island lighthouse tells"
    children = [f"{topic} of lamps and oil.", f"{topic} of storms and boats.", f"{topic} of birds."]
    first, *rest = covered_word_shares(
        "The history of the island lighthouse tells of oil.", children
    )
    assert first > max(rest)


def test_most_of_a_copy_is_a_copy_and_a_quotation_is_none():
    children = [f"{LAMP} {STORM} {SCHOOL}", "Nothing else was known of the island at that time."]
    assert copied_child_index(f"{LAMP}\n{STORM} {SCHOOL} The end.", children) == 0
    assert copied_child_index(LAMP, children) is None
