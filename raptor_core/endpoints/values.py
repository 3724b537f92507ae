"""What an endpoint is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from raptor_core.money import estimate_tokens
from raptor_core.money.usage import Usage


class EndpointSettings(Protocol):
    """A part of the settings that names an endpoint."""

    @property
    def model(self) -> str:
        """Model's name, as the endpoint knows it."""

    @property
    def base_url(self) -> str:
        """Where it answers; empty for the provider's own."""

    @property
    def api_key_env(self) -> str:
        """Environment variable that holds the key."""

    @property
    def timeout_seconds(self) -> float:
        """Of one attempt."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to call, with what.

    ``purpose`` is the part of the settings ("summarizer", "reader", "embedder", "audit"), which
    errors name.
    """

    purpose: str
    model: str
    base_url: str
    api_key_env: str
    timeout_seconds: float

    @classmethod
    def of(cls, purpose: str, settings: EndpointSettings) -> Self:
        """The endpoint that a part of the settings names."""
        return cls(
            purpose=purpose,
            model=settings.model,
            base_url=settings.base_url,
            api_key_env=settings.api_key_env,
            timeout_seconds=settings.timeout_seconds,
        )


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a whole answer is not taken; ``too_long`` when a shorter one would be."""

    reason: str
    too_long: bool = False


@dataclass(frozen=True, slots=True)
class Worst:
    """Tokens that one attempt takes at the most."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class ChatAsk:
    """One question to a chat model.

    Attributes:
        system: system message.
        user: user message.
        max_tokens: tokens of the answer, by the endpoint's count.
        temperature: of sampling.
        shorten: line added to the user message after the ``n``-th answer that was too long.
        check: objects to an answer that is whole and yet unusable.
        prompt_tokens: of both messages; None estimates them.
        schema: JSON schema that the answer is to follow; None for free text.
    """

    system: str
    user: str
    max_tokens: int
    temperature: float
    shorten: Callable[[int], str]
    check: Callable[[str], Objection | None] = lambda _text: None
    prompt_tokens: int | None = None
    schema: Mapping[str, Any] | None = None

    def worst(self, user: str) -> Worst:
        """Of an attempt that sends ``user``, which is ``self.user`` or that and more."""
        if self.prompt_tokens is None:
            return Worst(estimate_tokens(f"{self.system}\n{user}"), self.max_tokens)
        added = user.removeprefix(self.user)
        n_added = estimate_tokens(added) if added else 0
        return Worst(self.prompt_tokens + n_added, self.max_tokens)


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A whole answer, never empty, and what it took with all its retries."""

    text: str
    usage: Usage


@dataclass(slots=True)
class Meter:
    """Adds up what the attempts of one piece of work took, also when it fails."""

    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Counts ``usage`` too."""
        self.usage += usage
