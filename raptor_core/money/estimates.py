"""What calls will cost, before any is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.money.prices import FREE, cost_usd
from raptor_core.settings.models import Settings, SummarizerSettings
from raptor_core.settings.spending import PriceSettings
from raptor_core.summarizing.prompts import prompt_of
from raptor_core.tokens.base import TokenCounter

_BYTES_PER_TOKEN = 3
_MESSAGE_TOKENS = 12  # roles and marks around a system and a user message (OpenAI's chat format)


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
    """Cost of ``n_calls`` summaries with these tokens in all."""
    part = settings.summarizer
    price = settings.prices.get(part.model) if part.kind == "openai" else FREE
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


def prompt_overhead(settings: SummarizerSettings, counter: TokenCounter) -> int:
    """Tokens of a summary's prompt beside its children's; 0 where no model is asked."""
    if settings.kind != "openai":
        return 0
    prompt = prompt_of(settings)
    counts = counter.count([prompt.system, prompt.question((), settings.max_tokens)])
    return sum(counts) + _MESSAGE_TOKENS


def prompt_tokens(child_tokens: Sequence[int], overhead: int) -> int:
    """Prompt tokens of one summary over children of so many tokens each.

    ``overhead`` is ``prompt_overhead``; a mark between two children counts as one token. An
    endpoint that is asked counts by its own vocabulary, so its figure differs by some percent.
    """
    return sum(child_tokens) + (overhead + len(child_tokens) - 1 if overhead else 0)


def estimate_tokens(text: str) -> int:
    """Tokens of a text where no counter is at hand: a third of its UTF-8 bytes, at least 1.

    More than the usual vocabularies give for prose in most scripts, so that a reservation rather
    holds too much than too little.
    """
    return max(1, math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN))
