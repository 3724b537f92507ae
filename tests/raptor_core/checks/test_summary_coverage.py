"""Coverage of children by their summary, copies of one child, and near duplicates."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.trees import by_id, checked_layer, leaf, summary

from raptor_core.audit.coverage import copied_child, held_children, word_shares
from raptor_core.checks.base import CheckedLayer
from raptor_core.checks.coverage import summary_coverage
from raptor_core.checks.duplicates import near_duplicates, pairs_by_words
from raptor_core.identity import FALLBACK
from raptor_core.settings import Settings

LAMP = "The lamp was lit in 1872 by Agnes Moor and burned rape oil until paraffin came in 1911."
STORM = "In the storm of January the sea broke the windows and the keeper was drowned."
SCHOOL = "The village school taught forty children, and its bell was cast in Bristol."
CHILDREN = (leaf("lamp", LAMP), leaf("storm", STORM), leaf("school", SCHOOL))
WHOLE = "Agnes Moor lit the lamp; a January storm broke windows; forty children went to school."


def checked(text, vectors=None, quotes=False, **quality):
    node = summary("top", [child.id for child in CHILDREN], text)
    node = node.__class__(**{**{f: getattr(node, f) for f in node.__slots__}, "quality": quality})
    layer = CheckedLayer([node], by_id(*CHILDREN), Settings(), quotes, vectors or {})
    return summary_coverage(layer)


def test_a_summary_that_holds_something_of_each_child_passes():
    result = checked(WHOLE)
    assert result.passed
    assert (result.numbers["coverage"], result.numbers["children_left_out"]) == (1.0, 0)


def test_children_that_are_left_out_are_counted_and_named():
    result = checked("The lamp of Agnes Moor burned oil, later paraffin.")
    assert not result.passed
    assert result.numbers["children_left_out"] == 2
    assert result.worst[0].why == "holds nothing of 2 of 3 children: storm, school"


def test_a_copy_of_one_child_is_a_finding():
    result = checked(STORM)
    assert result.numbers["copies_of_a_child"] == 1
    assert result.worst[0].why == "repeats its child storm"
    assert not result.passed


@pytest.mark.parametrize("values", [{"quotes": True}, {FALLBACK: 1.0}])
def test_a_summary_of_quotations_may_be_one_of_its_short_children(values):
    assert checked(STORM, **values).numbers["copies_of_a_child"] == 0


def test_a_summary_of_a_lone_node_may_repeat_it():
    layer = CheckedLayer([summary("top", ["storm"], STORM)], by_id(*CHILDREN), Settings())
    assert summary_coverage(layer).passed


def test_a_child_in_other_words_is_held_by_a_near_vector():
    text = "A gale in winter smashed the panes; the keeper died."
    assert held_children(text, [LAMP, STORM]) == [False, False]
    assert held_children(text, [LAMP, STORM], [0.1, 0.8]) == [False, True]
    near = np.array([1.0, 0.0], dtype=np.float32)
    far = np.array([0.0, 1.0], dtype=np.float32)
    vectors = {"top": near, "storm": near, "lamp": far, "school": far}
    assert checked(text, vectors).numbers["children_left_out"] == 2
    assert checked(text).numbers["children_left_out"] == 3


def test_words_that_all_siblings_share_count_little():
    topic = "The history of the island lighthouse tells"
    children = [f"{topic} of lamps and oil.", f"{topic} of storms and boats.", f"{topic} of birds."]
    first, *rest = word_shares("The history of the island lighthouse tells of oil.", children)
    assert first > max(rest)


def test_most_of_a_copy_is_a_copy_and_a_quotation_is_none():
    children = [f"{LAMP} {STORM} {SCHOOL}", "Nothing else was known of the island at that time."]
    assert copied_child(f"{LAMP}\n{STORM} {SCHOOL} The end.", children) == 0
    assert copied_child(LAMP, children) is None


def prose(rng, n_words=60):
    return " ".join(f"word{rng.randrange(4000)}" for _ in range(n_words))


def edited(text, rng, n_changes):
    words = text.split()
    for at in rng.sample(range(len(words)), n_changes):
        words[at] = f"other{rng.randrange(10**6)}"
    return " ".join(words)


def rows_of(pairs):
    return {(pair.first, pair.second) for pair in pairs}


def test_equal_texts_are_alike_whatever_their_case_and_spaces():
    (pair,) = pairs_by_words([LAMP, STORM, LAMP.upper().replace(" ", "\n")], 0.8)
    assert (pair.first, pair.second, pair.likeness) == (0, 2, 1.0)


def test_all_pairs_over_the_bound_are_found_and_no_other():
    rng = random.Random(1)
    texts = [prose(rng) for _ in range(150)]
    texts += [edited(texts[at], rng, 1 + at % 5) for at in range(60)]
    found = pairs_by_words(texts, 0.8)

    def runs(text):
        words = text.split()
        return set(zip(words, words[1:], words[2:], strict=False))

    known = [runs(text) for text in texts]
    likeness = {
        (a, b): len(known[a] & known[b]) / len(known[a] | known[b])
        for a in range(len(texts))
        for b in range(a + 1, len(texts))
        if known[a] & known[b]
    }
    assert rows_of(found) == {pair for pair, value in likeness.items() if value >= 0.8}
    assert all(abs(p.likeness - likeness[p.first, p.second]) < 1e-9 for p in found)


def test_scripts_without_spaces_are_compared_by_characters():
    text = "这盏灯于一八七二年由艾格尼丝点亮一直燃烧菜籽油直到煤油来到岛上为止"
    changed = text.replace("煤油", "石油")
    assert rows_of(
        pairs_by_words([text, changed, "守塔人每四个小时给钟上一次发条每晚如此从不间断"], 0.6)
    ) == {(0, 1)}


def test_short_texts_are_not_compared():
    assert pairs_by_words(["Table of figures.", "Table of figures."], 0.8) == []
    assert pairs_by_words([], 0.8) == []


def test_many_equal_texts_make_no_square_of_pairs():
    found = pairs_by_words([LAMP] * 500, 0.8)
    assert len(found) == 499


def test_the_verdict_warns_over_the_share_and_names_both_nodes():
    nodes = [summary("a", "xy", text=LAMP), summary("b", "xz", text=f"{LAMP} So it was.")]
    nodes += [summary(f"s{n}", "xy", text=prose(random.Random(n))) for n in range(8)]
    found = near_duplicates(checked_layer(nodes[:9]))
    assert (found.name, found.passed, found.severity) == ("near_duplicates", False, "warn")
    assert found.numbers["near_duplicate_share"] == round(1 / 9, 4)
    assert found.numbers["near_duplicate_pairs"] == 1
    assert [worst.node_id for worst in found.worst] == ["a"]
    assert found.worst[0].why.startswith("as b (words ")
    assert near_duplicates(checked_layer(nodes)).passed


@pytest.mark.parametrize("n", [2, 3, 30])
def test_of_a_group_that_is_alike_all_but_one_count(n):
    nodes = [summary(f"a{at}", "xy", text=LAMP) for at in range(n)]
    nodes += [summary(f"b{at}", "xy", text=STORM) for at in range(2)]
    assert near_duplicates(checked_layer(nodes)).numbers["near_duplicates"] == n - 1 + 1


def test_leaves_and_other_trees_do_not_count():
    copied = [summary("a", "xy", text=LAMP), replace(summary("b", "xy", text=LAMP), tree="u")]
    leaves = [leaf("x", LAMP), leaf("y", LAMP)]
    found = near_duplicates(checked_layer([*leaves, *copied]))
    assert (found.numbers["summaries"], found.worst) == (2, ())
    assert near_duplicates(checked_layer([])).passed
