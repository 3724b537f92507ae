"""Laws 1 (spans) and 2 (locality) as properties."""

import random
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.examples import examples

from raptor_core.chunking import SentenceChunker, make_chunker
from raptor_core.chunking.outline import document_blocks, paragraph_parts
from raptor_core.chunking.packing import CHUNK_PRICE, LEAST_SHARE, SMALL_PRICE, cheapest_run_ends
from raptor_core.chunking.sentences import block_sentence_spans
from raptor_core.documents.base import Document
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter
from raptor_formats.blocks import Section, is_horizontal_rule
from raptor_lab.chunking import FixedWordsChunker


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
def test_chunks_are_spans_in_order_that_leave_out_only_what_is_no_text(counter, text, limit):
    at, chunks = 0, chunks_of(text, limit, counter)
    assert [chunk.n_tokens for chunk in chunks] == counter.count([c.text for c in chunks])
    assert all(chunk.n_tokens <= limit for chunk in chunks)
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip() == chunk.text != ""
        assert chunk.start >= at
        assert is_horizontal_rule(text[at : chunk.start])
        assert not is_horizontal_rule(chunk.text)
        at = chunk.end
    assert is_horizontal_rule(text[at:])


@given(text=ANY_TEXT, limit=LIMITS)
def test_a_sentence_that_fits_is_never_cut(text, limit):
    counter = Words()
    chunks = chunks_of(text, limit, counter)
    bounds = {chunk.start for chunk in chunks}
    blocks = document_blocks(Document("d", text))
    for start, end in (span for block in blocks for span in block_sentence_spans(text, block)):
        if counter.count([text[start:end]])[0] <= limit:
            assert not any(start < bound < end for bound in bounds)


def chunker_of(method, limit):
    if method == "windows":
        return FixedWordsChunker(ChunkingSettings(max_tokens=limit), Words())
    return make_chunker(ChunkingSettings(method=method, max_tokens=limit), Words())


@pytest.mark.parametrize("method", ["greedy", "windows"])
@given(text=ANY_TEXT, limit=LIMITS)
def test_the_other_methods_keep_the_law_of_spans(method, text, limit):
    chunks = chunker_of(method, limit).chunk(Document(id="d", text=text))
    bounds = [0, *(bound for c in chunks for bound in (c.start, c.end)), len(text)]
    assert bounds == sorted(bounds)
    gaps = (text[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True))
    assert all(map(is_horizontal_rule, gaps))
    assert all(c.text == text[c.start : c.end] and c.n_tokens <= limit for c in chunks)


def story(chance, n_paragraphs, most_sentences):
    """Paragraphs as lists of sentences, no two of which are equal."""
    vocabulary = [f"w{n}" for n in range(900)]
    return [
        [
            " ".join(chance.choices(vocabulary, k=chance.randint(3, 24))).capitalize() + "."
            for _ in range(chance.randint(1, most_sentences))
        ]
        for _ in range(n_paragraphs)
    ]


def edited(story, at, chance):
    """The story after one sentence of paragraph ``at`` is added, left out or rewritten."""
    sentences = list(story[at])
    spot = chance.randrange(len(sentences))
    other = chance.choice(chance.choice(story))
    kind = chance.choice(["add", "leave out", "rewrite", "word"])
    if kind == "add":
        sentences.insert(spot, other)
    elif kind == "rewrite":
        sentences[spot] = other
    elif kind == "word" or len(sentences) == 1:
        sentences[spot] = f"Then {sentences[spot]}"
    else:
        del sentences[spot]
    return [*story[:at], sentences, *story[at + 1 :]]


def text_of(story):
    return "\n\n".join(" ".join(sentences) for sentences in story)


def outside(story, at):
    """Chunks that hold nothing of paragraph ``at``: those before it, and those behind it."""
    text = text_of(story)
    start = len(text_of([*story[:at], [""]]))
    end = len(text_of(story[: at + 1]))
    chunks = chunks_of(text, 100, Words())
    before = {(c.start, c.end) for c in chunks if c.end <= start}
    return before | {(c.start - len(text), c.end - len(text)) for c in chunks if c.start >= end}


