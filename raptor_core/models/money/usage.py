"""Usage and cost of model calls, and estimates before any call is made.

The package contains no prices, because prices age. The settings have them by model name,
``[prices."gpt-4o-mini"]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from raptor_core.settings.base import ChatPart, PriceSettings
from raptor_core.settings.models import Settings

SUMMARIES = "summaries"
EMBEDDINGS = "embeddings"
AUDITS = "audits"
ANSWERS = "answers"
FREE = PriceSettings(input=0.0, output=0.0)
"""Price of everything that runs in this process."""
_PER_PRICE_TOKENS = 1_000_000
BATCH_PRICE = 0.5
"""Price of a call in a batch divided by the price of a single call."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of model calls.

    Attributes:
        calls: answered calls.
        prompt_tokens, completion_tokens: by the endpoint's count.
        retries: attempts after the first of each call.
        usd: US dollars by the settings' prices, 0 if no endpoint was called; None if a model has no
            price.
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
        """Add field by field; the price is unknown if one of the two is."""
        return Usage(*map(_sum, astuple(self), astuple(usage)))

    def __sub__(self, earlier: Usage) -> Usage:
        """Subtract field by field: the usage since ``earlier``."""
        return self + earlier._times(-1)

    def shares(self, weights: Sequence[int]) -> list[Usage]:
        """Split the usage by weights into whole counts that sum up to it; 0 weights are equal."""
        counted = list(weights) if any(weights) else [1] * len(weights)
        total, at, previous, parts = sum(counted), 0, Usage(), []
        for weight in counted:
            at += weight
            until = self._times(at / total)
            parts.append(until - previous)
            previous = until
        return parts

    def _times(self, factor: float) -> Usage:
        counts = Usage(*(round(count * factor) for count in astuple(self)[:-1]))
        return replace(counts, usd=None if self.usd is None else self.usd * factor)


def _sum(first: Any, second: Any) -> Any:
    return None if first is None or second is None else first + second


@dataclass(frozen=True, slots=True)
class Spending:
    """Payment to one model for one purpose.

    Attributes:
        purpose: ``SUMMARIES``, ``EMBEDDINGS``, ``AUDITS``, ``ANSWERS``, or another name.
        usage: by the endpoint's count; the retries include those of calls that failed.
        lost: worst case of calls whose answer never arrived (a timeout, a lost connection): the
            endpoint may charge them, so the budget counts them.
    """

    purpose: str
    model: str
    usage: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)


def cost_usd(
    price: PriceSettings | None, prompt_tokens: int, completion_tokens: int, share: float = 1.0
) -> float | None:
    """Return US dollars for these tokens at a ``share`` of the price; None without a price."""
    if price is None:
        return None
    total = prompt_tokens * price.input + completion_tokens * price.output
    return share * total / _PER_PRICE_TOKENS


_BYTES_PER_TOKEN = 3


def price_of(part: ChatPart, settings: Settings) -> PriceSettings | None:
    """Return the price of a chat model, 0 for a local one, or None if it is not set."""
    return FREE if part.is_local else settings.prices.get(part.model)


def summary_cost(
    n_calls: int, prompt_tokens: int, completion_tokens: int, settings: Settings
) -> Usage:
    """Estimate the cost of ``n_calls`` summaries, by the tokens of the tree's own counter.

    A summary made without a model counts as a call. The batch price applies from ``batch_from`` on.
    """
    part = settings.summarizer
    price = FREE if part.kind == "extractive" or not n_calls else price_of(part, settings)
    is_batch = bool(part.batch_from) and n_calls >= part.batch_from
    share = BATCH_PRICE if is_batch else 1.0
    usd = cost_usd(price, prompt_tokens, completion_tokens, share)
    return Usage(n_calls, prompt_tokens, completion_tokens, usd=usd)


def embedding_cost(n_tokens: int, settings: Settings, *, n_texts: int = 0) -> Usage:
    """Estimate the cost of embedding ``n_texts`` texts of ``n_tokens``; nothing if it is local."""
    part = settings.embedder
    if part.kind != "openai":
        return Usage()
    price = settings.prices.get(part.model) if n_tokens else FREE
    return Usage(math.ceil(n_texts / part.batch_size), n_tokens, usd=cost_usd(price, n_tokens, 0))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a counter: a third of its UTF-8 bytes, at least 1."""
    return max(1, math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN))
