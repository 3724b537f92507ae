"""Contract of every token counter."""

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from raptor_core.settings.models import EmbedderSettings, TokensSettings
from raptor_core.tokens import TiktokenCounter, WordCounter, make_counter

RANKS = {bytes([n]): n for n in range(256)} | {b"he": 256, b"ll": 257, b"hell": 258, b" w": 259}
TINY = tiktoken.Encoding(
    name="tiny",
    pat_str=r"\s?\S+|\s+",
    mergeable_ranks=RANKS,
    special_tokens={"<|endoftext|>": 260},
)
COUNTERS = {
    "bundled": make_counter(TokensSettings(), EmbedderSettings()),
    "tiktoken": TiktokenCounter(TINY),
    "words": WordCounter(),
}
each_counter = pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
TEXTS = st.text(max_size=60) | st.sampled_from(
    ["hello world", "e\u0301 👩\u200d👧 中文。", "a\nb\n\n c", "\ud800 x", "[CLS] <|endoftext|>"]
)


@each_counter
@settings(deadline=None)
@given(texts=st.lists(TEXTS, max_size=5))
def test_counts_follow_the_order_and_equal_the_spans(counter, texts):
    assert counter.count(texts) == [len(list(counter.token_spans(text))) for text in texts]


@each_counter
@settings(deadline=None)
@given(text=TEXTS)
def test_spans_are_characters_in_order(counter, text):
    spans = list(counter.token_spans(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


def test_spans_are_characters_and_not_bytes():
    text = "naïve 中文 👩\u200d👧 e\u0301 end"
    spans = list(COUNTERS["bundled"].token_spans(text))
    assert [text[a:b] for a, b in spans] == ["naïve", "中", "文", "👩\u200d👧", "e", "end"]


def test_a_token_inside_a_character_repeats_its_span():
    assert COUNTERS["tiktoken"].token_spans("é!") == [(0, 1), (0, 1), (1, 2)]


def test_long_texts_are_encoded_in_pieces_with_right_offsets():
    counter = COUNTERS["bundled"]
    text = "Some words, é 中文 here.\n" * 3_000
    spans = list(counter.token_spans(text))
    assert [text[a:b] for a, b in spans] == [
        w for _ in range(3_000) for w in ["Some", "words", ",", "é", "中", "文", "here", "."]
    ]


def test_tokens_of_an_endpoint_are_counted_offline():
    counter = make_counter(TokensSettings(), EmbedderSettings(kind="openai"))
    assert counter.fingerprint == COUNTERS["bundled"].fingerprint


def test_words_stand_between_spaces_and_long_runs_are_several():
    counter = make_counter(TokensSettings(counter="words"), EmbedderSettings(kind="openai"))
    assert counter.count(["One, two —\nthree.", "x" * 65, " \n"]) == [4, 3, 0]
    assert counter.token_spans("ab  c") == [(0, 2), (4, 5)]


def test_words_of_scripts_without_spaces_are_counted_by_characters():
    counter = make_counter(TokensSettings(counter="words"), EmbedderSettings(kind="openai"))
    assert counter.count(["灯塔看守人 oil", "ตะเกียงดวงใหญ่", "lamp灯"]) == [4, 4, 2]
