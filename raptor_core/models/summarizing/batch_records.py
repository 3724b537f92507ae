"""Which batches are under way, on disk, so that a killed run finds its own again."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from raptor_core.disk import disk_errors, file_lock, write_durably
from raptor_core.errors import StoreError
from raptor_core.identity import digest

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
            yield list(self._wanted(set(keys), locks))

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

    def _wanted(self, keys: Collection[str], locks: ExitStack) -> Iterator[BatchRecord]:
        if self._folder is None or not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.json")):
            with ExitStack() as lock:
                record = _read(path) if _lock(path, lock) else None
                if record is None or record.endpoint != self._endpoint:
                    continue
                if not set(keys).isdisjoint(record.keys):
                    locks.push(lock.pop_all())  # the others are for whoever wants them
                    yield record


def _read(path: Path) -> BatchRecord | None:
    """The record; None where it is gone, or so old that it is dropped.

    Raises:
        StoreError: the disk refuses, or the file is damaged.
    """
    with disk_errors(path):
        if not path.exists():
            return None
        raw = path.read_bytes()
    try:
        stored = json.loads(raw)
        record = BatchRecord(**{**stored, "keys": tuple(stored["keys"])})
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
    return locks.enter_context(file_lock(path.with_suffix(".lock")))
