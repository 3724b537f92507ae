"""Usage and cost of model calls, and estimates before the calls.

The package contains no prices, because prices change. Users set them by model name, such as
``[prices."gpt-4o-mini"]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from raptor_core.settings.base import ChatModelSettings, PriceSettings
from raptor_core.settings.models import Settings

SUMMARIES = "summaries"
EMBEDDINGS = "embeddings"
AUDITS = "audits"
ANSWERS = "answers"
FREE = PriceSettings(input=0.0, output=0.0)
"""Price of models that run in this process."""
_PER_PRICE_TOKENS = 1_000_000
BATCH_PRICE = 0.5
"""Ratio of the price of a call in a batch to that of a single call."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of model calls.

    Attributes:
        calls: number of answered calls.
        prompt_tokens: tokens of prompts, as the endpoint counts them.
        completion_tokens: tokens of answers, as the endpoint counts them.
        retries: number of attempts after the first of each call.
        usd: cost in US dollars by the prices of the settings; None if a model has no price.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    retries: int = 0
    usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, usage: Usage) -> Usage:
        """Add all fields; the cost is unknown if either cost is."""
        return Usage(*map(_add_unless_none, astuple(self), astuple(usage)))

    def __sub__(self, earlier: Usage) -> Usage:
        """Return the usage since ``earlier``."""
        return self + earlier._multiplied_by(-1)

    def divide_by_weights(self, weights: Sequence[int]) -> list[Usage]:
        """Divide the usage in proportion to weights, into whole numbers that add up to it.

        If all weights are 0, the parts are equal.
        """
        counted = list(weights) if any(weights) else [1] * len(weights)
        total, at, previous, parts = sum(counted), 0, Usage(), []
        for weight in counted:
            at += weight
            until = self._multiplied_by(at / total)
            parts.append(until - previous)
            previous = until
        return parts

    def _multiplied_by(self, factor: float) -> Usage:
        counts = Usage(*(round(count * factor) for count in astuple(self)[:-1]))
        return replace(counts, usd=None if self.usd is None else self.usd * factor)


def _add_unless_none(first: Any, second: Any) -> Any:
    return None if first is None or second is None else first + second


@dataclass(frozen=True, slots=True)
class Spending:
    """What a model cost for a purpose.

    Attributes:
        purpose: ``SUMMARIES``, ``EMBEDDINGS``, ``AUDITS``, ``ANSWERS``, or another name.
        model: name of the model.
        usage: usage of answered calls, with the retries of all calls.
        lost_usage: worst case of calls whose answer never arrived (a timeout, a lost connection).
            The endpoint may charge for them, so they count towards the budget.
    """

    purpose: str
    model: str
    usage: Usage = field(default_factory=Usage)
    lost_usage: Usage = field(default_factory=Usage)


def cost_usd(
    price: PriceSettings | None, prompt_tokens: int, completion_tokens: int, share: float = 1.0
) -> float | None:
    """Return the cost of tokens in US dollars at a ``share`` of the price; None without a price."""
    if price is None:
        return None
    total = prompt_tokens * price.input + completion_tokens * price.output
    return share * total / _PER_PRICE_TOKENS


_BYTES_PER_TOKEN = 3


def find_chat_model_price(part: ChatModelSettings, settings: Settings) -> PriceSettings | None:
    """Return the price of a chat model, ``FREE`` for a local one, or None if it is not set."""
    return FREE if part.is_local else settings.prices.get(part.model)


def estimate_summary_cost(
    n_calls: int, prompt_tokens: int, completion_tokens: int, settings: Settings
) -> Usage:
    """Estimate the cost of ``n_calls`` summaries, given tokens by the tree's token counter.

    A summary counts as a call even if no model writes it. From ``batch_from`` summaries on, the
    price is that of a batch.
    """
    part = settings.summarizer
    price = (
        FREE if part.kind == "extractive" or not n_calls else find_chat_model_price(part, settings)
    )
    is_batch = bool(part.batch_from) and n_calls >= part.batch_from
    share = BATCH_PRICE if is_batch else 1.0
    usd = cost_usd(price, prompt_tokens, completion_tokens, share)
    return Usage(n_calls, prompt_tokens, completion_tokens, usd=usd)


def estimate_embedding_cost(n_tokens: int, settings: Settings, *, n_texts: int = 0) -> Usage:
    """Estimate the cost of embedding ``n_texts`` texts with ``n_tokens``; 0 for a local model."""
    part = settings.embedder
    if part.kind != "openai":
        return Usage()
    price = settings.prices.get(part.model) if n_tokens else FREE
    return Usage(math.ceil(n_texts / part.batch_size), n_tokens, usd=cost_usd(price, n_tokens, 0))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer: a third of its UTF-8 bytes, at least 1."""
    return max(1, math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN))