@pytest.mark.slow
@pytest.mark.parametrize(
    "most_sentences", [4, *(pytest.param(n, marks=pytest.mark.rare) for n in (2, 8))]
)
def test_an_edit_changes_its_paragraphs_chunks_and_on_average_at_most_two_others(most_sentences):
    chance = random.Random(224)
    original = story(chance, 60, most_sentences)
    changed = 0
    for _ in range(40):
        at = chance.randrange(len(original))
        new = edited(original, at, chance)
        changed += len(outside(new, at) - outside(original, at))
    assert changed / 40 <= 2


@examples(40)
@given(seed=st.integers(0, 10**6), at=st.integers(0, 11), small=st.integers(0, 2))
def test_no_edit_is_seen_beyond_the_end_of_a_section_that_stands_alone(seed, at, small):
    chance = random.Random(seed)
    first, second = story(chance, 12, 9), story(chance, 12, 9)
    between = story(chance, small, 1)
    sides = []
    for opening in (first, edited(first, at, chance)):
        text = text_of([*opening, *between, *second])
        starts = [0, len(text_of([*opening, [""]]))]
        sections = tuple(Section(f"S{start}", 1, start, len(text)) for start in starts)
        chunks = make_chunker(ChunkingSettings(), Words()).chunk(
            Document(id="d", text=text, sections=sections)
        )
        assert not any(c.start < starts[1] - 2 < c.end for c in chunks)
        sides.append([(c.start - len(text), c.text) for c in chunks if c.start >= starts[1]])
    assert sides[0] == sides[1] != []


@examples(150)
@example(weights=[50, 51], limit=100, seed=0)
@given(
    weights=st.lists(st.integers(1, 100), min_size=1, max_size=80),
    limit=st.integers(100, 130),
    seed=st.integers(0, 10**6),
)
def test_a_packing_has_the_least_price_of_all(weights, limit, seed):
    chance = random.Random(seed)
    prices = [chance.randrange(2 * CHUNK_PRICE) for _ in weights]

    def price(start, end):
        weight = sum(weights[start:end])
        widest = start == 0 or weight + weights[start - 1] > limit
        if weight > limit or (weight < LEAST_SHARE * limit and not widest):
            return None
        small = int(SMALL_PRICE * CHUNK_PRICE) if weight < LEAST_SHARE * limit else 0
        return CHUNK_PRICE + small + (prices[end] if end < len(prices) else 0)

    least = [0]
    for end in range(1, len(weights) + 1):
        found = [(price(start, end), least[start]) for start in range(end)]
        large = [sum(weights[s:end]) >= LEAST_SHARE * limit for s in range(end)]
        possible = [(p, c, b) for (p, c), b in zip(found, large, strict=True) if p is not None]
        enough = [p + c for p, c, b in possible if b]
        least.append(min(enough or [p + c for p, c, _ in possible]))
    ends = cheapest_run_ends(weights, prices, limit)
    assert ends == sorted(set(ends))
    assert sum(price(a, b) for a, b in pairwise([0, *ends])) == least[-1]


@given(ANY_TEXT, LIMITS, st.sampled_from(["sentences", "greedy", "windows"]))
def test_chunks_know_their_paragraphs(text, limit, method):
    document = Document("d", text)
    chunks = chunker_of(method, limit).chunk(document)
    found = paragraph_parts(document, chunks, Words())
    starts = {block.start for block in document_blocks(document)}
    texts = {}
    for chunk, parts in zip(chunks, found, strict=True):
        assert sum(n for _, n in parts) >= chunk.n_tokens
        assert parts[0][0] <= chunk.start
        assert [start for start, _ in parts[1:]] == sorted(
            start for start, _ in parts if start > chunk.start
        )
        for (start, _), end in zip(parts, [*(a for a, _ in parts[1:]), chunk.end], strict=True):
            assert start in starts
            texts[start] = texts.get(start, "") + text[max(start, chunk.start) : end]
    for start, end in pairwise([*sorted(texts), len(text)]):
        shown = "".join(filter(str.isalnum, texts[start]))
        assert shown == "".join(filter(str.isalnum, text[start:end]))
