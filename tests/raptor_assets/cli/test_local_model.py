"""A real chat model, by llama.cpp, in this process and over its own server.

The model is small and behaves badly, which is part of what is tested: cut answers and loops.
"""

import numpy as np
import pytest
from support.command import Place
from support.local_model import model_file, serve
from support.trees import leaf, summary
from support.word_counter import WordCounter

from raptor_core.audit import make_judge
from raptor_core.audit.base import SummaryToAudit
from raptor_core.models.summarizing import make_summarizer
from raptor_core.models.summarizing.base import FailedSummary, SummaryRequest
from raptor_core.settings import AuditSettings, SummarizerSettings
from raptor_core.vectors import Vectors

pytestmark = [pytest.mark.slow, pytest.mark.rare, pytest.mark.timeout(600)]

CONTEXT_TOKENS = 1024
THREADS = 1  # two would wait for each other beside other tests
LIGHT = (
    "The keeper lit the lamp at dusk. He wrote the hour into the book.",
    "A storm came from the west at night. The boats stayed in the harbour.",
)
DAY = (
    "In the morning the sea was calm. Three boats went out to fish.",
    "The lamp burned all night. The oil lasted until the morning.",
)


def settings(part, **values):
    """Settings of a part that calls the model in this process."""
    kind = {"judge": "local"} if part is AuditSettings else {"kind": "local"}
    limits = {"context_tokens": CONTEXT_TOKENS, "max_retries": 1, "max_tokens": 64}
    limits["threads"] = THREADS
    return part(**{**kind, "model": str(model_file()), **limits, **values})


def request(key, texts):
    counts = tuple(len(text.split()) for text in texts)
    vectors: Vectors = np.full((len(texts), 2), 0.5**0.5, dtype=np.float32)
    return SummaryRequest(key, key, tuple(texts), counts, vectors)


def answers(settings, *clusters):
    """Answers to clusters of texts by their keys."""
    requests = [request(f"cluster {at}", texts) for at, texts in enumerate(clusters)]
    summarizer = make_summarizer(settings, WordCounter(), "embedder")
    return {answer.key: answer for answer in summarizer.summarize(requests)}


@pytest.fixture(scope="module")
def server():
    """Base URL of llama.cpp's own server of the same model."""
    running = serve(CONTEXT_TOKENS)
    yield f"{running.listening_address}/v1"
    del running  # which ends it


@pytest.fixture(scope="module")
def new_place(tmp_path_factory):
    """A home whose summaries and answers the model writes, not built yet."""
    place = Place(tmp_path_factory.mktemp("local"))
    place.write("light.md", " ".join((*LIGHT, *DAY)))
    printed = place.call("init", place.docs, "--local", model_file())
    assert (printed.code, "wrote" in printed.out) == (0, True), printed.err
    place.configure("[chunking]\nmax_tokens = 24")
    place.configure('[components]\nclusterer = "support.clusterers:fours"')
    place.configure("[tree]\nmax_layers = 1")
    small = f"context_tokens = {CONTEXT_TOKENS}\nmax_tokens = 64\nthreads = {THREADS}"
    place.configure(f"[summarizer]\n{small}")
    place.configure(f"[reader]\n{small}")
    return place


@pytest.fixture(scope="module")
def built(new_place):
    """What the first build printed."""
    return new_place.call("build", "--json")


@pytest.fixture
def place(new_place, built):
    """The home after its build."""
    assert (built.code, built.json["failed"]) == (0, {}), built.err
    return new_place


def test_a_build_is_published_and_the_next_one_calls_nothing(place, built):
    assert built.json["n_summarized"] > 0
    again = place.call("build", "--force", "--json")
    assert (again.code, again.json["n_summarized"]) == (0, 0), again.err


def test_an_answer_that_is_cut_in_its_first_sentence_fails_and_never_becomes_text(server):
    local = settings(SummarizerSettings, max_retries=0).model_copy(update={"max_tokens": 5})
    remote = local.model_copy(update={"kind": "openai", "base_url": server, "timeout_seconds": 300})
    for part in (local, remote):
        (answer,) = answers(part, (*LIGHT, *DAY)).values()
        assert isinstance(answer, FailedSummary)
        assert "cut off at its token limit" in answer.reason


def test_an_audit_holds_to_the_schema_that_the_engine_enforces():
    judge = make_judge(settings(AuditSettings, max_tokens=160, max_retries=0))
    children = tuple(leaf(f"c{at}", text) for at, text in enumerate(LIGHT))
    node = summary("s", ["c0", "c1"], "The keeper lit the lamp. A dragon ate the boats.")
    ((first, second),) = judge.judge([SummaryToAudit(node, children)])
    assert judge.name == "local"
    assert "is not JSON" not in first.reason + second.reason
