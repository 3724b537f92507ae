"""Requests to a summarizer, its answers, and its interface."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from raptor_core.identity import CUT_OFF, marked_content_key
from raptor_core.models.money.usage import Usage
from raptor_core.vectors import Vectors


@dataclass(frozen=True, slots=True, eq=False)
class SummaryRequest:
    """Request for one summary.

    Attributes:
        key: content key of the summary node; ``name`` is for messages.
        texts: texts of the children in document order, at least one.
        vectors: unit vectors of the children, shape ``(len(texts), n_dims)``.
        omissions: beginnings of texts that an earlier summary left out.
        n_unusable: answers to this request that were unusable.
    """

    key: str
    name: str
    texts: tuple[str, ...]
    n_tokens: tuple[int, ...]
    vectors: Vectors
    omissions: tuple[str, ...] = ()
    n_unusable: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """Finished summary: never empty, never an error text, never a part of a sentence.

    ``cut_off`` is true if it is the whole sentences of an answer that was cut off or too long, or
    if it was written in parts, since its texts are too long for the model together.
    """

    key: str
    text: str
    usage: Usage = field(default_factory=Usage)
    cut_off: bool = False

    @property
    def text_key(self) -> str:
        """Key under which a cache keeps the text."""
        return marked_content_key(self.key, CUT_OFF) if self.cut_off else self.key


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """Summary that could not be made, after all retries.

    ``comes_again`` is true if the same request would fail in the same way. ``is_refused`` is true
    if the model gave no usable answer although its endpoint works.
    """

    key: str
    name: str
    reason: str
    usage: Usage = field(default_factory=Usage)
    comes_again: bool = False
    is_refused: bool = False


class Unfit(NamedTuple):
    """Reason why an answer is no summary.

    ``language`` is the expected one if the answer's was wrong. ``omissions`` are beginnings of the
    other texts if the answer only repeats one text; it serves if a second answer does so, too.
    """

    reason: str
    language: str = ""
    omissions: tuple[str, ...] = ()


def remedy_of(failed: Sequence[FailedSummary]) -> str:
    """Return what to do about failures; another build helps if none of them comes again."""
    if n_refused := sum(failure.is_refused for failure in failed):
        return (
            f"{n_refused} got no usable answer, more than summarizer.max_fallback lets a "
            "layer have: set the chunks aside that the model refuses (`raptor curate "
            "set-aside DOCUMENT:START-END`), raise max_fallback, or choose another model"
        )
    if any(failure.comes_again for failure in failed):
        return (
            "change what the reason names, or exclude the document (source.exclude); without a "
            "change, another build would fail in the same way"
        )
    return "build again to make the rest"


class Summarizer(Protocol):
    """Interface of a summarizer of clusters.

    A summarizer may have two more attributes, which are false by default. ``quotes`` says that its
    summaries are sentences of the children, which no model can cut or garble. ``calls_model`` says
    that it calls a model and charges the ledger for each call.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that changes a summary: model, prompt and limits."""

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one answer for each request as they finish, in any order, lazily."""
