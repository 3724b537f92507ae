"""What a summarizer is asked and what it answers, and the seam for summarizers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from raptor_core.embedding.base import Vectors


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
        unknown = self.usd is None or other.usd is None
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.retries + other.retries,
            None if unknown else (self.usd or 0.0) + (other.usd or 0.0),
        )

    def share(self, fraction: float) -> Usage:
        """A fraction of it, counts rounded: the part of one among several who caused it."""
        return Usage(
            round(self.calls * fraction),
            round(self.prompt_tokens * fraction),
            round(self.completion_tokens * fraction),
            round(self.retries * fraction),
            None if self.usd is None else self.usd * fraction,
        )

    def __sub__(self, other: Usage) -> Usage:
        """Difference, field by field: what was spent since ``other``."""
        unknown = self.usd is None or other.usd is None
        return Usage(
            self.calls - other.calls,
            self.prompt_tokens - other.prompt_tokens,
            self.completion_tokens - other.completion_tokens,
            self.retries - other.retries,
            None if unknown else (self.usd or 0.0) - (other.usd or 0.0),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SummaryRequest:
    """One summary to make.

    ``key`` is the content key of the summary node; ``name`` says for people which node it is.
    ``texts`` are the children's texts in document order, at least two, ``n_tokens`` their token
    counts, ``vectors`` their unit vectors, shape ``(len(texts), n_dims)``.
    """

    key: str
    name: str
    texts: tuple[str, ...]
    n_tokens: tuple[int, ...]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished summary: never empty, never truncated, never an error text."""

    key: str
    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be made, after all retries."""

    key: str
    name: str
    reason: str
    usage: Usage = field(default_factory=Usage)


class Summarizer(Protocol):
    """Summarizes clusters."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model, the prompt and the limits that change its texts."""

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """One answer for each request, as they finish, in any order; lazily.

        A failure of one request never hides another's answer.
        """
