"""Summaries asked for as a batch: half the price, within a day, found again after a kill."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from raptor_core.disk import disk_errors, file_lock, write_durably
from raptor_core.errors import EndpointError, StoreError
from raptor_core.identity import digest
from raptor_core.models.endpoints.answers import read_chat, read_usage
from raptor_core.models.endpoints.batches import (
    MAX_BYTES,
    MAX_REQUESTS,
    BatchClient,
    BatchState,
    batch_line,
)
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.faults import FaultError
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.models.money.ledger import Hold, Ledger
from raptor_core.models.money.usage import SUMMARIES, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.models.summarizing.chat import ChatSummarizer, Keep
from raptor_core.settings.models import SummarizerSettings

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


KEEP_SECONDS = 30 * 24 * 3600
"""Endpoints keep the files of a batch for this long at the most."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch: what it was begun with, and its id once that is known."""

    mark: str
    endpoint: str
    keys: tuple[str, ...]
    at: int
    batch: str | None = None


class BatchRecords:
    """A folder with a file for each batch under way; None keeps nothing.

    A record is locked while a process works with its batch, so that others leave it alone. Where
    the disk refuses, StoreError is raised.
    """

    def __init__(self, folder: Path | None, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint

    @contextmanager
    def left(self, keys: Collection[str]) -> Iterator[list[BatchRecord]]:
        """Records of earlier runs that hold any of ``keys`` and nobody else works with."""
        left: list[BatchRecord] = []
        with ExitStack() as locks:
            for path in sorted(self._folder.glob("*.json")) if self._folder else ():
                with ExitStack() as lock:
                    record = _read(path) if _lock(path, lock) else None
                    if record is None or record.endpoint != self._endpoint:
                        continue
                    if not set(keys).isdisjoint(record.keys):
                        locks.push(lock.pop_all())  # the others are for whoever wants them
                        left.append(record)
            yield left

    @contextmanager
    def begin(self, keys: Collection[str], content: str) -> Iterator[BatchRecord]:
        """A record of a batch that is about to be begun, kept until ``drop``."""
        mark = digest(self._endpoint, content)[:32]
        record = BatchRecord(mark, self._endpoint, tuple(keys), int(time.time()))
        with ExitStack() as locks:
            if self._folder is not None:
                with disk_errors(self._folder):
                    self._folder.mkdir(parents=True, exist_ok=True)
                _lock(_path(self._folder, record), locks)
            yield self.keep(record)

    def keep(self, record: BatchRecord, batch: str | None = None) -> BatchRecord:
        """Write the record, with the batch's id once it has one."""
        named = replace(record, batch=batch or record.batch)
        if self._folder is not None:
            write_durably(_path(self._folder, named), json.dumps(asdict(named)).encode())
        return named

    def drop(self, record: BatchRecord) -> None:
        """Forget a batch whose answers are kept elsewhere now."""
        if self._folder is not None:
            with disk_errors(self._folder):
                _path(self._folder, record).unlink(missing_ok=True)


def _read(path: Path) -> BatchRecord | None:
    """The record; None where it is gone, or so old that it is dropped."""
    with disk_errors(path):
        if not path.exists():
            return None
        raw = path.read_bytes()
    try:
        stored = json.loads(raw)
        record = BatchRecord(**{**stored, "keys": tuple(stored["keys"]), "mark": path.stem})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"the record of a batch at {path} is damaged ({error}): delete it, and its summaries "
            "are asked for anew"
        ) from error
    if time.time() - record.at <= KEEP_SECONDS:
        return record
    with disk_errors(path):
        path.unlink(missing_ok=True)
    return None


def _path(folder: Path, record: BatchRecord) -> Path:
    return folder / f"{record.mark}.json"


def _lock(path: Path, locks: ExitStack) -> bool:
    with disk_errors(path):
        return locks.enter_context(file_lock(path.with_suffix(".lock")))


Taken = tuple[str, Usage, str | None]
"""A request's key, what its answer took, and the text; None for an answer that is not taken."""

