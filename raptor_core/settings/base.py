"""Base classes of the settings, with endpoints, prices and the budget.

Each part of the settings has a class in a module of this folder; ``models.py`` joins them.
"""

from pathlib import PurePath
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def setting(default: Any, *, is_common: bool = False, rebuilds: bool = False, **bounds: Any) -> Any:
    """Return a field of the settings with marks; a field that is made otherwise has none.

    Args:
        default: value of a setting that is not set.
        is_common: most people look at it; all others are advanced.
        rebuilds: a change of it makes another tree, or another judgement of one.
        bounds: arguments of ``pydantic.Field``.
    """
    marks: Any = {"common": is_common, "rebuilds": rebuilds}
    return Field(default, json_schema_extra=marks, **bounds)


class Part(BaseModel):
    """Base of every part: frozen, without unknown keys, defaults validated."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def marked(cls, mark: str) -> list[str]:
        """Return the names of the settings that ``setting`` gave a mark, in their order."""
        fields = cls.model_fields.items()
        extras = ((name, field.json_schema_extra) for name, field in fields)
        return [name for name, extra in extras if isinstance(extra, dict) and extra.get(mark)]


class EndpointPart(Part):
    """An OpenAI-compatible endpoint: OpenAI, Azure, vLLM, Ollama; see docs/endpoints.md.

    In one process, parts with the same ``base_url``, ``model`` and ``api_key_env`` share limits.
    """

    purpose: ClassVar[str] = "endpoint"
    """Name of the part in error messages."""

    model: str = setting("gpt-4o-mini", rebuilds=True)
    """Name of the model at the endpoint; for Azure the name of the deployment."""
    base_url: str = "https://api.openai.com/v1"
    """Address of the endpoint."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Longest silence of the endpoint, in seconds: before an answer, and between two parts of it.
    """
    max_retries: int = Field(4, ge=0, le=20)
    """Attempts after the first, for a call that failed, was refused, or got an empty, cut off or
    wrong answer.
    """
    concurrency: int = Field(8, ge=1, le=512)
    """Calls that run at the same time."""
    requests_per_minute: int = Field(0, ge=0)
    """Calls that may begin in a minute, evenly spread; 0 is no limit."""
    tokens_per_minute: int = Field(0, ge=0)
    """Tokens of the calls that begin in a minute, with the upper bounds of their answers, as
    OpenAI and Azure count them; 0 is no limit.
    """

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
    """Chat model: an OpenAI-compatible endpoint, or a GGUF file that runs in this process."""

    context_tokens: int = Field(8192, ge=512)
    """Most tokens of a prompt and its answer together that a local model holds. The model's own
    limit applies, too. More tokens need more memory.
    """
    threads: int = Field(0, ge=0, le=512)
    """Processor cores for a local model; 0 is all of the machine's."""


NO_BOUND = "none"
"""Value of a setting in a file or the environment for no bound; TOML has no null."""


OrNone = BeforeValidator(lambda value: None if value == NO_BOUND else value)


class PriceSettings(Part):
    """Price of a model. The cost of a model without a price is unknown."""

    input: float = Field(ge=0)
    """USD per million prompt tokens, or per million embedded tokens."""
    output: float = Field(0.0, ge=0)
    """USD per million tokens of answers; embedding models give none."""


class BudgetSettings(Part):
    """Bounds of what one run may spend. A run stops before it would pass one, and loses nothing.

    "none" is no bound.
    """

    calls: Annotated[int | None, OrNone] = Field(None, ge=0)
    """Model calls, with retries."""
    tokens: Annotated[int | None, OrNone] = Field(None, ge=0)
    """Prompt and completion tokens together, of summaries and embedding endpoints."""
    usd: Annotated[float | None, OrNone] = setting(None, ge=0, is_common=True)
    """US dollars. Every model that is called then needs a price under [prices]."""


def missing_price(model: str) -> str:
    """Return the error message for a model without a price under a budget in USD."""
    return (
        f'budget.usd is set, and the price of {model!r} is not: set [prices."{model}"] with input '
        "and output in USD per million tokens (0 where it is free), or bound calls or tokens"
    )
