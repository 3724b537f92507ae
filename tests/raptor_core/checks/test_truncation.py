"""The check finds summaries that a limit cut off, but no headings, lists or collages."""

import pytest
from support.trees import checked_layer, leaf, summary

from raptor_core.checks.junk import find_cut, junk_text, truncation
from raptor_core.settings import Settings

CHILDREN = ["The gauge was levelled in May.", "Its height is 7.804 m above datum."]
WHOLE = "The gauge was levelled in May; its height is 7.804 m above datum."
LIMITED = Settings.model_validate({"summarizer": {"max_tokens": 20, "min_tokens": 8}})
BELOW = [leaf("a", CHILDREN[0]), leaf("b", CHILDREN[1])]


@pytest.mark.parametrize(
    "text",
    [
        "The gauge was levelled in May, and its height is the",
        "The gauge was levelled in May. The datum is 7.804 m lower,",
        "It was levelled. It is new. The height of the gauge above the datum was then",
        "The gauge was levelled in May [truncated]",
    ],
)
def test_an_end_in_mid_sentence_is_a_cut(text):
    assert find_cut(text, CHILDREN) is not None


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        "Heights of the gauge",
        "The gauge:\n- levelled in May\n- 7.804 m high",
        "水位計は五月に測量され、高さは7.804メートルである。",
        "# Levelling\n\n| gauge | height |\n| --- | --- |\n| 1 | 7.804 m |",
        "",
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_a_finished_text_is_none(text, full):
    assert find_cut(text, CHILDREN, full=full and text != "Heights of the gauge") is None


def test_an_open_end_is_a_cut_only_where_the_limit_was_reached():
    text = "Levelled in May the gauge stands well over its datum now"
    assert find_cut(text, CHILDREN) is None
    assert find_cut(text, CHILDREN, full=True) is not None


def test_thai_ends_its_sentences_with_a_space():
    assert find_cut("ระดับน้ำถูกวัดในเดือนพฤษภาคม", CHILDREN, full=True) is None


def test_pieces_of_the_children_are_never_cut():
    text = "Its height is 7.804 m above datum. The gauge was levelled in"
    assert find_cut(text, CHILDREN) is None
    assert find_cut(text, [], full=True) is not None


def test_the_verdict_blocks_and_names_the_node_and_junk_leaves_it_to_it():
    cut = summary("c", "ab", text="The gauge was levelled in May, and its height is the")
    nodes = [summary("s", "ab", text=WHOLE), cut]
    found = truncation(checked_layer(nodes, BELOW))
    assert (found.name, found.passed, found.severity) == ("truncation", False, "error")
    assert [worst.node_id for worst in found.worst] == ["c"]
    assert "summarizer.max_tokens" in found.remedy
    assert found.numbers["truncated"] == 1
    assert junk_text(checked_layer(nodes, BELOW)).passed


def test_summaries_that_fill_the_limit_are_counted_and_pass_when_they_are_whole():
    nodes = [summary("s", "ab", text=WHOLE, n_tokens=20), BELOW[0]]
    found = truncation(checked_layer(nodes, BELOW, LIMITED))
    assert found.passed
    assert found.numbers["at_limit"] == 1
    assert found.numbers["summaries"] == 1


def test_an_empty_layer_passes():
    assert truncation(checked_layer([])).passed
