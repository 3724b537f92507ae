"""Summaries by batch: half the price, within a day, and found again after the process is killed.

The calls of the batch endpoint are in ``raptor_core.models.endpoints.batches``; single calls are
in ``chat``.
"""

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from raptor_core.disk import disk_errors, file_lock, write_durably
from raptor_core.errors import EndpointError, StoreError
from raptor_core.identity import digest
from raptor_core.models.endpoints import batches
from raptor_core.models.endpoints.answers import read_kept, read_usage
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.endpoints.faults import FaultError
from raptor_core.models.endpoints.values import ChatAsk
from raptor_core.models.money.ledger import Ledger, Reservation
from raptor_core.models.money.usage import SUMMARIES, Usage
from raptor_core.models.summarizing.base import FailedSummary, Summary, SummaryRequest
from raptor_core.models.summarizing.chat import ChatSummarizer, Keep
from raptor_core.settings.models import SummarizerSettings

KEEP_SECONDS = 30 * 24 * 3600
"""Longest time for which endpoints keep the files of a batch."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """Record of a batch: its requests, and its id as soon as the endpoint has returned it."""

    mark: str
    endpoint: str
    keys: tuple[str, ...]
    at: int
    batch: str | None = None


class BatchRecords:
    """Folder with a file for each unfinished batch; None stores nothing.

    A record is locked while a process works with its batch, so that no other process uses it. A
    StoreError is raised if the disk refuses a write.
    """

    def __init__(self, folder: Path | None, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint

    @contextmanager
    def claim(self, keys: Collection[str]) -> Iterator[list[BatchRecord]]:
        """Lock and return earlier runs' records with any of ``keys`` that no process uses."""
        records: list[BatchRecord] = []
        with ExitStack() as locks:
            for path in sorted(self._folder.glob("*.json")) if self._folder else ():
                with ExitStack() as lock:
                    record = _read(path) if _lock(path, lock) else None
                    if record is None or record.endpoint != self._endpoint:
                        continue
                    if not set(keys).isdisjoint(record.keys):
                        locks.push(lock.pop_all())  # other records stay free for other runs
                        records.append(record)
            yield records

    @contextmanager
    def begin(self, keys: Collection[str], content: str) -> Iterator[BatchRecord]:
        """Write a record of a batch that is about to be sent; it stays until ``drop``."""
        mark = digest(self._endpoint, content)[:32]
        record = BatchRecord(mark, self._endpoint, tuple(keys), int(time.time()))
        with ExitStack() as locks:
            if self._folder is not None:
                with disk_errors(self._folder):
                    self._folder.mkdir(parents=True, exist_ok=True)
                _lock(_path(self._folder, record), locks)
            yield self.keep(record)

    def keep(self, record: BatchRecord, batch: str | None = None) -> BatchRecord:
        """Write the record, with the id of the batch if it is known."""
        named = replace(record, batch=batch or record.batch)
        if self._folder is not None:
            write_durably(_path(self._folder, named), json.dumps(asdict(named)).encode())
        return named

    def drop(self, record: BatchRecord) -> None:
        """Delete the record of a batch whose answers are stored elsewhere now."""
        if self._folder is not None:
            with disk_errors(self._folder):
                _path(self._folder, record).unlink(missing_ok=True)


def _read(path: Path) -> BatchRecord | None:
    """Return the record, or None if it does not exist or is too old; an old one is deleted."""
    with disk_errors(path):
        if not path.exists():
            return None
        raw = path.read_bytes()
    try:
        stored = json.loads(raw)
        record = BatchRecord(**{**stored, "keys": tuple(stored["keys"]), "mark": path.stem})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"the record of a batch at {path} is damaged ({error}): delete it, and the next build "
            "requests its summaries again"
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


BatchAnswer = tuple[str, Usage, tuple[str, bool] | None]
"""Key of a request, usage of its answer, and its text with whether it is only the beginning.

None is an answer that is rejected.
"""

Asks = Mapping[str, ChatAsk]
"""Chat requests by the keys of their summary requests."""


