"""What models cost, and what a run may spend."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from raptor_core.settings.base import Part

NO_BOUND = "none"
"""What a settings file or the environment says for no bound; TOML has no other word for it."""


OrNone = BeforeValidator(lambda value: None if value == NO_BOUND else value)


class PriceSettings(Part):
    """What a model costs; a model that is called and has no price here has an unknown cost.

    Attributes:
        input: USD per million prompt tokens, or per million embedded tokens.
        output: USD per million tokens of answers; embedding models give none.
    """

    input: float = Field(ge=0)
    output: float = Field(0.0, ge=0)


class BudgetSettings(Part):
    """What one run may spend; it stops before it would pass a bound and keeps what is finished.

    "none" is no bound.

    Attributes:
        calls: model calls, retries included; a summary made without a model counts as one.
        tokens: prompt and completion tokens together, of summaries and embedding endpoints.
        usd: US dollars by the settings' prices, which every endpoint's model then needs.
    """

    calls: Annotated[int | None, OrNone] = Field(None, ge=0)
    tokens: Annotated[int | None, OrNone] = Field(None, ge=0)
    usd: Annotated[float | None, OrNone] = Field(None, ge=0)


def missing_price(model: str) -> str:
    """What to do where ``budget.usd`` meets a model whose price is not set."""
    return (
        f'budget.usd is set, and the price of {model!r} is not: set [prices."{model}"] with input '
        "and output in USD per million tokens (0 where it is free), or bound calls or tokens"
    )
