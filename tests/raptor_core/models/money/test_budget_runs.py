"""Builds with a budget: they stop before a bound, keep finished work, and continue from it."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paid_build import DOCUMENTS, make_components, paid_settings
from support.summarizers import ScriptedSummarizer

from raptor_core.errors import BudgetError
from raptor_core.models.money.usage import (
    EMBEDDINGS,
    SUMMARIES,
    Usage,
    estimate_embedding_cost,
    estimate_summary_cost,
)
from raptor_core.settings import Settings
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.leaves import make_leaves


def run(server, cache, **parts):
    """A build; what it spent, and the budget's words where it ended."""
    components = make_components(paid_settings(server.base_url, **parts), cache=cache)
    try:
        build_tree(DOCUMENTS, components=components)
    except BudgetError as error:
        return components.ledger.spent(SUMMARIES), str(error)
    return components.ledger.spent(SUMMARIES), None


def asked(server):
    return Counter(str(body["messages"]) for body in server.bodies)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"tokens": 1800}, {"usd": 0.0016}])
def test_tokens_and_dollars_are_not_passed_by_what_the_endpoint_counts(server, budget):
    cache, ended, n_runs = NodeCache(), "not yet", 0
    while ended is not None:
        spent, ended = run(server, cache, budget=budget)
        n_runs += 1
        assert spent.tokens <= budget.get("tokens", spent.tokens)
        assert spent.usd <= budget.get("usd", spent.usd)
        assert spent.calls
    assert n_runs > 2
    assert set(asked(server).values()) == {1}


@pytest.mark.slow
def test_what_a_custom_summarizer_reports_is_counted(server):
    class Paid(ScriptedSummarizer):
        def summarize(self, requests):
            for answer in super().summarize(requests):
                yield replace(answer, usage=Usage(1, 10, 5, usd=0.25))

    summarizer = Paid()
    components = make_components(paid_settings(server.base_url), summarizer=summarizer)
    build_tree(DOCUMENTS, components=components)
    n = summarizer.n_made
    assert components.ledger.spent(SUMMARIES) == Usage(n, 10 * n, 5 * n, usd=0.25 * n)


ENDPOINT = {"kind": "openai", "model": "vector", "batch_size": 4}


def embedding_tools(server, cache, **budget):
    return make_components(
        paid_settings(
            server.base_url,
            embedder={**ENDPOINT, "base_url": server.base_url},
            tokens={"counter": "tiktoken"},
            prices={"vector": {"input": 0.5}},
            budget=budget,
        ),
        cache=cache,
    )


@pytest.mark.slow
def test_embeddings_of_an_endpoint_are_counted_and_bounded_batch_by_batch(server):
    cache = NodeCache()
    components = embedding_tools(server, cache)
    leaves = make_leaves("t", DOCUMENTS, components)
    bounded = embedding_tools(server, cache, calls=4)
    with pytest.raises(BudgetError, match=r"budget\.calls = 4"):
        embed_nodes(leaves, bounded, NodeCache())
    assert (server.n_requests, len(cache.vectors(leaf.embedding_key for leaf in leaves))) == (4, 16)
    embedded = embed_nodes(leaves, components, NodeCache())
    assert len(embedded.reused_keys) == 16
    sent = Counter(text for body in server.bodies for text in body["input"])
    assert max(sent.values()) == 1
    n_words = sum(len(text.split()) for body in server.bodies[4:] for text in body["input"])
    usage = Usage(server.n_requests - 4, n_words, 0, usd=pytest.approx(n_words * 0.5e-6))
    assert embedded.usage == components.ledger.spent(EMBEDDINGS) == usage


PAID = {
    "summarizer": {"kind": "openai", "model": "chatty"},
    "embedder": {"kind": "openai", "model": "vector", "batch_size": 10},
}
PRICES = {"chatty": {"input": 0.15, "output": 0.60}, "vector": {"input": 0.02}}


def settings(**parts):
    return Settings.model_validate(parts)


def test_summaries_and_embeddings_cost_what_the_prices_say():
    given = settings(**PAID, prices=PRICES)
    assert estimate_summary_cost(7, 1_000_000, 100_000, given) == Usage(
        7, 1_000_000, 100_000, usd=pytest.approx(0.21)
    )
    assert estimate_embedding_cost(500_000, given, n_texts=21) == Usage(
        3, 500_000, usd=pytest.approx(0.01)
    )


counts = st.integers(0, 10_000)
usages = st.builds(Usage, counts, counts, counts, counts, st.none() | st.floats(0, 100))


@given(usages, st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_parts_are_whole_and_together_all_of_it(usage, weights):
    parts = usage.divide_by_weights(weights)
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
