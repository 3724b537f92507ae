"""The interface of a summarizer, its requests and answers, and summarizing with a function."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from raptor_core.identity import fingerprint, marked_content_key
from raptor_core.models.money.usage import Usage
from raptor_core.vectors import Vectors


class SeparatedAnswer(NamedTuple):
    """Foreign facts of an answer, and the rest of the answer without them.

    ``remaining_share`` is the share of the answer's characters that is left.
    """

    facts: tuple[str, ...]
    remaining_text: str
    remaining_share: float


SummaryFunction = Callable[[Sequence[str]], str]
"""A function from the texts of a cluster, in document order, to their summary."""


@dataclass(frozen=True, slots=True, eq=False)
class SummaryRequest:
    """A request for a summary.

    Attributes:
        key: content key of the summary node.
        name: name of the node for messages.
        texts: texts of the children in document order, at least one.
        n_tokens: tokens of each child.
        vectors: unit vectors of the children, shape ``(len(texts), n_dims)``.
        n_unusable: number of unusable answers that this request already got.
        leaf_texts: texts of the leaves below; empty if the children are leaves.
        invented_answer: an earlier answer to this request, with foreign facts, or "".
    """

    key: str
    name: str
    texts: tuple[str, ...]
    n_tokens: tuple[int, ...]
    vectors: Vectors
    n_unusable: int = 0
    leaf_texts: tuple[str, ...] = ()
    invented_answer: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished summary, which is never empty, an error message, or part of a sentence.

    Attributes:
        mark: ``CUT_OFF`` for the complete sentences of an answer that was cut off or too long;
            ``REPLACED`` for sentences of the sources; "" for a complete answer.
    """

    key: str
    text: str
    usage: Usage = field(default_factory=Usage)
    mark: str = ""

    @property
    def text_key(self) -> str:
        """Key under which the cache stores the text."""
        return marked_content_key(self.key, self.mark) if self.mark else self.key


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be written, after all retries.

    If ``is_permanent``, the same request would fail in the same way. If ``is_refused``, the model
    gave no usable answer although its endpoint works.
    """

    key: str
    name: str
    reason: str
    usage: Usage = field(default_factory=Usage)
    is_permanent: bool = False
    is_refused: bool = False


class UnfitAnswer(NamedTuple):
    """Why an answer is not a summary; ``language`` is the expected one if the answer's is wrong."""

    reason: str
    language: str = ""


def find_failure_remedy(failed: Sequence[FailedSummary]) -> str:
    """Return what to do about failed summaries, for an error message."""
    if n_refused := sum(failure.is_refused for failure in failed):
        return (
            f"{n_refused} got no usable answer, more than summarizer.max_fallback allows in a "
            "layer: set aside the chunks that the model refuses (`raptor curate "
            "set-aside DOCUMENT:START-END`), raise max_fallback, or choose another model"
        )
    if any(failure.is_permanent for failure in failed):
        return (
            "correct what the reason names, or exclude the document (source.exclude); otherwise "
            "another build would fail in the same way"
        )
    return "build again to write the rest"


class Summarizer(Protocol):
    """Interface of a summarizer, which writes a text for each cluster.

    A summarizer may have two more attributes, which default to False. ``quotes`` means that its
    summaries consist of the children's sentences, so checks of a model's texts do not apply.
    ``calls_model`` means that it calls a model and charges the ledger for each call.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that changes a summary: model, prompt and limits."""

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield an answer for each request as soon as it is finished, in any order."""


class ForeignFactRemoval(NamedTuple):
    """How to find foreign facts, and what to use instead of answers that consist of them.

    Attributes:
        version: version of the rules that find foreign facts.
        separate_foreign_facts: from an answer and the leaves below it, foreign facts and the rest.
        extractive_summarizer: summarizer for clusters if too little of an answer is left.
    """

    version: int | str
    separate_foreign_facts: Callable[[str, Sequence[str]], SeparatedAnswer]
    extractive_summarizer: Summarizer


class FunctionSummarizer:
    """Summarizer that calls a function; an exception becomes the reason of a failed summary.

    The fingerprint depends on the function's name and its attribute ``version``. Without the
    attribute it depends on the source code, so that changed code makes summaries stale.
    """

    def __init__(self, function: SummaryFunction) -> None:
        self._function = function
        self.fingerprint = fingerprint(
            "function", {"name": _function_name(function), **_function_version(function)}
        )

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one answer for each request; see ``Summarizer.summarize``."""
        for request in requests:
            try:
                text = self._function(request.texts)
            except Exception as error:  # noqa: BLE001  # a user's function may raise anything
                reason = f"raised {type(error).__name__}: {error}"
            else:
                if isinstance(text, str) and text.strip():
                    yield Summary(request.key, text.strip())
                    continue
                reason = f"returned {text!r} instead of a text"
            yield FailedSummary(
                request.key, request.name, f"{_function_name(self._function)} {reason}"
            )


def _function_name(function: SummaryFunction) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def _function_version(function: SummaryFunction) -> dict[str, str]:
    version = getattr(function, "version", None)
    if version is not None:
        return {"version": str(version)}
    try:
        return {"source": inspect.getsource(function)}
    except (OSError, TypeError):
        return {}
