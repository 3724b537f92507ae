"""Law 9: the check finds texts that are no summary, and no ordinary text."""

import pytest
from support.trees import checked_layer, leaf, summary

from raptor_core.checks.junk import find_junk, junk_text, loop

CHILDREN = ["The gauge was levelled in May.", "Its height is 7.804 m above datum."]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "I'm sorry, but I can't assist with that request.",
        "As an AI language model, I cannot summarize this text.",
        "Error: Rate limit reached for gpt-4o-mini in organization org-x on tokens per min.",
        '{"error": {"message": "The server is overloaded.", "type": "server_error"}}',
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>",
        "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nKeyError: 'a'",
        "Write a summary of the following, including as many key details as possible:",
        "The gauge is new. " * 40,
        "---- ==== #### 0000 ....",
    ],
)
def test_what_is_no_summary_is_junk(text):
    assert find_junk(text, CHILDREN) is not None


@pytest.mark.parametrize(
    "text",
    [
        "The gauge was levelled in May; its height is 7.804 m above datum.",
        "A rate limit protects a service. When it is reached, the client waits and tries again.",
        "The error grew by 3 mm a year until the sensor was exchanged.",
        "水位計は五月に測量され、高さは7.804メートルである。",
        "تمت تسوية مقياس المد في مايو.",
        "She was sorry that she could not come.",
        "def level(gauge): returns the height of a gauge above datum.",
    ],
)
def test_ordinary_text_is_not_junk(text):
    assert find_junk(text, CHILDREN) is None


def test_a_summary_of_texts_that_show_the_same_is_not_junk():
    text = "I'm sorry, but I can't assist with that request."
    assert find_junk(text, [f"The assistant answered: {text}", "Then it was switched off."]) is None


def test_the_verdict_blocks_and_shows_the_node():
    below = [leaf("a"), leaf("b")]
    good, bad = summary("s", "ab"), summary("j", "ab", text="I'm sorry, I can't do that.")
    passed = junk_text(checked_layer([good, *below], below))
    failed = junk_text(checked_layer([good, bad], below))
    assert (passed.passed, passed.worst) == (True, ())
    assert (failed.passed, failed.severity, failed.name) == (False, "error", "junk_text")
    assert [worst.node_id for worst in failed.worst] == ["j"]
    assert failed.remedy


def test_pieces_of_the_children_are_not_junk_however_they_end():
    code = "```Python\n@lru_cache\ndef get_settings():\n    return Settings()\n```"
    children = [
        f"Values of arguments are kept. For example, if you have a function:\n\n{code}",
        "It is called once for each combination of arguments. Then the value is reused.",
    ]
    text = (
        "Values of arguments are kept. It is called once for each combination of arguments. "
        "For example, if you have a function: @lru_cache"
    )
    assert find_junk(text, []) is not None
    assert find_junk(text, children) is None
    assert find_junk(f"{text} and then the", children) is not None


def test_sentences_that_return_in_turn_are_a_loop():
    first = "The girl was kind to the prince and her sisters were jealous of her new golden dress."
    second = (
        "Her father gave her a branch, and she planted it on the grave and wept every day there."
    )
    assert loop(f"Once there was a maid. {first} {second} {first} {second} {first}")
    assert (
        loop(f"{first} {second} Once there was a maid who lived in a house with her sisters.")
        is None
    )
    assert find_junk(f"{first} {second} " * 3, [f"{first} {second} " * 3]) is None
