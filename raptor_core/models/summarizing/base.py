"""What a summarizer is asked and what it answers, and the seam for summarizers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from raptor_core.models.money.usage import Usage
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True, eq=False)
class SummaryRequest:
    """One summary to make.

    ``key`` is the content key of the summary node; ``name`` says for people which node it is.
    ``texts`` are the children's texts in document order, at least two, ``n_tokens`` their token
    counts, ``vectors`` their unit vectors, shape ``(len(texts), n_dims)``. ``objections`` are
    sentences of an earlier summary that the texts do not support.
    """

    key: str
    name: str
    texts: tuple[str, ...]
    n_tokens: tuple[int, ...]
    vectors: Vectors
    objections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished summary: never empty, never truncated, never an error text."""

    key: str
    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be made, after all retries.

    ``comes_again`` says that the same request would fail the same way.
    """

    key: str
    name: str
    reason: str
    usage: Usage = field(default_factory=Usage)
    comes_again: bool = False


class Unfit(NamedTuple):
    """Why an answer is no summary; ``language`` is what it should have been written in, if any."""

    reason: str
    language: str = ""


def remedy_of(failed: Sequence[FailedSummary]) -> str:
    """What to do about failures: to build again only helps those that may not come again."""
    if any(failure.comes_again for failure in failed):
        return (
            "change what the reason names, or leave the document out (source.exclude); unchanged, "
            "another build would fail the same way"
        )
    return "build again to make the rest"


class Summarizer(Protocol):
    """Summarizes clusters."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model, the prompt and the limits that change its texts."""

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """One answer for each request, as they finish, in any order; lazily.

        A failure of one request never hides another's answer.
        """
