"""Base classes of the settings' sections, and the sections for prices and the budget.

Every section has a class in a module of this folder; ``models.py`` joins them.
"""

from pathlib import PurePath
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def setting(default: Any, *, is_common: bool = False, rebuilds: bool = False, **bounds: Any) -> Any:
    """Declare a setting that is common or rebuilds; ``Field`` suffices for all others.

    Args:
        default: default value.
        is_common: most users need it; settings that are not common are shown as advanced.
        rebuilds: changing it makes trees or their audits stale.
        bounds: arguments of ``pydantic.Field``.
    """
    flags: Any = {"common": is_common, "rebuilds": rebuilds}
    return Field(default, json_schema_extra=flags, **bounds)


class SettingsSection(BaseModel):
    """Base class of a section: frozen, unknown keys are errors, defaults are validated."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def flagged_settings(cls, flag: str) -> list[str]:
        """Return the names of the settings with a flag, "common" or "rebuilds", in order."""
        fields = cls.model_fields.items()
        extras = ((name, field.json_schema_extra) for name, field in fields)
        return [name for name, extra in extras if isinstance(extra, dict) and extra.get(flag)]


class EndpointSettings(SettingsSection):
    """An OpenAI-compatible endpoint: OpenAI, Azure, vLLM, Ollama; see docs/endpoints.md.

    In one process, sections with the same ``base_url``, ``model`` and ``api_key_env`` share limits.
    """

    purpose: ClassVar[str] = "endpoint"
    """Name of the section in error messages."""

    model: str = setting("gpt-4o-mini", rebuilds=True)
    """Name of the model at the endpoint; for Azure, the name of the deployment."""
    base_url: str = "https://api.openai.com/v1"
    """Address of the endpoint."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Seconds after which a call fails if the endpoint sends nothing, before or during an answer.
    """
    max_retries: int = Field(4, ge=0, le=20)
    """Attempts after the first, if a call failed or was refused, or its answer is empty, cut off or
    invalid.
    """
    concurrency: int = Field(8, ge=1, le=512)
    """Maximum number of concurrent calls."""
    requests_per_minute: int = Field(0, ge=0)
    """Maximum calls per minute, evenly spread; 0 means no limit."""
    tokens_per_minute: int = Field(0, ge=0)
    """Maximum tokens per minute. As OpenAI and Azure count them, each call has the tokens of its
    prompt and the maximum of its answer. 0 means no limit.
    """

    @property
    def is_local(self) -> bool:
        """Whether the model runs in this process and not at an endpoint."""
        return getattr(self, "kind", "") == "local"

    @property
    def shown_model(self) -> str:
        """Name of the model; for a local model, that of its file without the folder."""
        return PurePath(self.model).name if self.is_local else self.model

    @property
    def max_concurrent_calls(self) -> int:
        """Maximum number of concurrent calls in this process; 1 for a local model."""
        return 1 if self.is_local else self.concurrency


class ChatModelSettings(EndpointSettings):
    """A chat model: an OpenAI-compatible endpoint, or a GGUF file that runs in this process."""

    context_tokens: int = Field(8192, ge=512)
    """Context length of a local model: maximum tokens of a prompt and its answer together, up to
    the model's own limit. More tokens need more memory.
    """
    threads: int = Field(0, ge=0, le=512)
    """Processor cores that a local model uses; 0 means all."""


NO_BOUND = "none"
"""Text that means None in a file or the environment, because TOML has no null."""


OrNone = BeforeValidator(lambda value: None if value == NO_BOUND else value)


class PriceSettings(SettingsSection):
    """Price of a model. Without it, the cost of the model's calls is unknown."""

    input: float = Field(ge=0)
    """USD per million prompt tokens, or per million embedded tokens."""
    output: float = Field(0.0, ge=0)
    """USD per million answer tokens; 0 for embedding models."""


class BudgetSettings(SettingsSection):
    """Limits of what a run may spend. A run stops before it exceeds one, and keeps finished work.

    "none" is no limit.
    """

    calls: Annotated[int | None, OrNone] = Field(None, ge=0)
    """Maximum number of model calls, including retries."""
    tokens: Annotated[int | None, OrNone] = Field(None, ge=0)
    """Maximum tokens of prompts and answers together, including embeddings at endpoints."""
    usd: Annotated[float | None, OrNone] = setting(None, ge=0, is_common=True)
    """Maximum US dollars. Every model that is called then needs a price under [prices]."""


def missing_price_message(model: str) -> str:
    """Return the error message for a model without a price under a budget in USD."""
    return (
        f'budget.usd is set, but the price of {model!r} is not: set [prices."{model}"] with input '
        "and output in USD per million tokens (0 if it is free), or limit calls or tokens instead"
    )
