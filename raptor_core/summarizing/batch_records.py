"""Which batches are under way, on disk, so that a killed run finds its own again."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from raptor_core.identity import digest
from raptor_core.store.files import disk_errors, write_durably

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

    A record is locked while a process works with its batch, so that others leave it alone.
    """

    def __init__(self, folder: Path | None, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint

    @contextmanager
    def left(self, keys: Collection[str]) -> Iterator[list[BatchRecord]]:
        """Records of earlier runs that hold any of ``keys`` and nobody else works with."""
        with ExitStack() as locks:
            yield [r for r in self._readable(locks) if not set(keys).isdisjoint(r.keys)]

    @contextmanager
    def begin(self, keys: Collection[str], content: str) -> Iterator[BatchRecord]:
        """A record of a batch that is about to be begun, kept until ``drop``.

        Raises:
            StoreError: the disk refuses.
        """
        mark = digest(self._endpoint, content)[:32]
        record = BatchRecord(mark, self._endpoint, tuple(keys), int(time.time()))
        with ExitStack() as locks:
            if self._folder is not None:
                with disk_errors(self._folder):
                    self._folder.mkdir(parents=True, exist_ok=True)
                _lock(_path(self._folder, record), locks)
            yield self.keep(record)

    def keep(self, record: BatchRecord, batch: str | None = None) -> BatchRecord:
        """Write the record, with the batch's id once it has one.

        Raises:
            StoreError: the disk refuses.
        """
        named = replace(record, batch=batch or record.batch)
        if self._folder is not None:
            write_durably(_path(self._folder, named), json.dumps(asdict(named)).encode())
        return named

    def drop(self, record: BatchRecord) -> None:
        """Forget a batch whose answers are kept elsewhere now.

        Raises:
            StoreError: the disk refuses.
        """
        if self._folder is not None:
            with disk_errors(self._folder):
                _path(self._folder, record).unlink(missing_ok=True)

    def _readable(self, locks: ExitStack) -> Iterator[BatchRecord]:
        if self._folder is None or not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.json")):
            if not _lock(path, locks) or not path.exists():
                continue
            with disk_errors(path):
                stored = json.loads(path.read_bytes())
            record = BatchRecord(**{**stored, "keys": tuple(stored["keys"])})
            if time.time() - record.at > KEEP_SECONDS:
                path.unlink(missing_ok=True)
            elif record.endpoint == self._endpoint:
                yield record


def _path(folder: Path, record: BatchRecord) -> Path:
    return folder / f"{record.mark}.json"


def _lock(path: Path, locks: ExitStack) -> bool:
    import filelock

    lock = filelock.FileLock(path.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return False
    locks.callback(lock.release)
    return True
