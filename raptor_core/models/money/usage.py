"""What model calls took, and what that costs.

No price is shipped: prices age. The settings hold them by model name, ``[prices."gpt-4o-mini"]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from raptor_core.settings.spending import PriceSettings

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
        return self._plus(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        """Difference, field by field: what was spent since ``other``."""
        return self._plus(other, -1)

    def _plus(self, other: Usage, times: int) -> Usage:
        unknown = self.usd is None or other.usd is None
        return Usage(
            self.calls + times * other.calls,
            self.prompt_tokens + times * other.prompt_tokens,
            self.completion_tokens + times * other.completion_tokens,
            self.retries + times * other.retries,
            None if unknown else (self.usd or 0.0) + times * (other.usd or 0.0),
        )

    def shares(self, weights: Sequence[int]) -> list[Usage]:
        """Its parts among several who caused it, by their weights; equal parts where all are 0.

        Counts are whole, and together the parts are all of it.
        """
        counted = list(weights) if any(weights) else [1] * len(weights)
        total, at, before, parts = sum(counted), 0, Usage(), []
        for weight in counted:
            at += weight
            until = self._fraction(at / total)
            parts.append(until - before)
            before = until
        return parts

    def _fraction(self, fraction: float) -> Usage:
        return Usage(
            round(self.calls * fraction),
            round(self.prompt_tokens * fraction),
            round(self.completion_tokens * fraction),
            round(self.retries * fraction),
            None if self.usd is None else self.usd * fraction,
        )


@dataclass(frozen=True, slots=True)
class Spending:
    """What one model was paid for one purpose.

    Attributes:
        purpose: ``SUMMARIES``, ``EMBEDDINGS``, ``AUDITS``, or another name.
        model: its name.
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
