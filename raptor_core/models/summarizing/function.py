"""Summaries by a function of the user."""

import inspect
from collections.abc import Callable, Iterator, Sequence

from raptor_core.identity import fingerprint
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest

SummaryFunction = Callable[[Sequence[str]], str]
"""Function from the texts of a cluster, in document order, to their summary."""


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
