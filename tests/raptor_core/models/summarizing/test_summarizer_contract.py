"""Contract of every summarizer."""

import numpy as np
import pytest
from support.openai_server import FakeOpenAI
from support.word_counter import WordCounter

from raptor_core.models.summarizing import make_summarizer
from raptor_core.models.summarizing.base import Summary, SummaryRequest
from raptor_core.settings.models import SummarizerSettings

COUNTER = WordCounter()

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
