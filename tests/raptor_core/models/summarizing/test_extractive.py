"""Extractive summaries: choice of sentences, limits, and determinism."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.openai_server import FakeOpenAI
from support.word_counter import WordCounter

from raptor_core.models.summarizing import make_summarizer
from raptor_core.models.summarizing.base import (
    FailedSummary,
    Summary,
    SummaryRequest,
    find_failure_remedy,
)
from raptor_core.models.summarizing.extractive import ExtractiveSummarizer
from raptor_core.settings.models import SummarizerSettings

COUNTER = WordCounter()
HARBOUR = (
    "The harbour of Lindmark freezes every winter, and ships wait for weeks outside the ice.",
    "In 1954 the town bought an icebreaker, which keeps the harbour open from December on.",
    "The harbour's trade doubled within ten years after the icebreaker had come to Lindmark.",
    "Fishermen opposed the purchase because the channel disturbs the nets below the ice.",
    "A compromise of 1961 leaves the northern bay of Lindmark untouched until the thaw.",
    "Today the icebreaker is a museum, and a stronger ship does its work in the harbour.",
)


def requested(texts, vectors=None, key="key"):
    if vectors is None:
        vectors = np.ones((len(texts), 3), dtype=np.float32) / np.sqrt(3)
    return SummaryRequest(
        key, "layer 1, node 1", tuple(texts), tuple(COUNTER.count(texts)), vectors
    )


def summarizer(**values):
    return ExtractiveSummarizer(SummarizerSettings(**values), COUNTER, "embedder")


def summarize(texts, vectors=None, **values):
    (answer,) = summarizer(**values).summarize([requested(texts, vectors)])
    return answer.text


@pytest.mark.parametrize("ratio", [0.2, 0.28, 0.4])
def test_the_length_is_about_the_ratio(ratio):
    texts = [f"{sentence} {HARBOUR[n - 1]}" for n, sentence in enumerate(HARBOUR)]
    n_tokens = COUNTER.count([summarize(texts, ratio=ratio, min_tokens=1)])[0]
    longest = max(COUNTER.count(HARBOUR))
    assert abs(n_tokens - ratio * sum(COUNTER.count(texts))) <= longest


def test_a_near_duplicate_is_left_out():
    twin = (
        "The harbour of Lindmark freezes every winter, and ships wait some weeks outside the ice."
    )
    summary = summarize([HARBOUR[0], twin, HARBOUR[3]], ratio=0.9)
    assert summary == f"{HARBOUR[0]} {HARBOUR[3]}" or summary == f"{twin} {HARBOUR[3]}"


@pytest.mark.parametrize(
    "junk",
    [
        "## Harbour, icebreaker, Lindmark",
        "| harbour | icebreaker | 1954 | Lindmark |",
        "harbour = icebreaker(1954); return Lindmark{}",
        "https://lindmark.example/harbour/icebreaker/winter/1954",
        "[12] Lindmark, A. The icebreaker and the harbour. 1954, pp. 3.",
        "“The harbour of Lindmark was open because of the icebreaker.",
        "and then the harbour of Lindmark had an icebreaker in winter.",
        "The harbour of Lindmark and its icebreaker in winter",
        "- harbour of Lindmark, icebreaker, winter.",
    ],
)
def test_what_is_no_whole_sentence_is_left_out_where_there_is_prose(junk):
    summary = summarize([junk, HARBOUR[3], HARBOUR[4]], ratio=0.95)
    assert summary == f"{HARBOUR[3]} {HARBOUR[4]}"


def test_a_shorter_sentence_is_chosen_over_one_beyond_the_limit():
    endless = "The harbour of Lindmark " + "and its icebreaker " * 40 + "froze."
    summary = summarize([endless, "A museum ship lies in the bay."], max_tokens=20, min_tokens=8)
    assert summary == "A museum ship lies in the bay."


def test_a_sentence_is_cut_at_a_clause_only_where_no_sentence_fits():
    endless = "When winter comes to the harbour of Lindmark the ships wait, " + "and wait " * 40
    assert summarize([endless, endless.upper()], max_tokens=16, min_tokens=8).casefold() == (
        "when winter comes to the harbour of lindmark the ships wait"
    )


def test_a_central_child_is_preferred():
    texts = [
        "Ships carry grain across the northern sea every summer.",
        "Bakers knead dough inside the eastern quarter every morning.",
        "Monks copy books within the western abbey every evening.",
    ]
    for central in range(3):
        vectors = np.array([[0.6, 0.8], [0.6, -0.8]], dtype=np.float32)
        vectors = np.insert(vectors, central, [1.0, 0.0], axis=0)
        assert summarize(texts, vectors, ratio=0.2, min_tokens=1) == texts[central]


def test_children_without_visible_text_fail_by_name():
    (answer,) = summarizer().summarize([requested([" ", "\n"])])
    assert answer == FailedSummary(
        "key", "layer 1, node 1", "its children contain no text", is_permanent=True
    )
    assert "build again" not in find_failure_remedy([answer])


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=300),
        min_size=2,
        max_size=6,
    ),
    st.integers(16, 60),
)
def test_any_text_gives_a_summary_within_the_limit(texts, max_tokens):
    (answer,) = summarizer(max_tokens=max_tokens, min_tokens=8).summarize([requested(texts)])
    if not "".join(texts).strip():
        assert isinstance(answer, FailedSummary)
        return
    if isinstance(answer, FailedSummary):  # marks alone, such as a rule, are no text
        assert not any(map(str.isalnum, "".join(texts)))
        return
    assert answer.text.strip()
    assert COUNTER.count([answer.text])[0] <= max_tokens


@given(st.lists(st.sampled_from(HARBOUR), min_size=2, max_size=12), st.floats(0.05, 0.95))
def test_only_source_sentences_each_once_in_order(texts, ratio):
    summary = summarize(texts, ratio=ratio)
    taken = re.split(r"(?<=\.) ", summary)
    assert set(taken) <= set(texts)
    first_places = [texts.index(sentence) for sentence in taken]
    assert first_places == sorted(set(first_places))


CLUSTERS = {
    "prose": (
        "The harbour of Lindmark freezes every winter. Ships wait outside until the ice breaks.",
        "An icebreaker was bought in 1954. It keeps the harbour open, and the town grew by it.",
    ),
    "one word each": ("alpha", "beta"),
    "equal children": ("The same words stand here again.",) * 5,
    "chinese": (
        "港口每年冬天都会结冰。船只在外面等待冰层破裂。",
        "一九五四年购买了一艘破冰船。它使港口保持开放。",
    ),
    "arabic": (
        "يتجمد الميناء كل شتاء. تنتظر السفن في الخارج حتى ينكسر الجليد.",
        "تم شراء كاسحة جليد. إنها تبقي الميناء مفتوحا طوال السنة.",
    ),
    "marks only": ("...", "— — —"),
    "code": ("def f(x):\n    return x + 1", "if (a == b) { c(); }"),
    "one endless sentence": (" ".join(f"word{n}" for n in range(400)),) * 2,
    "one endless word": ("x" * 3000, "y" * 3000),
    "blank beside text": ("   \n ", "Only this child says anything at all."),
}


def request(name, texts, key=None):
    vectors = np.random.default_rng(len(texts)).normal(size=(len(texts), 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return SummaryRequest(key or name, name, texts, tuple(COUNTER.count(texts)), vectors)


@pytest.fixture(params=["extractive", "openai"])
def make(request):
    """A function that makes the summarizer under test from settings."""
    with FakeOpenAI() as server:
        yield lambda **values: make_summarizer(
            SummarizerSettings(kind=request.param, base_url=server.base_url, **values),
            COUNTER,
            "embedder",
        )


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("max_tokens", [30, 200])
def test_a_summary_is_never_empty_and_never_above_the_limit(make, name, max_tokens):
    (answer,) = make(max_tokens=max_tokens, min_tokens=8).summarize([request(name, CLUSTERS[name])])
    assert isinstance(answer, Summary)
    assert answer.text == answer.text.strip() != ""
    assert COUNTER.count([answer.text])[0] <= max_tokens


def test_every_key_is_answered_exactly_once(make):
    requests = [request(f"node {n}", CLUSTERS["prose"], key=f"key {n}") for n in range(20)]
    answers = list(make().summarize(requests))
    assert sorted(a.key for a in answers) == sorted(r.key for r in requests)


def test_the_fingerprint_changes_with_the_length_and_only_with_what_changes_texts(make):
    usual = make().fingerprint
    assert make().fingerprint == usual
    assert make(max_tokens=100).fingerprint != usual
    assert make(timeout_seconds=1.0, concurrency=3, max_retries=1).fingerprint == usual
