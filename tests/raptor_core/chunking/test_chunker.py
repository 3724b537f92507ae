"""Chunks of documents with headings, sections and unusual text."""

import importlib.util
import random
import textwrap
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from support.workshop import WORDS

from raptor_core.chunking import make_chunker
from raptor_core.chunking.context import context_lines
from raptor_core.chunking.sentences import SpanWeights, find_sentence_cuts, find_sentence_spans
from raptor_core.documents.base import Document
from raptor_core.settings import preset
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter
from raptor_core.tokens.tiktoken_counter import TiktokenCounter
from raptor_formats.blocks import Section

COUNTER = make_counter(TokensSettings(), EmbedderSettings())


def chunk(text, max_tokens=100, sections=()):
    chunker = make_chunker(ChunkingSettings(max_tokens=max_tokens), COUNTER)
    return chunker.chunk(Document(id="d", text=text, sections=sections))


UNUSUAL = {
    "endless word": "x" * 100_000,
    "endless sentence": "lorem ipsum " * 8_000,
    "identical sentences": "He came home again. " * 200,
    "control characters": "\x00\x01 a\x0b\x1c b\x85 c\ud800 " * 50,
    "emoji": "👩\u200d👩\u200d👧🇩🇪👍🏽 " * 500,
    "chinese": "他来了，他说话。" * 500,
    "chinese without marks": "他来了他说话" * 500,
    "thai": "สวัสดีครับผมชื่อ" * 300,
    "code only": "```\n" + "def f(x):\n    return x + 1\n\n" * 400 + "```\n",
    "unclosed fence": "```\n" + "x = 1\n" * 400,
    "combining characters": "e\u0301" * 10_000,
    "blank lines": "\n" * 50_000 + "a",
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_text_is_cut_within_the_limit_and_without_loss(name):
    text = UNUSUAL[name]
    chunks = chunk(text)
    assert "".join("".join(c.text.split()) for c in chunks) == "".join(text.split())
    assert max(c.n_tokens for c in chunks) <= 100
    assert [c.n_tokens for c in chunks] == COUNTER.count([c.text for c in chunks])


def test_a_long_sentence_is_cut_after_clause_punctuation_first():
    text = "one two three four, five six seven"
    assert find_sentence_cuts(text, 0, len(text), SpanWeights(text, COUNTER, 0, len(text)), 6) == [
        len("one two three four, ")
    ]


def test_combined_characters_stay_whole():
    text = "👩\u200d👩\u200d👧🇩🇪👍🏽e\u0301" * 300
    starts = [text[c.start] for c in chunk(text, 8)]
    assert not set(starts) & {"\u200d", "\u0301", "🏽"}


def test_a_heading_sticks_to_what_follows():
    parts = [f"## Heading {n}\n\n" + f"Sentence {n} goes on. " * (n % 7 + 1) for n in range(40)]
    for c in chunk("".join(f"{part.strip()}\n\n" for part in parts)):
        assert not c.text.splitlines()[-1].startswith("##")


def test_a_heading_takes_sentences_of_a_paragraph_that_does_not_fit_behind_it():
    text = "## A heading of some words\n\n" + " ".join(f"Sentence {n} is here." for n in range(19))
    first, second = chunk(text)
    assert first.text.startswith("## A heading of some words\n\nSentence 0 is here.")
    assert min(first.n_tokens, second.n_tokens) > 30


def small_sections(text, *starts):
    return tuple(Section(f"S{n}", 1, start, len(text)) for n, start in enumerate(starts))


def test_sections_that_stand_alone_are_kept_apart_and_small_ones_share_chunks():
    lines = [f"Short line {n}, of which there are many." for n in range(60)]
    text = "\n\n".join(lines)
    starts = [text.index(f"line {n},") - len("Short ") for n in (20, 22, 24, 44)]
    chunks = chunk(text, sections=small_sections(text, *starts))
    crossed = [any(c.start < start < c.end for c in chunks) for start in starts]
    assert crossed[0] is crossed[3] is False
    assert any(crossed[1:3])


@pytest.mark.parametrize(
    "text",
    ["เมื่อเขาเดินไปโรงเรียนแล้วก็ใช้น้ำ", "ເມື່ອໃຊ້ນ້ຳແລະໄປ", "ភ្លើងស្រុកខ្មែរ", "မြန်မာစာသဒ္ဒါ"],
)
def test_no_cut_parts_a_letter_from_its_vowels(text):
    chunks = chunk(text * 60, 12)
    assert len(chunks) > 5
    for c in chunks:
        assert c.text[0] not in "ะาำๆະາຳ"
        assert unicodedata.category(c.text[0])[0] != "M"
        assert c.text[-1] not in "เแโใไເແໂໃໄ\u17d2\u1039"


def written(max_tokens, title, section):
    (line,) = context_lines([(title, section)], COUNTER, max_tokens)
    return line


@pytest.mark.parametrize("max_tokens", range(12))
def test_the_line_of_title_and_sections_keeps_to_its_tokens(max_tokens):
    line = written(max_tokens, "Title of it", ("Part one", "Chapter two", "Three"))
    assert COUNTER.count([line])[0] <= max_tokens


LIMIT = 100


@pytest.fixture(scope="module")
def counter():
    """The counter of cl100k_base, whose file comes with a package of the tests."""
    package = importlib.util.find_spec("llama_index.core")
    folder = Path(package.origin).parent / "_static" / "tiktoken_cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return TiktokenCounter("cl100k_base")


def wrapped_prose(n_sentences, width=66, seed=1):
    """Sentences of 4 to 24 words over lines of ``width`` characters."""
    rng = random.Random(seed)
    parts = [" ".join(rng.choices(WORDS, k=rng.randint(4, 24))) for _ in range(n_sentences)]
    return textwrap.fill(" ".join(f"{part.capitalize()}." for part in parts), width)


def chunks_of(text, counter, **values):
    settings = preset("paper").chunking.model_copy(update=values)
    return make_chunker(settings, counter).chunk(Document("d", text))


@pytest.mark.slow
def test_whole_sentences_across_line_ends_fill_each_chunk(counter):
    text = wrapped_prose(300)
    chunks = chunks_of(text, counter)
    ends = {end for _, end in find_sentence_spans(text)}
    assert all(chunk.end in ends for chunk in chunks)
    for chunk, following in pairwise(chunks):
        first = next(end for start, end in find_sentence_spans(text) if start == following.start)
        assert counter.count([text[chunk.start : first]])[0] > LIMIT >= chunk.n_tokens
    assert [chunk.n_tokens for chunk in chunks] == counter.count([chunk.text for chunk in chunks])
