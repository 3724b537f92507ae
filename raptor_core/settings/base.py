"""Base classes of the settings, with endpoints, prices and the budget.

Each part of the settings has a class in a module of this folder; ``models.py`` joins them.
"""

from pathlib import PurePath
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _mark_advanced(schema: dict[str, Any], part: "type[Part]") -> None:
    """Mark the properties of a JSON schema that are not among the common settings of a part."""
    for name, field in schema.get("properties", {}).items():
        if part.common is not None and name not in part.common:
            field["advanced"] = True


class Part(BaseModel):
    """Base of every part: frozen, without unknown keys, defaults validated."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
        json_schema_extra=_mark_advanced,
    )

    common: ClassVar[tuple[str, ...] | None] = ()
    """Settings that most people change; all others are advanced. None where this says nothing."""


class EndpointPart(Part):
    """An OpenAI-compatible endpoint: OpenAI, Azure, vLLM, Ollama; see docs/endpoints.md.

    In one process, parts with the same ``base_url``, ``model`` and ``api_key_env`` share limits.

    Attributes:
        model: name of the model at the endpoint; for Azure the name of the deployment.
        base_url: address of the endpoint; for Azure's dated API the address of the resource.
        api_key_env: environment variable that holds the key.
        api_version: version of Azure's dated API, such as "2024-10-21"; empty for all other
            endpoints, Azure's v1 API included.
        timeout_seconds: longest silence of the endpoint, in seconds: before an answer, and between
            two parts of it.
        max_retries: attempts after the first, for a call that failed, was refused, or got an empty,
            cut off or wrong answer.
        concurrency: calls that run at the same time.
        requests_per_minute: calls that may begin in a minute, evenly spread; 0 is no limit.
        tokens_per_minute: tokens of the calls that begin in a minute, with the upper bounds of
            their answers, as OpenAI and Azure count them; 0 is no limit.
    """

    purpose: ClassVar[str] = "endpoint"
    """Name of the part in error messages."""

    model: str = "gpt-4o-mini"
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = "OPENAI_API_KEY"
    api_version: str = Field("", pattern=r"^[A-Za-z0-9.-]*$")
    timeout_seconds: float = Field(300.0, gt=0)
    max_retries: int = Field(4, ge=0, le=20)
    concurrency: int = Field(8, ge=1, le=512)
    requests_per_minute: int = Field(0, ge=0)
    tokens_per_minute: int = Field(0, ge=0)

    @property
    def is_local(self) -> bool:
        """True for a model that runs in this process, false for an endpoint."""
        return getattr(self, "kind", "") == "local"

    @property
    def shown_model(self) -> str:
        """Name of the model, or of a local model's file."""
        return PurePath(self.model).name if self.is_local else self.model

    @property
    def share(self) -> int:
        """Number of calls that this process may run at the same time; 1 for a local model."""
        return 1 if self.is_local else self.concurrency


class ChatPart(EndpointPart):
    """Chat model: an OpenAI-compatible endpoint, or a GGUF file that runs in this process.

    Attributes:
        model: name of the model at the endpoint; for Azure the name of the deployment; for a local
            model the path of its GGUF file.
        sha256: SHA-256 that the file of a local model must have; empty accepts the file as it is.
        context_tokens: most tokens of a prompt and its answer together that a local model holds.
            The model's own limit applies, too. More tokens need more memory.
        threads: processor cores for a local model; 0 is all of the machine's.
    """

    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    context_tokens: int = Field(8192, ge=512)
    threads: int = Field(0, ge=0, le=512)


HOW_ENDPOINTS_ARE_CALLED = frozenset(ChatPart.model_fields) - {"model", "sha256"}
"""Settings of a chat model that change no result."""


NO_BOUND = "none"
"""Value of a setting in a file or the environment for no bound; TOML has no null."""


OrNone = BeforeValidator(lambda value: None if value == NO_BOUND else value)


class PriceSettings(Part):
    """Price of a model. The cost of a model without a price is unknown.

    Attributes:
        input: USD per million prompt tokens, or per million embedded tokens.
        output: USD per million tokens of answers; embedding models give none.
    """

    common: ClassVar[tuple[str, ...] | None] = None

    input: float = Field(ge=0)
    output: float = Field(0.0, ge=0)


class BudgetSettings(Part):
    """Bounds of what one run may spend. A run stops before it would pass one, and loses nothing.

    "none" is no bound.

    Attributes:
        calls: model calls, with retries.
        tokens: prompt and completion tokens together, of summaries and embedding endpoints.
        usd: US dollars. Every model that is called then needs a price under [prices].
    """

    common: ClassVar[tuple[str, ...] | None] = ("usd",)

    calls: Annotated[int | None, OrNone] = Field(None, ge=0)
    tokens: Annotated[int | None, OrNone] = Field(None, ge=0)
    usd: Annotated[float | None, OrNone] = Field(None, ge=0)


def missing_price(model: str) -> str:
    """Return the error message for a model without a price under a budget in USD."""
    return (
        f'budget.usd is set, and the price of {model!r} is not: set [prices."{model}"] with input '
        "and output in USD per million tokens (0 where it is free), or bound calls or tokens"
    )
