"""What an endpoint is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from raptor_core.models.money import estimate_tokens
from raptor_core.models.money.usage import Usage
from raptor_core.settings.endpoints import EndpointPart, MaxTokensField


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to call, with what, and how much of it; see ``EndpointPart`` for each.

    ``purpose`` is the part of the settings ("summarizer", "reader", "embedder", "audit"), which
    errors name.
    """

    purpose: str
    model: str
    base_url: str
    api_key_env: str
    timeout_seconds: float
    api_version: str = ""
    max_tokens_field: MaxTokensField = "auto"
    sends_temperature: bool = True
    concurrency: int = 8
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    shared_by: int = 1
    down_after: int = 10
    down_seconds: float = 60.0

    @classmethod
    def of(cls, purpose: str, settings: EndpointPart) -> Self:
        """The endpoint that a part of the settings names."""
        names = [name for name in cls.__dataclass_fields__ if name != "purpose"]
        return cls(purpose, **{name: getattr(settings, name) for name in names})

    @property
    def share(self) -> int:
        """Calls that this process may have under way at once."""
        return max(1, self.concurrency // self.shared_by)


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a whole answer is not taken; ``too_long`` when a shorter one would be.

    ``plea`` is a line to add to the next question, so that it is not answered the same.
    """

    reason: str
    too_long: bool = False
    plea: str = ""


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
        response_format: form of the answer that the endpoint is asked for; None for free text.
    """

    system: str
    user: str
    max_tokens: int
    temperature: float
    shorten: Callable[[int], str]
    check: Callable[[str], Objection | None] = lambda _text: None
    prompt_tokens: int | None = None
    response_format: Mapping[str, Any] | None = None

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
