"""What calls will cost, before any is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

from raptor_core.models.money.usage import FREE, cost_usd, part_of
from raptor_core.settings.models import Settings
from raptor_core.settings.spending import PriceSettings

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
        unknown = self.usd is None or other.usd is None
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            None if unknown else (self.usd or 0.0) + (other.usd or 0.0),
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
    return _cost(n_calls, prompt_tokens, completion_tokens, price, part.model)


def embedding_cost(n_tokens: int, settings: Settings, *, n_texts: int = 0) -> Cost:
    """Cost of embedding distinct texts of ``n_tokens`` in all; nothing for a local model.

    ``n_texts`` gives the calls, a batch each; without it no call is counted.
    """
    part = settings.embedder
    if part.kind != "openai":
        return Cost()
    n_calls = math.ceil(n_texts / part.batch_size)
    return _cost(n_calls, n_tokens, 0, settings.prices.get(part.model), part.model)


def _cost(
    n_calls: int,
    prompt_tokens: int,
    completion_tokens: int,
    price: PriceSettings | None,
    model: str,
) -> Cost:
    if not (n_calls or prompt_tokens or completion_tokens):
        return Cost()
    usd = cost_usd(price, prompt_tokens, completion_tokens)
    return Cost(
        n_calls, prompt_tokens, completion_tokens, usd, unpriced=(model,) if usd is None else ()
    )


def estimate_tokens(text: str) -> int:
    """Tokens of a text where no counter is at hand: a third of its UTF-8 bytes, at least 1.

    More than the usual vocabularies give for prose in most scripts, so that a reservation rather
    holds too much than too little.
    """
    return max(1, math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN))
