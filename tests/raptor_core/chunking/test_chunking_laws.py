"""Laws 1 (spans) and 2 (locality) as properties."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from raptor_core.chunking import SentenceChunker
from raptor_core.chunking.sentences import sentences
from raptor_core.documents.base import Document
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter


class Words:
    """One token per word, three characters per further token: fast, and additive."""

    fingerprint = "words"

    def count(self, texts):
        return [len(self.token_spans(text)) for text in texts]

    def token_spans(self, text):
        return [
            (at, min(at + 8, word.end()))
            for word in re.finditer(r"\S+", text)
            for at in range(word.start(), word.end(), 8)
        ]


class Joining(Words):
    """Counts one more token than its spans show, as a tokenizer that reads across ends may."""

    def count(self, texts):
        return [n + (n > 1) for n in super().count(texts)]


MINILM = make_counter(TokensSettings(), EmbedderSettings())
LIMITS = st.sampled_from([8, 12, 30, 100])

LATIN = ["the", "cat", "sat", "Anna", "Berlin", "3.14", "e.g.", "and,", "so;", "left", "home"]
OTHER = ["他来了", "今天。", "كتاب،", "هذا", "👩\u200d👧", "e\u0301", "naïve"]
WORDS = st.sampled_from([*LATIN, *OTHER])
SENTENCES = st.builds(
    lambda words, end: " ".join(words).capitalize() + end,
    st.lists(WORDS, min_size=1, max_size=14),
    st.sampled_from([".", "!", "?", "。", "...", ".”"]),
)
PROSE = st.lists(SENTENCES, min_size=1, max_size=9).map(" ".join)
PARAGRAPHS = st.one_of(
    PROSE,
    PROSE,
    SENTENCES,
    SENTENCES.map("## {}".format),
    st.lists(SENTENCES, min_size=1, max_size=6).map(lambda items: "- " + "\n- ".join(items)),
    st.lists(SENTENCES, min_size=1, max_size=6).map(
        lambda rows: "\n".join(f"| {r} |" for r in rows)
    ),
    st.integers(20, 300).map(lambda n: "word " * n),
)
ANY_TEXT = st.lists(
    PARAGRAPHS | st.text(max_size=30) | st.sampled_from(["```\nx = 1\n\ny = 2\n```", "x" * 900]),
    max_size=12,
).flatmap(
    lambda parts: st.sampled_from(["\n\n", "\n", "\r\n\r\n"]).map(lambda glue: glue.join(parts))
)


def chunks_of(text, limit, counter):
    chunker = SentenceChunker(ChunkingSettings(max_tokens=limit), counter)
    return chunker.chunk(Document(id="d", text=text))


@pytest.mark.parametrize(
    "counter", [Words(), Joining(), MINILM], ids=["words", "joining", "minilm"]
)
@given(text=ANY_TEXT, limit=LIMITS)
def test_chunks_are_spans_in_order_that_leave_out_only_white_space(counter, text, limit):
    at = 0
    for chunk in chunks_of(text, limit, counter):
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip() == chunk.text != ""
        assert chunk.start >= at
        assert not text[at : chunk.start].strip()
        at = chunk.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "counter", [Words(), Joining(), MINILM], ids=["words", "joining", "minilm"]
)
@given(text=ANY_TEXT, limit=LIMITS)
def test_no_chunk_exceeds_the_limit_and_counts_are_exact(counter, text, limit):
    chunks = chunks_of(text, limit, counter)
    assert [chunk.n_tokens for chunk in chunks] == counter.count([c.text for c in chunks])
    assert all(chunk.n_tokens <= limit for chunk in chunks)


@given(text=ANY_TEXT, limit=LIMITS)
def test_a_sentence_that_fits_is_never_cut(text, limit):
    counter = Words()
    chunks = chunks_of(text, limit, counter)
    bounds = {chunk.start for chunk in chunks}
    for start, end in sentences(text):
        if counter.count([text[start:end]])[0] <= limit:
            assert not any(start < bound < end for bound in bounds)


def outside(chunks, start, end, length):
    """Chunks before and after a span, nearest last, by offset from the nearer document end."""
    before = [(c.start, c.text) for c in chunks if c.end <= start]
    after = [(length - c.start, c.text) for c in chunks if c.start >= end]
    return before, after[::-1]


def assert_local(paragraphs, at, edited, limit, counter):
    head = "".join(f"{p}\n\n" for p in paragraphs[:at])
    tail = "".join(f"\n\n{p}" for p in paragraphs[at + 1 :])
    sides = []
    for middle in (paragraphs[at], edited):
        text = head + middle + tail
        chunks = chunks_of(text, limit, counter)
        sides.append(outside(chunks, len(head), len(head) + len(middle), len(text)))
    for old, new in zip(*sides, strict=True):
        # Either list may end in one chunk that the other lacks; all others are the same.
        assert old[:-1] == new[: len(old[:-1])]
        assert new[:-1] == old[: len(new[:-1])]


@examples(400)
@given(
    paragraphs=st.lists(PARAGRAPHS, min_size=1, max_size=16),
    at=st.integers(0, 15),
    edited=PARAGRAPHS | st.just(""),
    limit=LIMITS,
)
def test_an_edit_of_one_paragraph_changes_at_most_one_chunk_on_either_side(
    paragraphs, at, edited, limit
):
    assert_local(paragraphs, at % len(paragraphs), edited, limit, Words())


@examples(150)
@given(
    paragraphs=st.lists(SENTENCES, min_size=4, max_size=40),
    at=st.integers(0, 39),
    edited=SENTENCES | PROSE,
)
def test_locality_holds_in_long_runs_of_short_paragraphs(paragraphs, at, edited):
    assert_local(paragraphs, at % len(paragraphs), edited, 60, MINILM)


HEADINGS = st.builds(
    lambda level, words: "#" * level + " " + " ".join(words),
    st.integers(1, 4),
    st.lists(WORDS, min_size=1, max_size=2),
)


@examples(200)
@given(
    paragraphs=st.lists(HEADINGS | PROSE | SENTENCES, min_size=2, max_size=16),
    at=st.integers(0, 15),
    edited=HEADINGS | PROSE | st.just(""),
    limit=LIMITS,
)
def test_locality_holds_among_headings(paragraphs, at, edited, limit):
    assert_local(paragraphs, at % len(paragraphs), edited, limit, Words())


@examples(150)
@given(
    paragraphs=st.lists(PROSE | SENTENCES, min_size=1, max_size=12),
    at=st.integers(0, 11),
    first=PROSE,
    second=PROSE,
)
def test_splitting_a_paragraph_in_two_is_local_too(paragraphs, at, first, second):
    assert_local(paragraphs, at % len(paragraphs), f"{first}\n\n{second}", 40, Words())
