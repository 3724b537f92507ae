"""What parts of the settings have in common: endpoints, prices, bounds of what is spent."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Part(BaseModel):
    """Base of every part: frozen, no unknown keys, defaults validated."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )


class EndpointPart(Part):
    """An OpenAI-compatible endpoint: OpenAI, Azure, vLLM, Ollama; see docs/endpoints.md.

    What has the same ``base_url``, ``model`` and ``api_key_env`` in one process shares its limits.

    Attributes:
        model: model's name, as the endpoint knows it; of Azure the deployment's.
        base_url: where the endpoint answers; of Azure's dated API the resource's own address.
        api_key_env: environment variable that holds its key.
        api_version: of Azure's dated API, such as "2024-10-21"; empty for everything else, also
            for Azure's v1 API.
        max_tokens_field: what a request calls the bound of an answer; "auto" is
            "max_completion_tokens" for OpenAI and Azure and "max_tokens" for others.
        sends_temperature: false for models that take none, such as reasoning models.
        timeout_seconds: of one attempt.
        max_retries: of one call, after a fault, a refusal, an empty, a cut off or a wrong answer.
        concurrency: calls under way at once.
        requests_per_minute: calls begun in a minute, evenly spread; 0 is no limit.
        tokens_per_minute: tokens of calls begun in a minute, the answers' upper bounds included,
            as OpenAI and Azure count them; 0 is no limit.
        shared_by: processes that call the endpoint at the same time; each takes this part of
            concurrency, requests_per_minute and tokens_per_minute.
        down_after: attempts in a row, of several calls, that fail to reach the endpoint or end in
            a status of 500 and more, until it counts as down and all calls wait for it.
        down_seconds: how long they wait, while one call at a time tries, before they fail.
    """

    purpose: ClassVar[str] = "endpoint"
    """Name of the part, which errors tell."""

    model: str = "gpt-4o-mini"
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = "OPENAI_API_KEY"
    api_version: str = Field("", pattern=r"^[A-Za-z0-9.-]*$")
    max_tokens_field: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    sends_temperature: bool = True
    timeout_seconds: float = Field(60.0, gt=0)
    max_retries: int = Field(4, ge=0, le=20)
    concurrency: int = Field(8, ge=1, le=512)
    requests_per_minute: int = Field(0, ge=0)
    tokens_per_minute: int = Field(0, ge=0)
    shared_by: int = Field(1, ge=1, le=10_000)
    down_after: int = Field(10, ge=2)
    down_seconds: float = Field(60.0, ge=0)

    @property
    def share(self) -> int:
        """Calls that this process may have under way at once."""
        return max(1, self.concurrency // self.shared_by)


HOW_ENDPOINTS_ARE_CALLED = frozenset(EndpointPart.model_fields) - {"model"}
"""Settings of an endpoint that change no result."""


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
