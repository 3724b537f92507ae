"""Context lines that the embedder reads before a chunk."""

import pytest

from raptor_core.chunking.context import context_lines
from raptor_core.settings.models import EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter

COUNTER = make_counter(TokensSettings(), EmbedderSettings())


def written(max_tokens, title, section):
    (line,) = context_lines([(title, section)], COUNTER, max_tokens)
    return line


def test_title_and_headings_outermost_first():
    assert written(32, "Guide", ("Setup", "On Linux")) == "Guide > Setup > On Linux"


@pytest.mark.parametrize(("title", "section"), [("", ()), ("  ", ("",)), ("", (" \n",))])
def test_nothing_to_say_is_empty(title, section):
    assert written(32, title, section) == ""


def test_a_heading_that_repeats_the_title_is_written_once():
    assert written(32, "Guide", ("guide", "Setup")) == "Guide > Setup"


def test_the_middle_is_dropped_first():
    path = ("one two three four five", "six seven eight nine ten", "last")
    assert written(6, "Title", path) == "Title > … > last"


def test_the_innermost_heading_is_shortened_last():
    line = written(8, "A very long title indeed", ("word " * 50,))
    assert set(line.split()) == {"word"}
    assert 0 < COUNTER.count([line])[0] <= 8


@pytest.mark.parametrize("max_tokens", range(12))
def test_the_limit_holds(max_tokens):
    line = written(max_tokens, "Title of it", ("Part one", "Chapter two", "Three"))
    assert COUNTER.count([line])[0] <= max_tokens
