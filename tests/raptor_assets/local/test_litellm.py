"""Builds through LiteLLM's proxy, a gateway that teams put before their chat models."""

import pytest
from support.litellm_proxy import KEY, litellm_proxy
from support.workshop import Workshop, prose

pytestmark = [pytest.mark.slow, pytest.mark.rare]

TOLD = "The lamp was lit in the autumn and kept through the winter by its keepers."
MODELS = {
    "writer": TOLD,
    "refuser": "I'm sorry, but I can't help with that request.",
    "limited": "litellm.RateLimitError",
    "broken": "litellm.InternalServerError",
    "short": "litellm.ContextWindowExceededError",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with litellm_proxy(tmp_path_factory.mktemp("gateway"), MODELS) as found:
        yield found


@pytest.fixture
def through(url, tmp_path, monkeypatch):
    """A home of one document whose summaries a model of the gateway writes."""
    monkeypatch.setenv("GATEWAY_KEY", KEY)

    def workshop(model, **settings):
        writer = {"kind": "openai", "model": model, "base_url": url, "api_key_env": "GATEWAY_KEY"}
        made = Workshop(tmp_path, summarizer={**writer, "max_retries": 0, **settings})
        made.write("a.md", prose(24, seed=1))
        return made

    return workshop


def test_a_tree_is_built_and_its_usage_is_known(through):
    workshop = through("writer")
    assert workshop.build().succeeded
    assert TOLD in workshop.texts("a.md")
    metadata = workshop.metadata("layer_1/summaries", "a.md")
    assert metadata["calls"] == metadata["n_made"] > 1
    assert metadata["prompt_tokens"] > 0
    assert metadata["completion_tokens"] > 0
    assert not workshop.build(force=True).produced["layer_1/summaries"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("refuser", "refus"),
        ("limited", "mock rate limit error"),
        ("broken", "mock internal server error"),
        ("short", "mock context window exceeded error"),
    ],
)
def test_what_it_refuses_is_reported_in_its_words_and_never_published(through, model, words):
    workshop = through(model)
    failed = workshop.build().failed["a.md"]
    assert failed.asset == "layer_1/summaries"
    assert words in failed.reason
    assert workshop.manifests() == {}


def test_a_wrong_key_is_refused_in_its_words_and_not_shown(through, monkeypatch):
    monkeypatch.setenv("GATEWAY_KEY", "sk-wrong")
    workshop = through("writer")
    reason = workshop.build().failed["a.md"].reason
    assert "No connected db" in reason  # so it says that it knows no other key
    assert "sk-wrong" not in reason
    assert workshop.manifests() == {}
