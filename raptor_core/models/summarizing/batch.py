"""Summarizing in batches, which costs half and takes up to a day, even if the process is killed.

Calls to the batch endpoint are in ``raptor_core.models.endpoints.batches``; single calls are in
``chat``.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from raptor_core.errors import EndpointError
from raptor_core.identity import digest
from raptor_core.models.endpoints import batches
from raptor_core.models.endpoints.answers import read_trimmed_chat, read_usage
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.faults import FaultError
from raptor_core.models.endpoints.values import ChatModelRequest
from raptor_core.models.money.ledger import Ledger, Reservation
from raptor_core.models.money.usage import BATCH_PRICE, SUMMARIES, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.models.summarizing.chat import ChatSummarizer, Keep
from raptor_core.settings.models import SummarizerSettings

if TYPE_CHECKING:
    from openai.types import Batch

POLL_SECONDS = 30.0
"""Interval at which a batch is checked, in seconds."""


class _RejectedAnswer(NamedTuple):
    """An unusable answer, after which a single call is made.

    ``invented_answer`` is its text if it was rejected because of foreign facts.
    """

    key: str
    usage: Usage
    invented_answer: str = ""


BatchAnswer = Summary | FailedSummary | _RejectedAnswer

Asks = Mapping[str, ChatModelRequest]
"""Chat requests by the keys of their summary requests."""


class BatchSummarizer:
    """Summarizer that sends many requests as a batch, and others as single calls.

    Fewer than ``batch_from`` summaries are requested by single calls, and so are those without a
    usable answer in a batch. The very first request is a single call, too, to detect a wrong key,
    and fields that the endpoint rejects, before a batch takes a day.

    A batch has a label in its metadata, which depends on the summarizer's fingerprint. If a run is
    killed, the next run that needs its summaries finds the batch by the label and pays nothing.
    """

    calls_model = True

    def __init__(
        self,
        inner: ChatSummarizer,
        settings: SummarizerSettings,
        *,
        ledger: Ledger | None = None,
        keep: Keep | None = None,
    ) -> None:
        self._inner = inner
        self.fingerprint = inner.fingerprint  # a batch uses the same model
        self._settings = settings
        self._keep = keep
        self._client = batches.BatchClient(EndpointClient(settings))
        self._label = digest("batch", inner.fingerprint)[:32]
        self._read: set[str] = set()
        self._is_tested = False
        self._account = (ledger or Ledger()).account(SUMMARIES, settings.model, share=BATCH_PRICE)

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield an answer for each request, those of batches first.

        Raises:
            MissingKeyError: the endpoint needs a key; raised before anything is sent.
            BudgetError: the run's budget is used up; raised after all answers within it.
            EndpointError: the endpoint does not support batches, or rejected a batch.
        """
        open_requests = {request.key: request for request in requests}
        rejected: dict[str, _RejectedAnswer] = {}
        if len(requests) >= self._settings.batch_from:
            self._inner.prepare()
            for answer in self._answer_by_batches(open_requests):
                if isinstance(answer, Summary | FailedSummary):
                    del open_requests[answer.key]
                    yield answer
                else:  # the single call below reports the reason if it fails, too
                    rejected[answer.key] = answer
        rest = [
            _make_single_request(request, rejected.get(key, _RejectedAnswer(key, Usage())))
            for key, request in open_requests.items()
        ]
        for answer in self._inner.summarize(rest):
            paid = rejected[answer.key].usage if answer.key in rejected else Usage()
            yield replace(answer, usage=answer.usage + paid)

    def _answer_by_batches(self, requests: Mapping[str, SummaryRequest]) -> Iterator[BatchAnswer]:
        """Yield the answers of earlier runs' batches, then those of new batches."""
        asks = {key: self._inner.make_chat_request(request) for key, request in requests.items()}
        for batch in self._earlier_batches(asks):
            try:
                yield from self._collect_answers(batch, requests, asks, {})
            except EndpointError as error:
                if not error.is_permanent:  # a permanent error means that its files are gone
                    raise
        if len(asks) < self._settings.batch_from:
            return
        if not self._is_tested:
            key = next(iter(asks))
            yield from self._inner.summarize([requests[key]])
            del asks[key]
            self._is_tested = True
        for part in self._split_into_batches(asks):
            yield from self._submit_batch(requests, part)

    def _earlier_batches(self, asks: Asks) -> Iterator["Batch"]:
        """Yield the batches of killed runs that may answer some of ``asks``, newest first."""
        for batch in self._client.find_by_label(self._label):
            if not asks:
                return
            is_open = not batches.has_ended(batch)
            if batch.id in self._read or batch.status == "failed":
                continue
            if is_open and asks.keys().isdisjoint(self._client.request_keys(batch)):
                continue  # it belongs to another run
            yield batch

    def _submit_batch(
        self, requests: Mapping[str, SummaryRequest], asks: dict[str, ChatModelRequest]
    ) -> Iterator[BatchAnswer]:
        """Send as many requests as the budget allows in a new batch, and yield the answers."""
        reserved = self._account.reserve_affordable(ask.worst_case() for ask in asks.values())
        reservations = dict(zip(asks, reserved, strict=False))  # the rest becomes single calls
        try:
            if not reservations:
                return
            lines = [
                batches.batch_request_line(self._settings, key, asks[key]) for key in reservations
            ]
            batch = self._client.create(b"".join(lines), self._label)
            yield from self._collect_answers(batch, requests, asks, reservations)
        finally:
            for reservation in reservations.values():
                if reservation.is_open:  # because it expired or was never sent
                    reservation.release()

    def _collect_answers(
        self,
        batch: "Batch",
        requests: Mapping[str, SummaryRequest],
        asks: dict[str, ChatModelRequest],
        reservations: Mapping[str, Reservation],
    ) -> Iterator[BatchAnswer]:
        """Wait for a batch, yield its answers to ``asks``, and remove these from ``asks``."""
        while not batches.has_ended(batch := self._client.refresh(batch)):
            time.sleep(POLL_SECONDS)
        self._read.add(batch.id)
        for key, answer in self._client.answers(batch):
            if key not in asks:
                continue
            ask, usage = asks.pop(key), Usage()
            kept: tuple[str, bool] | None = None
            if answer is not None:
                counted = read_usage(answer, ask.worst_case().prompt_tokens)
                reservation = reservations.get(key)
                usage = (
                    reservation.charge(counted)
                    if reservation
                    else self._account.count_paid_call(counted)
                )
                with suppress(FaultError):  # an unusable answer is requested again
                    kept = read_trimmed_chat(answer, ask)
            foreign = self._inner.separate_foreign_facts(requests[key], kept[0]) if kept else None
            if kept is None or foreign is None or foreign.facts:
                if kept is not None:
                    self._inner.keep_invented_answer(requests[key], kept[0])
                invented = kept[0] if kept else ""
                yield _RejectedAnswer(key, usage + self._account.count_retry(), invented)
                continue
            summary = self._inner.make_summary(requests[key], foreign, usage, is_cut=kept[1])
            if self._keep is not None:
                self._keep(summary.text_key, summary.text)
            yield summary

    def _split_into_batches(self, asks: Asks) -> Iterator[dict[str, ChatModelRequest]]:
        """Divide the requests into batches of a size that the endpoint accepts."""
        part: dict[str, ChatModelRequest] = {}
        n_bytes = 0
        for key, ask in asks.items():
            size = len(batches.batch_request_line(self._settings, key, ask))
            if part and (len(part) >= batches.MAX_REQUESTS or n_bytes + size > batches.MAX_BYTES):
                yield part
                part, n_bytes = {}, 0
            part[key] = ask
            n_bytes += size
        if part:
            yield part


def _make_single_request(request: SummaryRequest, rejected: _RejectedAnswer) -> SummaryRequest:
    """Return the request for a single call after a batch."""
    invented = rejected.invented_answer or request.invented_answer
    is_unusable = rejected.usage.calls > 0 and not invented
    return replace(request, n_unusable=int(is_unusable), invented_answer=invented)
