"""Usage and budget for summarizers that call no endpoint."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from raptor_core.models.money.ledger import Ledger, Reservation
from raptor_core.models.money.usage import SUMMARIES, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summarizer, Summary, SummaryRequest
from raptor_core.tokens.base import TokenCounter


class CountedSummarizer:
    """Summarizer within the budget of a ledger, around another summarizer.

    One summary counts as one call at 0 USD: its children's tokens are the prompt, its own tokens
    the answer. If the inner summarizer reports its own usage, that usage counts.
    """

    def __init__(
        self,
        inner: Summarizer,
        ledger: Ledger,
        counter: TokenCounter,
        *,
        name: str,
        max_tokens: int,
    ) -> None:
        self._inner = inner
        self.fingerprint = inner.fingerprint  # counting changes no text
        self._counter = counter
        self._max_tokens = max_tokens
        self._account = ledger.account(SUMMARIES, name, free=True)

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Send as many requests at once as the remaining budget is certain to cover.

        A BudgetError is raised after all answers within the budget.
        """
        start = 0
        while start < len(requests):
            first, *rest = ((sum(r.n_tokens), self._max_tokens) for r in requests[start:])
            reservations = [self._account.reserve(*first), *self._account.reserve_some(rest)]
            part = requests[start : start + len(reservations)]
            yield from self._within(part, reservations)
            start += len(part)

    def _within(
        self, requests: Sequence[SummaryRequest], reservations: Sequence[Reservation]
    ) -> Iterator[Summary | FailedSummary]:
        open_calls = {
            request.key: (request, reservation)
            for request, reservation in zip(requests, reservations, strict=True)
        }
        try:
            for answer in self._inner.summarize(requests):
                request, reservation = open_calls.pop(answer.key)
                yield replace(answer, usage=reservation.charge(self._usage(request, answer)))
        finally:
            for _, reservation in open_calls.values():  # requests that were never sent
                reservation.release()

    def _usage(self, request: SummaryRequest, answer: Summary | FailedSummary) -> Usage:
        if answer.usage.calls or isinstance(answer, FailedSummary):
            return answer.usage
        return Usage(1, sum(request.n_tokens), self._counter.count([answer.text])[0])