class BatchSummarizer:
    """Chat summarizer that sends large tasks to the batch endpoint.

    Fewer than ``batch_from`` summaries are sent as single calls, and so are requests without a
    usable answer in a batch. After a killed run, the next run that needs its summaries resumes the
    batch by its record in ``folder``, and pays nothing again.
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
        self.fingerprint = inner.fingerprint  # a batch uses the same model
        self._settings = settings
        self._keep = keep
        self._client = batches.BatchClient(EndpointClient(settings))
        self._records = BatchRecords(folder, f"{settings.base_url} {settings.model}")
        self._account = (ledger or Ledger()).account(
            SUMMARIES, settings.model, share=settings.batch_price
        )

    def summarize(self, requests: Sequence[SummaryRequest]) -> Iterator[Summary | FailedSummary]:
        """Yield one answer for each request, those of batches first.

        Raises:
            MissingKeyError: OpenAI's own API needs a key; raised before anything is sent.
            BudgetError: the budget of the run is used up; raised after all answers within it.
            EndpointError: the endpoint accepts no batches, or refused a batch.
        """
        if requests:
            self._inner.prepare()
        asks = {request.key: self._inner.ask(request) for request in requests}
        rejected: dict[str, Usage] = {}
        for key, usage, kept in self._from_batches(asks):
            if kept is None:  # the single call below reports the reason if it fails, too
                rejected[key] = usage
                continue
            del asks[key]
            summary = Summary(key, kept[0], usage, kept[1])
            if self._keep is not None:
                self._keep(summary.text_key, summary.text)
            yield summary
        rest = [
            replace(request, n_unusable=int(rejected.get(request.key, Usage()).calls > 0))
            for request in requests
            if request.key in asks
        ]
        for answer in self._inner.summarize(rest):
            yield replace(answer, usage=answer.usage + rejected.get(answer.key, Usage()))

    def _from_batches(self, asks: Asks) -> Iterator[BatchAnswer]:
        """Yield the answers of earlier runs' batches, then those of new batches."""
        tried: set[str] = set()
        with self._records.claim(asks) as records:
            for record in records:
                ours = {key: asks[key] for key in record.keys if key in asks}
                for answer in self._resume(record, ours):
                    tried.add(answer[0])
                    yield answer
        fresh = {key: ask for key, ask in asks.items() if key not in tried}
        if len(fresh) >= self._settings.batch_from:
            for part in self._parts(fresh):
                yield from self._submit(part)

    def _resume(self, record: BatchRecord, asks: Asks) -> Iterator[BatchAnswer]:
        """Yield the answers of a batch that an earlier run sent and paid for."""
        batch = record.batch or self._client.find(record.mark)
        if batch is not None:
            yield from self._collect(self._wait(self._records.keep(record, batch)), asks, {})
        self._records.drop(record)

    def _submit(self, asks: Asks) -> Iterator[BatchAnswer]:
        """Yield the answers of a new batch over as many requests as the budget allows."""
        reserved = self._account.reserve_some(ask.worst() for ask in asks.values())
        reservations = dict(zip(asks, reserved, strict=False))  # the rest becomes single calls
        try:
            if not reservations:
                return
            lines = b"".join(
                batches.batch_line(self._settings, key, asks[key]) for key in reservations
            )
            with self._records.begin(reservations, digest("batch", lines.hex())) as intent:
                record = self._records.keep(intent, self._client.create(lines, intent.mark))
                yield from self._collect(self._wait(record), asks, reservations)
                self._records.drop(record)
        finally:
            for reservation in reservations.values():
                if reservation.is_open:
                    reservation.release()

    def _wait(self, record: BatchRecord) -> batches.BatchState:
        """Wait until the batch is over, and return its state; raise if it was refused."""
        batch = record.batch or ""
        while not (state := self._client.state(batch)).is_over:
            time.sleep(self._settings.batch_poll_seconds)
        if state.status == "failed":
            self._records.drop(record)
            raise EndpointError(
                f"summarizer: the endpoint refused batch {batch}: {state.reason or 'no reason'}. "
                "Set summarizer.batch_from = 0 to request each summary in a single call"
            )
        return state

    def _collect(
        self, state: batches.BatchState, asks: Asks, reservations: Mapping[str, Reservation]
    ) -> Iterator[BatchAnswer]:
        for key, answer in self._client.answers(state):
            if key not in asks:
                continue
            usage, kept = Usage(), None
            if answer is not None:
                counted = read_usage(answer, asks[key].worst().prompt_tokens)
                reservation = reservations.get(key)
                usage = reservation.charge(counted) if reservation else self._account.count(counted)
                with suppress(FaultError):  # an unusable answer is requested again
                    kept = read_kept(answer, asks[key])
            if kept is None:
                usage += self._account.count_retry()
            yield key, usage, kept

    def _parts(self, asks: Asks) -> Iterator[Asks]:
        """Yield the requests in batches of a size that the endpoint accepts."""
        part: dict[str, ChatAsk] = {}
        n_bytes = 0
        for key, ask in asks.items():
            size = len(batches.batch_line(self._settings, key, ask))
            if part and (len(part) >= batches.MAX_REQUESTS or n_bytes + size > batches.MAX_BYTES):
                yield part
                part, n_bytes = {}, 0
            part[key] = ask
            n_bytes += size
        if part:
            yield part
