"""What model calls took, what that costs, and what calls will cost before any is made.

No price is shipped: prices age. The settings hold them by model name, ``[prices."gpt-4o-mini"]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from raptor_core.settings.base import PriceSettings
from raptor_core.settings.models import Settings

SUMMARIES = "summaries"
EMBEDDINGS = "embeddings"
AUDITS = "audits"

FREE = PriceSettings(input=0.0, output=0.0)
"""What runs in this process costs nothing."""

_PER_PRICE_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls took.

    Attributes:
        calls: answered calls; a summary made without a model counts as one.
        prompt_tokens: as the endpoint counted; its children's where no model was called.
        completion_tokens: of the answers.
        retries: attempts after the first of each call.
        usd: US dollars by the settings' prices, 0 where no endpoint was called; None where a
            model's price is not set.
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

    def __add__(self, other: Usage) -> Usage:
        """Sum, field by field; the money is unknown where one of the two is."""
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.retries + other.retries,
            _sum_usd(self.usd, other.usd),
        )

    def __sub__(self, other: Usage) -> Usage:
        """Difference, field by field: what was spent since ``other``."""
        return self + other._times(-1)

    def shares(self, weights: Sequence[int]) -> list[Usage]:
        """Its parts among several who caused it, by their weights; equal parts where all are 0.

        Counts are whole, and together the parts are all of it.
        """
        counted = list(weights) if any(weights) else [1] * len(weights)
        total, at, before, parts = sum(counted), 0, Usage(), []
        for weight in counted:
            at += weight
            until = self._times(at / total)
            parts.append(until - before)
            before = until
        return parts

    def _times(self, factor: float) -> Usage:
        return Usage(
            round(self.calls * factor),
            round(self.prompt_tokens * factor),
            round(self.completion_tokens * factor),
            round(self.retries * factor),
            None if self.usd is None else self.usd * factor,
        )


def _sum_usd(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class Spending:
    """What one model was paid for one purpose.

    Attributes:
        purpose: ``SUMMARIES``, ``EMBEDDINGS``, ``AUDITS``, or another name.
        usage: as the endpoint counted; the retries include those of calls that failed.
        lost: worst case of calls whose answer never came (a timeout, a cut connection): the
            endpoint may charge them, so the budget counts them.
    """

    purpose: str
    model: str
    usage: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)


def part_of(price: PriceSettings | None, share: float) -> PriceSettings | None:
    """The price times ``share``, for calls that cost less; None where there is none."""
    if price is None or price is FREE or share == 1:
        return price
    return PriceSettings(input=price.input * share, output=price.output * share)


def cost_usd(
    price: PriceSettings | None, prompt_tokens: int, completion_tokens: int
) -> float | None:
    """US dollars for these tokens; None where there is no price, never 0 for want of one."""
    if price is None:
        return None
    total = prompt_tokens * price.input + completion_tokens * price.output
    return total / _PER_PRICE_TOKENS


_BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """What work will take.

    Attributes:
        calls: model calls; a summary made without a model counts as one.
        prompt_tokens, completion_tokens: as the tree's own token counter counts.
        usd: US dollars, 0 where no endpoint is called; None where a price is not set.
        unpriced: the models whose price ``usd`` lacks, sorted.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    unpriced: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Cost) -> Cost:
        """Sum, field by field; the money is unknown where one of the two is."""
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            _sum_usd(self.usd, other.usd),
            tuple(sorted({*self.unpriced, *other.unpriced})),
        )


def summary_cost(
    n_calls: int, prompt_tokens: int, completion_tokens: int, settings: Settings
) -> Cost:
    """Cost of ``n_calls`` summaries with these tokens in all.

    As a batch where they are enough for one. A run may put summaries of many trees into one batch
    and pay less than the sum of what this says of each.
    """
    part = settings.summarizer
    price = settings.prices.get(part.model) if part.kind == "openai" else FREE
    if part.batch_from and n_calls >= part.batch_from:
        price = part_of(price, part.batch_price)
    return _priced(Cost(n_calls, prompt_tokens, completion_tokens), price, part.model)


def embedding_cost(n_tokens: int, settings: Settings, *, n_texts: int = 0) -> Cost:
    """Cost of embedding distinct texts of ``n_tokens`` in all; nothing for a local model.

    ``n_texts`` gives the calls, a batch each; without it no call is counted.
    """
    part = settings.embedder
    if part.kind != "openai":
        return Cost()
    n_calls = math.ceil(n_texts / part.batch_size)
    return _priced(Cost(n_calls, n_tokens), settings.prices.get(part.model), part.model)


def _priced(work: Cost, price: PriceSettings | None, model: str) -> Cost:
    if work == Cost():
        return work
    usd = cost_usd(price, work.prompt_tokens, work.completion_tokens)
    return replace(work, usd=usd, unpriced=(model,) if usd is None else ())


def estimate_tokens(text: str) -> int:
    """Tokens of a text where no counter is at hand: a third of its UTF-8 bytes, at least 1.

    More than the usual vocabularies give for prose in most scripts, so that a reservation rather
    holds too much than too little.
    """
    return max(1, math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN))