Asks = Mapping[str, ChatAsk]
"""By the request's key."""


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
    ) -> None:
        self._inner = inner
        self.fingerprint = inner.fingerprint  # the same model gives the same answers either way
        self._settings = settings
        self._keep = keep
        self._client = BatchClient(EndpointClient(settings))
        self._records = BatchRecords(folder, f"{settings.base_url} {settings.model}")
        self._account = (ledger or Ledger()).account(
            SUMMARIES, settings.model, share=settings.batch_price
        )

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """One answer for each request, those of batches first.

        Raises:
            MissingKeyError: OpenAI's own API needs a key; raised before anything is sent.
            BudgetError: the run's budget ends; raised after all answers that it allowed.
            EndpointError: the endpoint takes no batch, or refused this one as a whole.
        """
        if requests:
            self._inner.prepare()
        asks = {request.key: self._inner.ask(request) for request in requests}
        spoilt: dict[str, Usage] = {}
        for key, usage, text in self._batched(asks):
            if text is None:  # is asked for at once, which tells what is wrong if it stays so
                spoilt[key] = usage
            else:
                del asks[key]
                yield Summary(key, text, usage)
        rest = [request for request in requests if request.key in asks]
        for answer in self._inner.summarize(rest):
            yield replace(answer, usage=answer.usage + spoilt.get(answer.key, Usage()))

    def _batched(self, asks: Asks) -> Iterator[Taken]:
        """What batches give: those of earlier runs, then new ones for what they leave out."""
        tried: set[str] = set()
        with self._records.left(asks) as left:
            for record in left:
                wanted = {key: asks[key] for key in record.keys if key in asks}
                for taken in self._resumed(record, wanted):
                    tried.add(taken[0])
                    yield taken
        fresh = {key: ask for key, ask in asks.items() if key not in tried}
        if len(fresh) >= self._settings.batch_from:
            for part in self._parts(fresh):
                yield from self._asked(part)

    def _resumed(self, record: BatchRecord, asks: Asks) -> Iterator[Taken]:
        """Answers of a batch that an earlier run began; it has paid for them."""
        batch = record.batch or self._client.find(record.mark)
        if batch is not None:
            known = self._records.keep(record, batch)
            yield from self._collected(self._waited(known), asks, {})
        self._records.drop(record)

    def _asked(self, asks: Asks) -> Iterator[Taken]:
        """Answers of a new batch over as many requests as the budget allows."""
        reserved = self._account.reserve_some(ask.worst() for ask in asks.values())
        holds = dict(zip(asks, reserved, strict=False))  # what has none is asked for at once
        try:
            if not holds:
                return
            lines = b"".join(batch_line(self._settings, key, asks[key]) for key in holds)
            with self._records.begin(holds, digest("batch", lines.hex())) as intent:
                record = self._records.keep(intent, self._client.create(lines, intent.mark))
                yield from self._collected(self._waited(record), asks, holds)
                self._records.drop(record)
        finally:
            for hold in holds.values():
                if hold.is_open:
                    hold.forgive()

    def _waited(self, record: BatchRecord) -> BatchState:
        """The batch once it is over.

        Raises:
            EndpointError: it was refused as a whole, and is forgotten.
        """
        batch = record.batch or ""
        while not (state := self._client.state(batch)).is_over:
            time.sleep(self._settings.batch_poll_seconds)
        if state.status == "failed":
            self._records.drop(record)
            raise EndpointError(
                f"summarizer: the endpoint refused batch {batch}: {state.reason or 'no reason'}. "
                "Set summarizer.batch_from = 0 to ask for each summary at once"
            )
        return state

    def _collected(
        self, state: BatchState, asks: Asks, holds: Mapping[str, Hold]
    ) -> Iterator[Taken]:
        for key, answer in self._client.answers(state):
            if key not in asks:
                continue
            usage, text = Usage(), None
            if answer is not None:
                counted = read_usage(answer, asks[key].worst().prompt_tokens)
                hold = holds.get(key)
                usage = hold.settle(counted) if hold else self._account.count(counted)
                text = _whole(answer, asks[key])
            if text is None:
                usage += self._account.count_retry()
            elif self._keep is not None:
                self._keep(key, text)
            yield key, usage, text

    def _parts(self, asks: Asks) -> Iterator[Asks]:
        """The requests in batches that the endpoint takes."""
        part: dict[str, ChatAsk] = {}
        n_bytes = 0
        for key, ask in asks.items():
            size = len(batch_line(self._settings, key, ask))
            if part and (len(part) >= MAX_REQUESTS or n_bytes + size > MAX_BYTES):
                yield part
                part, n_bytes = {}, 0
            part[key] = ask
            n_bytes += size
        if part:
            yield part


def _whole(answer: ChatCompletion, ask: ChatAsk) -> str | None:
    """What an answer says; None where it is not whole or the request's check refuses it."""
    try:
        text = read_chat(answer, "")
        ask.check(text)
    except FaultError:
        return None
    return text
