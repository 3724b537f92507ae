"""From tokens to US dollars."""

from __future__ import annotations

from raptor_core.settings.spending import PriceSettings

FREE = PriceSettings(input=0.0, output=0.0)
"""What runs in this process costs nothing."""

_PER_PRICE_TOKENS = 1_000_000


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
