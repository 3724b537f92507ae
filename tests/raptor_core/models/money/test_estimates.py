"""Cost estimates before any call, and parts of usages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.models.money.usage import (
    Usage,
    embedding_cost,
    summary_cost,
)
from raptor_core.settings import Settings

PAID = {
    "summarizer": {"kind": "openai", "model": "chatty"},
    "embedder": {"kind": "openai", "model": "vector", "batch_size": 10},
}
PRICES = {"chatty": {"input": 0.15, "output": 0.60}, "vector": {"input": 0.02}}


def settings(**parts):
    return Settings.model_validate(parts)


def test_summaries_and_embeddings_cost_what_the_prices_say():
    given = settings(**PAID, prices=PRICES)
    assert summary_cost(7, 1_000_000, 100_000, given) == Usage(
        7, 1_000_000, 100_000, usd=pytest.approx(0.21)
    )
    assert embedding_cost(500_000, given, n_texts=21) == Usage(3, 500_000, usd=pytest.approx(0.01))


counts = st.integers(0, 10_000)
usages = st.builds(Usage, counts, counts, counts, counts, st.none() | st.floats(0, 100))


@given(usages, st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_parts_are_whole_and_together_all_of_it(usage, weights):
    parts = usage.shares(weights)
    total = sum(parts, Usage())
    counted = (total.calls, total.prompt_tokens, total.completion_tokens, total.retries)
    assert counted == (
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.retries,
    )
    assert total.usd == (None if usage.usd is None else pytest.approx(usage.usd))
    assert all(part.calls >= 0 for part in parts)
    if any(weights):
        assert all(
            abs(p.calls - usage.calls * w / sum(weights)) <= 1
            for p, w in zip(parts, weights, strict=True)
        )
