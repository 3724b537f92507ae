"""Requests to a summarizer, its answers, its interface, and summaries by a function of the user."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from raptor_core.identity import fingerprint, marked_content_key
from raptor_core.models.money.usage import Usage
from raptor_core.vectors import Vectors


class Foreign(NamedTuple):
    """Facts of an answer that no leaf holds, and the answer without what it invents.

    ``share`` is the part of the answer's characters that is left.
    """

    facts: tuple[str, ...]
    rest: str
    share: float


SummaryFunction = Callable[[Sequence[str]], str]
"""Function from the texts of a cluster, in document order, to their summary."""


@dataclass(frozen=True, slots=True, eq=False)
class SummaryRequest:
    """Request for one summary.

    Attributes:
        key: content key of the summary node; ``name`` is for messages.
        texts: texts of the children in document order, at least one.
        leaves: texts of the leaves beneath, where the children are no leaves.
        vectors: unit vectors of the children, shape ``(len(texts), n_dims)``.
        n_unusable: answers to this request that were unusable.
        invented: an earlier answer to this request, with facts that no leaf holds; "" for none.
    """

    key: str
    name: str
    texts: tuple[str, ...]
    n_tokens: tuple[int, ...]
    vectors: Vectors
    n_unusable: int = 0
    leaves: tuple[str, ...] = ()
    invented: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Finished summary: never empty, never an error text, never a part of a sentence.

    Attributes:
        mark: ``CUT_OFF`` for the whole sentences of an answer that was cut off or too long, and for
            a text that was written in parts, since its sources are too long for the model together;
            ``REPLACED`` for sentences of the sources; "" for a complete answer.
    """

    key: str
    text: str
    usage: Usage = field(default_factory=Usage)
    mark: str = ""

    @property
    def text_key(self) -> str:
        """Key under which a cache keeps the text."""
        return marked_content_key(self.key, self.mark) if self.mark else self.key


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """Summary that could not be made, after all retries.

    ``is_permanent`` is true if the same request would fail in the same way. ``is_refused`` is true
    if the model gave no usable answer although its endpoint works.
    """

    key: str
    name: str
    reason: str
    usage: Usage = field(default_factory=Usage)
    is_permanent: bool = False
    is_refused: bool = False


class Unfit(NamedTuple):
    """Reason why an answer is no summary; ``language`` is the expected one if its own is wrong."""

    reason: str
    language: str = ""


def remedy_of(failed: Sequence[FailedSummary]) -> str:
    """Return what to do about failures; another build helps if none of them comes again."""
    if n_refused := sum(failure.is_refused for failure in failed):
        return (
            f"{n_refused} got no usable answer, more than summarizer.max_fallback lets a "
            "layer have: set the chunks aside that the model refuses (`raptor curate "
            "set-aside DOCUMENT:START-END`), raise max_fallback, or choose another model"
        )
    if any(failure.is_permanent for failure in failed):
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


class Grounding(NamedTuple):
    """Means against facts that no leaf holds.

    Attributes:
        version: version of the rules by which they are found.
        find: function from an answer and the leaves beneath it to what it invents.
        extractive: summarizer for the clusters about which the model says too little else.
    """

    version: int | str
    find: Callable[[str, Sequence[str]], Foreign]
    extractive: Summarizer


class FunctionSummarizer:
    """Summarizer that calls a function; an exception becomes the reason of a failed summary.

    The fingerprint depends on the function's name and on its attribute ``version``, if it has one.
    Otherwise it depends on the source, so that a change of the code makes its summaries stale.
    """

    def __init__(self, function: SummaryFunction) -> None:
        self._function = function
        self.fingerprint = fingerprint("function", {"name": _name(function), **_version(function)})

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one answer for each request; see ``Summarizer.summarize``."""
        for request in requests:
            try:
                text = self._function(request.texts)
            except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                reason = f"raised {type(error).__name__}: {error}"
            else:
                if isinstance(text, str) and text.strip():
                    yield Summary(request.key, text.strip())
                    continue
                reason = f"returned {text!r} instead of a text"
            yield FailedSummary(request.key, request.name, f"{_name(self._function)} {reason}")


def _name(function: SummaryFunction) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def _version(function: SummaryFunction) -> dict[str, str]:
    version = getattr(function, "version", None)
    if version is not None:
        return {"version": str(version)}
    try:
        return {"source": inspect.getsource(function)}
    except (OSError, TypeError):
        return {}
