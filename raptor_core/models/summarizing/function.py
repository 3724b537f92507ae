"""A function as summarizer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence

from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest

SummaryFunction = Callable[[Sequence[str]], str]
"""From the texts of a cluster, in document order, to their summary."""


class FunctionSummarizer:
    """Asks a function for each summary; what it raises is the reason of a failed one.

    Its fingerprint is of the function's name and of its ``version``, an attribute that it may
    have; else of its source, so that a change of its code makes its summaries anew.
    """

    def __init__(self, function: SummaryFunction) -> None:
        self._function = function
        self.fingerprint = fingerprint("function", {"name": _name(function), **_version(function)})

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """See ``Summarizer.summarize``."""
        for request in requests:
            try:
                text = self._function(request.texts)
            except Exception as error:  # noqa: BLE001 - a function of the user's may raise anything
                reason = f"raised {type(error).__name__}: {error}"
            else:
                if isinstance(text, str) and text.strip():
                    yield Summary(request.key, text.strip())
                    continue
                reason = f"returned {text!r} and no text"
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
