"""Counts what a summarizer makes that calls no endpoint, so that a budget bounds it too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from raptor_core.models.money.ledger import Hold, Ledger
from raptor_core.models.money.usage import SUMMARIES, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summarizer, Summary, SummaryRequest
from raptor_core.tokens.base import TokenCounter


class CountedSummarizer:
    """Another summarizer, within a ledger's budget.

    One summary is one call: its children's tokens are the prompt's, its own the answer's, at
    0 USD. A summarizer that says itself what its calls took is believed.
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
        """``name`` stands for the model in the ledger; a summary has at most ``max_tokens``."""
        self._inner = inner
        self.fingerprint = inner.fingerprint  # counting changes no text
        self._counter = counter
        self._max_tokens = max_tokens
        self._account = ledger.account(SUMMARIES, name, free=True)

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """As the other one answers, as many at once as the budget surely allows.

        Raises:
            BudgetError: the budget ends; raised after all answers that it allowed.
        """
        start = 0
        while start < len(requests):
            first, *others = ((sum(r.n_tokens), self._max_tokens) for r in requests[start:])
            holds = [self._account.reserve(*first), *self._account.reserve_some(others)]
            part = requests[start : start + len(holds)]
            yield from self._within(part, holds)
            start += len(part)

    def _within(
        self, requests: Sequence[SummaryRequest], holds: Sequence[Hold]
    ) -> Iterator[Summary | FailedSummary]:
        open_holds = {
            request.key: (request, hold) for request, hold in zip(requests, holds, strict=True)
        }
        try:
            for answer in self._inner.summarize(requests):
                request, hold = open_holds.pop(answer.key)
                usage = hold.settle(self._usage(request, answer))
                yield replace(answer, usage=usage)
        finally:
            for _, hold in open_holds.values():  # never asked for
                hold.forgive()

    def _usage(self, request: SummaryRequest, answer: Summary | FailedSummary) -> Usage:
        if answer.usage.calls or isinstance(answer, FailedSummary):
            return answer.usage
        return Usage(1, sum(request.n_tokens), self._counter.count([answer.text])[0])
