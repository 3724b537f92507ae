"""What the embedder reads before a chunk."""

import pytest

from raptor_core.chunking.context import ContextWriter
from raptor_core.settings.models import EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter

COUNTER = make_counter(TokensSettings(), EmbedderSettings())


def test_title_and_headings_outermost_first():
    assert (
        ContextWriter(COUNTER, 32).write("Guide", ("Setup", "On Linux"))
        == "Guide > Setup > On Linux"
    )


@pytest.mark.parametrize(("title", "section"), [("", ()), ("  ", ("",)), ("", (" \n",))])
def test_nothing_to_say_is_empty(title, section):
    assert ContextWriter(COUNTER, 32).write(title, section) == ""


def test_no_room_is_empty():
    assert ContextWriter(COUNTER, 0).write("Guide", ("Setup",)) == ""


def test_a_heading_that_repeats_the_title_is_written_once():
    assert ContextWriter(COUNTER, 32).write("Guide", ("guide", "Setup")) == "Guide > Setup"


def test_the_middle_is_dropped_first():
    path = ("one two three four five", "six seven eight nine ten", "last")
    assert ContextWriter(COUNTER, 6).write("Title", path) == "Title > … > last"


def test_the_innermost_heading_is_shortened_last():
    line = ContextWriter(COUNTER, 8).write("A very long title indeed", ("word " * 50,))
    assert set(line.split()) == {"word"}
    assert 0 < COUNTER.count([line])[0] <= 8


@pytest.mark.parametrize("max_tokens", range(12))
def test_the_limit_holds(max_tokens):
    writer = ContextWriter(COUNTER, max_tokens)
    line = writer.write("Title of it", ("Part one", "Chapter two", "Three"))
    assert COUNTER.count([line])[0] <= max_tokens


def test_distinct_paths_are_counted_once():
    class Recorder:
        fingerprint = "r"
        n_texts = 0

        def count(self, texts):
            self.n_texts += len(texts)
            return [1] * len(texts)

        def token_spans(self, text):
            raise NotImplementedError

    recorder = Recorder()
    writer = ContextWriter(recorder, 32)
    lines = writer.write_all([("T", ("A",)), ("T", ("B",))] * 500)
    before = recorder.n_texts
    assert lines == ["T > A", "T > B"] * 500
    assert before < 10
    writer.write_all([("T", ("A",))])
    assert recorder.n_texts == before
