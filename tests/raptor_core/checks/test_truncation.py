"""The check finds summaries that a limit cut off, but no headings, lists or collages."""

import pytest
from support.trees import checked_layer, leaf, summary

from raptor_core.checks.junk import junk_text, open_end, truncated
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
    assert truncated(text) is not None


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
def test_a_finished_text_is_none(text):
    assert truncated(text) is None


def test_pieces_of_the_children_are_never_cut():
    text = "Its height is 7.804 m above datum. The gauge was levelled in"
    assert truncated(text) is not None
    assert junk_text(checked_layer([summary("s", "ab", text=text)], BELOW)).passed


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("Levelled in May the gauge stands well over its datum now", True),
        (WHOLE, False),
        ("ระดับน้ำถูกวัดในเดือนพฤษภาคม", False),
    ],
)
def test_an_open_end_is_a_cut_only_where_the_limit_was_reached(text, is_open):
    assert truncated(text) is None
    assert (open_end(text) is not None) is is_open
    for n_tokens in (5, 20):
        node = summary("s", "ab", text=text, n_tokens=n_tokens)
        assert junk_text(checked_layer([node], BELOW, LIMITED)).passed is not (
            is_open and n_tokens == 20
        )


def test_the_verdict_blocks_and_names_the_node():
    cut = summary("c", "ab", text="The gauge was levelled in May, and its height is the")
    nodes = [summary("s", "ab", text=WHOLE), cut]
    found = junk_text(checked_layer(nodes, BELOW))
    assert (found.name, found.passed, found.severity) == ("junk_text", False, "error")
    assert [worst.node_id for worst in found.worst] == ["c"]
    assert found.worst[0].why.startswith("truncated: ")
    assert "summarizer.max_tokens" in found.remedy
    assert found.numbers["junk_truncated"] == 1
    assert junk_text(checked_layer([])).passed
