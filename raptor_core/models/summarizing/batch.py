"""Summaries asked for as a batch: half the price, within a day, found again after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from raptor_core.errors import EndpointError
from raptor_core.identity import digest
from raptor_core.models.endpoints.answers import checked, read_chat, read_usage
from raptor_core.models.endpoints.batches import (
    MAX_BYTES,
    MAX_REQUESTS,
    BatchClient,
    BatchState,
    batch_line,
    raised,
)
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.retry import FaultError
from raptor_core.models.endpoints.values import ChatAsk, Worst
from raptor_core.models.money import SUMMARIES, Hold, Ledger, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.models.summarizing.batch_records import BatchRecord, BatchRecords
from raptor_core.models.summarizing.chat import ChatSummarizer, Keep
from raptor_core.settings.models import SummarizerSettings

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

Answer = Summary | FailedSummary
Asks = Mapping[str, tuple[SummaryRequest, ChatAsk]]
Holds = Mapping[str, Hold]


class BatchSummarizer:
    """Another chat summarizer whose large tasks go to the batch endpoint.

    Fewer than ``batch_from`` summaries are asked for at once, as ever. What a batch does not give,
    or gives in a form that is not taken, is asked for at once too. A run that is killed leaves a
    record of its batch in ``folder``; the next run that wants any of its summaries waits for that
    batch and pays nothing again.
    """

    def __init__(
        self,
        inner: ChatSummarizer,
        settings: SummarizerSettings,
        *,
        ledger: Ledger | None = None,
        keep: Keep | None = None,
        folder: Path | None = None,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        """``wait`` is a seam for tests; the others are as for ``ChatSummarizer``."""
        self._inner = inner
        self._settings = settings
        self._keep = keep
        self._wait = wait
        self._client = BatchClient(EndpointClient(settings))
        self._records = BatchRecords(folder, f"{settings.base_url} {settings.model}")
        self._account = (ledger or Ledger()).account(
            SUMMARIES, settings.model, share=settings.batch_price
        )

    @property
    def fingerprint(self) -> str:
        """Of the other summarizer: the same model gives the same answers either way."""
        return self._inner.fingerprint

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Answer]:
        """One answer for each request, those of batches first.

        Raises:
            MissingKeyError: OpenAI's own API needs a key; raised before anything is sent.
            BudgetError: the run's budget ends; raised after all answers that it allowed.
            EndpointError: the endpoint takes no batch, or refused this one as a whole.
        """
        if requests:
            self._inner.prepare()
        open_asks = {request.key: (request, self._inner.ask(request)) for request in requests}
        spoilt: dict[str, Usage] = {}
        for answer in self._batched(open_asks, spoilt):
            del open_asks[answer.key]
            yield answer
        rest = [request for request, _ in open_asks.values()]
        for answer in self._inner.summarize(rest):
            yield replace(answer, usage=answer.usage + spoilt.get(answer.key, Usage()))

    def _batched(self, asks: Asks, spoilt: dict[str, Usage]) -> Iterator[Answer]:
        """What batches give; ``spoilt`` counts what was paid for answers that are not taken."""
        given: set[str] = set()
        with self._records.left(asks) as left:
            for record in left:
                wanted = {key: asks[key] for key in record.keys if key in asks}
                for answer in self._resumed(record, wanted, spoilt):
                    given.add(answer.key)
                    yield answer
        tried = given | spoilt.keys()
        fresh = {key: pair for key, pair in asks.items() if key not in tried}
        if len(fresh) >= self._settings.batch_from:
            for part in self._parts(fresh):
                yield from self._asked(part, spoilt)

    def _resumed(
        self, record: BatchRecord, asks: Asks, spoilt: dict[str, Usage]
    ) -> Iterator[Answer]:
        """Answers of a batch that an earlier run began; it has paid for them."""
        batch = record.batch or self._client.find(record.mark)
        if batch is not None:
            known = self._records.keep(record, batch)
            yield from self._collected(self._waited(known), asks, {}, spoilt)
        self._records.drop(record)

    def _asked(self, asks: Asks, spoilt: dict[str, Usage]) -> Iterator[Answer]:
        """Answers of a new batch over as many requests as the budget allows."""
        holds = self._reserved(asks)
        allowed = {key: asks[key] for key in holds}
        try:
            if not allowed:
                return
            lines = b"".join(
                batch_line(self._settings, key, ask) for key, (_, ask) in allowed.items()
            )
            with self._records.begin(allowed, digest("batch", lines.hex())) as intent:
                record = self._records.keep(intent, self._client.create(lines, intent.mark))
                yield from self._collected(self._waited(record), allowed, holds, spoilt)
                self._records.drop(record)
        finally:
            for hold in holds.values():
                if hold.is_open:
                    hold.forgive()

    def _reserved(self, asks: Asks) -> dict[str, Hold]:
        """Reservations by key, of the first requests; what has none is asked for at once."""
        worst = (_worst(ask) for _, ask in asks.values())
        calls = ((tokens.prompt_tokens, tokens.completion_tokens) for tokens in worst)
        return dict(zip(asks, self._account.reserve_some(calls), strict=False))

    def _waited(self, record: BatchRecord) -> BatchState:
        """The batch once it is over.

        Raises:
            EndpointError: it was refused as a whole, and is forgotten.
        """
        batch = record.batch or ""
        state = self._client.state(batch)
        while not state.is_over:
            self._wait(self._settings.batch_poll_seconds)
            state = self._client.state(batch)
        if state.status == "failed":
            self._records.drop(record)
            raise EndpointError(
                f"summarizer: the endpoint refused batch {batch}: {state.reason or 'no reason'}. "
                "Set summarizer.batch_from = 0 to ask for each summary at once"
            )
        return state

    def _collected(
        self, state: BatchState, asks: Asks, holds: Holds, spoilt: dict[str, Usage]
    ) -> Iterator[Answer]:
        for key, answer in self._client.answers(state):
            if key not in asks:
                continue
            request, ask = asks[key]
            spoilt[key] = Usage(retries=1)
            try:
                usage, text = self._read(answer, ask, holds.get(key), spoilt, key)
            except FaultError:
                self._account.count_retry()
                continue  # is asked for at once, which tells what is wrong if it stays so
            del spoilt[key]
            if self._keep is not None:
                self._keep(request.key, text)
            yield Summary(request.key, text, usage)

    def _read(
        self,
        answer: ChatCompletion | str,
        ask: ChatAsk,
        hold: Hold | None,
        spoilt: dict[str, Usage],
        key: str,
    ) -> tuple[Usage, str]:
        """What an answer took and says; what it took counts also where it is not taken.

        Raises:
            FaultError: it is not taken.
        """
        response = raised(answer)
        counted = read_usage(response, _worst(ask).prompt_tokens)
        usage = self._account.count(counted) if hold is None else hold.settle(counted)
        spoilt[key] += usage
        return usage, checked(read_chat(response, ""), ask)

    def _parts(self, asks: Asks) -> Iterator[Asks]:
        """The requests in batches that the endpoint takes."""
        part: dict[str, tuple[SummaryRequest, ChatAsk]] = {}
        n_bytes = 0
        for key, pair in asks.items():
            size = len(batch_line(self._settings, key, pair[1]))
            if part and (len(part) >= MAX_REQUESTS or n_bytes + size > MAX_BYTES):
                yield part
                part, n_bytes = {}, 0
            part[key] = pair
            n_bytes += size
        if part:
            yield part


def _worst(ask: ChatAsk) -> Worst:
    return ask.worst(ask.user)
