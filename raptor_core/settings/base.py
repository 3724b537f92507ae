"""What parts of the settings have in common, and those that may call an endpoint."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """Base of every part: frozen, no unknown keys, defaults validated."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )


MaxTokensField = Literal["auto", "max_tokens", "max_completion_tokens"]


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
    max_tokens_field: MaxTokensField = "auto"
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
