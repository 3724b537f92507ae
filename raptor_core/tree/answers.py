"""Paid answers on disk from the moment they come until the vector store has them.

Opening an embedded store, writing one node and closing it takes 0.1 to 0.5 s, and readers wait
meanwhile; appending a line and syncing it takes 0.3 ms. So an answer is appended here at once,
by the thread that received it, and staged in the store later, together with others. What a
killed run leaves here is staged by the next one, which asks for none of it again.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from raptor_core.identity import digest
from raptor_core.store.files import disk_errors, sync_directory, write_durably
from raptor_core.vectors import Vectors

KEEP_SECONDS = 7 * 24 * 3600
"""Answers that no run has asked for in this time are dropped: their text may be gone."""

_STEM = "answers"


@dataclass(frozen=True, slots=True)
class _Entry:
    line: bytes
    text: str | None = None
    vector: Vectors | None = None


class AnswerLog:
    """Files of answers in a folder; a context manager around the work that pays for answers.

    Nothing is read or written outside ``with``, and nothing at all without a folder. A process
    takes every file that no living process holds, so several may work in one folder. When all
    answers are forgotten, no file is left.

    Args:
        folder: None keeps nothing.
        keep_seconds: age from which an answer is dropped; None is ``KEEP_SECONDS``.
    """

    def __init__(self, folder: Path | None = None, keep_seconds: float | None = None) -> None:
        self._folder = folder
        self._keep_seconds = keep_seconds
        self._turn = threading.RLock()
        self._depth = 0
        self._entries: dict[str, _Entry] = {}
        self._paths: list[Path] = []
        self._file: BinaryIO | None = None
        self._locks = ExitStack()
        self._is_stale = False

    @property
    def is_durable(self) -> bool:
        """Whether answers survive the process."""
        return self._folder is not None

    @property
    def folder(self) -> Path | None:
        """Where answers are kept; None keeps nothing."""
        return self._folder

    def keep_text(self, key: str, text: str) -> None:
        """Keep a summary by its content key.

        Raises:
            StoreError: the disk refuses.
        """
        self._append({key: {"text": text}})

    def keep_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors by embedding key.

        Raises:
            StoreError: the disk refuses.
        """
        self._append({key: {"vector": _encode(vector)} for key, vector in vectors.items()})

    def texts(self, keys: Iterable[str]) -> dict[str, str]:
        """Kept summaries among ``keys``."""
        found = self._among(keys)
        return {key: entry.text for key, entry in found.items() if entry.text is not None}

    def vectors(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """Kept vectors among ``keys``."""
        found = self._among(keys)
        return {key: entry.vector for key, entry in found.items() if entry.vector is not None}

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what the store has now."""
        with self._turn:
            for key in keys:
                self._is_stale |= self._entries.pop(key, None) is not None

    def _among(self, keys: Iterable[str]) -> dict[str, _Entry]:
        with self._turn:
            return {key: self._entries[key] for key in keys if key in self._entries}

    def _append(self, values: Mapping[str, dict[str, str]]) -> None:
        with self._turn:
            if self._folder is None or not self._depth:
                return
            self._take(self._folder)
            fresh = {
                key: _entry({"key": key, "at": int(time.time()), **value})
                for key, value in values.items()
            }
            self._entries |= fresh
            self._write(entry.line for entry in fresh.values())

    def _write(self, lines: Iterable[bytes]) -> None:
        with disk_errors(self._paths[0]):
            if self._file is None:
                self._file = self._paths[0].open("ab")
                self._file.write(b"\n")  # the last line may have been cut off by a crash
                sync_directory(self._paths[0].parent)
            self._file.writelines(lines)
            self._file.flush()
            os.fsync(self._file.fileno())

    def _take(self, folder: Path) -> None:
        """Lock the files that nobody holds, one to write among them."""
        if self._paths:
            return
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            numbered = (folder / f"{_STEM}-{number}.jsonl" for number in count())
            self._paths = [path for path in _left(folder) if self._lock(path)]
            if not self._paths:
                self._paths = [next(path for path in numbered if self._lock(path))]

    def _lock(self, path: Path) -> bool:
        import filelock

        lock = filelock.FileLock(path.with_suffix(".lock"), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        self._locks.callback(lock.release)
        return True

    def _read(self) -> None:
        kept = KEEP_SECONDS if self._keep_seconds is None else self._keep_seconds
        oldest = time.time() - kept
        for path in self._paths:
            with disk_errors(path):
                lines = path.read_bytes().splitlines() if path.exists() else []
            for stored in _decoded(lines):
                self._is_stale = True
                if stored["at"] >= oldest:
                    self._entries[stored["key"]] = _entry(stored)

    def _settle(self) -> None:
        """Leave on disk what is still wanted, in one file, or none."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._paths and self._is_stale:
            with disk_errors(self._paths[0]):
                if self._entries:
                    lines = (entry.line for entry in self._entries.values())
                    write_durably(self._paths[0], b"".join(lines))
                for path in self._paths[1 if self._entries else 0 :]:
                    path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        with self._turn:
            self._depth += 1
            if self._depth == 1 and self._folder is not None and _left(self._folder):
                try:
                    self._take(self._folder)
                    self._read()
                except BaseException:
                    self.__exit__(None, None, None)
                    raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._turn:
            self._depth -= 1
            if self._depth:
                return
            try:
                self._settle()
            finally:
                self._entries, self._paths, self._is_stale = {}, [], False
                self._locks.close()


def _left(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_STEM}-*.jsonl"))


def _entry(stored: Mapping[str, Any]) -> _Entry:
    line = json.dumps({**stored, "digest": _digest(stored)}).encode() + b"\n"
    vector = stored.get("vector")
    return _Entry(line, stored.get("text"), None if vector is None else _decode(vector))


def _decoded(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """What the lines hold; one that a crash cut off, or the disk changed, is passed over."""
    for line in lines:
        try:
            stored = json.loads(line)
            is_whole = stored.get("digest", _digest(stored)) == _digest(stored)
        except (ValueError, KeyError, AttributeError):
            continue
        if is_whole:
            yield stored


def _digest(stored: Mapping[str, Any]) -> str:
    return digest("answer", *(str(stored.get(name)) for name in ("key", "at", "text", "vector")))


def _encode(vector: Vectors) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def _decode(text: str) -> Vectors:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32)
