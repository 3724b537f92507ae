"""What the chunker does with headings, sections and unusual text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.chunking import make_chunker
from raptor_core.chunking.cutting import cut
from raptor_core.chunking.measure import Measure
from raptor_core.chunking.overlong import cut_sentence
from raptor_core.chunking.packing import key_of
from raptor_core.chunking.sections import SectionPaths
from raptor_core.documents.base import Document, Section
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter

COUNTER = make_counter(TokensSettings(), EmbedderSettings())


def chunk(text, max_tokens=100, sections=()):
    chunker = make_chunker(ChunkingSettings(max_tokens=max_tokens), COUNTER)
    return chunker.chunk(Document(id="d", text=text, sections=sections))


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n"])
def test_white_space_has_no_chunk(text):
    assert chunk(text) == []


def test_one_word_is_one_chunk():
    (only,) = chunk(" hello\n")
    assert (only.text, only.start, only.end, only.n_tokens) == ("hello", 1, 6, 1)


UNUSUAL = {
    "endless word": "x" * 100_000,
    "endless sentence": "lorem ipsum " * 25_000,
    "identical sentences": "He came home again. " * 200,
    "identical paragraphs": "He came home again.\n\n" * 200,
    "control characters": "\x00\x01 a\x0b\x1c b\x85 c\ud800 " * 50,
    "emoji": "👩\u200d👩\u200d👧🇩🇪👍🏽 " * 500,
    "chinese": "他来了，他说话。" * 500,
    "chinese without marks": "他来了他说话" * 500,
    "arabic": "ما هذا؟ هذا كتاب، نعم. " * 300,
    "thai": "สวัสดีครับผมชื่อ" * 800,
    "code only": "```\n" + "def f(x):\n    return x + 1\n\n" * 400 + "```\n",
    "unclosed fence": "```\n" + "x = 1\n" * 400,
    "dots": "." * 20_000,
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


def test_an_endless_word_does_not_pass_for_one_token():
    assert max(len(c.text) for c in chunk("x" * 100_000)) <= 3_200


def test_a_long_paragraph_of_equal_sentences_fills_its_chunks():
    counts = [c.n_tokens for c in chunk("He came home again. " * 200)]
    assert sum(counts) / len(counts) > 60


def test_a_long_sentence_is_cut_after_clause_punctuation_first():
    text = "one two three four, five six seven"
    assert cut_sentence(text, 0, len(text), Measure(text, COUNTER), 6) == [
        len("one two three four, ")
    ]


def test_a_long_sentence_is_cut_at_white_space_before_any_token():
    text = "unbelievable unbelievably " * 30
    assert all(text[c.end : c.end + 1].isspace() for c in chunk(text, 8)[:-1])


def test_combined_characters_stay_whole():
    text = "👩\u200d👩\u200d👧🇩🇪👍🏽e\u0301" * 300
    starts = [text[c.start] for c in chunk(text, 8)]
    assert not set(starts) & {"\u200d", "\u0301", "🏽"}


def test_a_heading_sticks_to_what_follows():
    text = "Before, there was only this.\n\n## A heading\n\nIt governs this paragraph."
    assert [c.text for c in chunk(text)][-1] == "## A heading\n\nIt governs this paragraph."


def test_a_heading_takes_sentences_of_a_paragraph_that_does_not_fit_behind_it():
    text = "## A heading of some words\n\n" + " ".join(f"Sentence {n} is here." for n in range(19))
    first, second = chunk(text)
    assert first.text.startswith("## A heading of some words\n\nSentence 0 is here.")
    assert min(first.n_tokens, second.n_tokens) > 30


def test_a_heading_shares_a_chunk_with_the_deeper_one_behind_it():
    text = "Before.\n\n# Title\n\n## Part\n\nIt begins here."
    assert chunk(text)[-1].text == "# Title\n\n## Part\n\nIt begins here."


def test_the_rest_of_a_cut_paragraph_shares_a_chunk_with_a_short_neighbour():
    long = " ".join(f"Sentence {n} is here." for n in range(24))
    chunks = chunk(f"A line before it.\n\n{long}\n\nA line behind it.")
    assert len(chunks) <= 3
    assert max(c.n_tokens for c in chunks) > 80


@given(
    weights=st.lists(st.integers(1, 100), min_size=1, max_size=80),
    limit=st.integers(100, 130),
)
def test_cut_pieces_fit_and_hold_every_sentence(weights, limit):
    keys = [key_of(f"{n} {weight}") for n, weight in enumerate(weights)]
    ends = cut(weights, keys, limit)
    assert ends == sorted(set(ends))
    assert ends[-1] == len(weights)
    assert all(0 < sum(weights[a:b]) <= limit for a, b in pairwise([0, *ends]))


def test_no_chunk_crosses_the_beginning_of_a_section():
    text = "\n\n".join(f"Short line {n}." for n in range(40))
    starts = [text.index(f"Short line {n}.") for n in (10, 20, 30)]
    sections = tuple(Section(f"S{n}", 1, s, s + 9) for n, s in enumerate(starts))
    for c in chunk(text, sections=sections):
        assert not any(c.start < start < c.end for start in starts)


def test_some_short_paragraphs_share_a_chunk():
    text = "\n\n".join(f"Line {n} says {n * 7919 % 997}." for n in range(200))
    assert len(chunk(text)) < 130


def test_section_paths_equal_the_documents_own():
    text = "x" * 60
    sections = (
        Section("A", 1, 0, 40),
        Section("B", 2, 10, 30),
        Section("C", 3, 10, 20),
        Section("D", 1, 40, 55),
    )
    document = Document(id="d", text=text, sections=sections)
    paths = SectionPaths(document)
    assert [paths.at(n) for n in range(60)] == [document.section_path(n) for n in range(60)]


def test_chunks_carry_their_section_path():
    text = "Alpha\n\nFirst text here.\n\nBeta\n\nSecond text here."
    beta = text.index("Beta")
    sections = (Section("Alpha", 1, 0, len(text)), Section("Beta", 2, beta, len(text)))
    assert [c.section for c in chunk(text, sections=sections)] == [("Alpha",), ("Alpha", "Beta")]


def test_the_fingerprint_names_what_changes_chunks_only():
    def fingerprint(**values):
        return make_chunker(ChunkingSettings(**values), COUNTER).fingerprint

    assert fingerprint(max_tokens=100) == fingerprint(max_tokens=100, context=False)
    assert fingerprint(max_tokens=100) != fingerprint(max_tokens=101)
