"""Lock that admits one process at a time to an embedded engine.

The operating system holds it on a file beside the collection, so it ends with its process. A
second file names the holder, for messages alone. Within one process a second opening of the same
store waits as another process would. The thread that holds the lock would wait for itself, so it
gets an error at once.
"""

import json
import os
import socket
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from threading import get_ident

from raptor_core.disk import disk_errors, file_lock, replace_file
from raptor_core.errors import StoreError, StoreLockedError

_HOLDER_SUFFIX = ".holder.json"
_holders: dict[Path, int] = {}
"""Threads of this process, by the lock that each holds."""


class StoreLock:
    """Lock of one corpus; ``path`` is its file."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path.parent.resolve() / path.name
        self._wait_seconds = wait_seconds
        self._releases = ExitStack()

    def acquire(self) -> None:
        """Take the lock; raise StoreLockedError after ``wait_seconds``."""
        if _holders.get(self._path) == get_ident():
            raise StoreError(
                f"{self._path}: this thread has the store open already; use the open one, or "
                "close it first"
            )
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "command": " ".join(sys.argv)[:200],
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        file = self._path.with_suffix(_HOLDER_SUFFIX)
        with disk_errors(self._path), ExitStack() as undo:
            if not undo.enter_context(file_lock(self._path, self._wait_seconds)):
                raise _locked(self._path, self._wait_seconds)
            _holders[self._path] = get_ident()
            undo.callback(_holders.pop, self._path)
            undo.callback(file.unlink, missing_ok=True)
            replace_file(file, json.dumps(holder).encode())
            self._releases = undo.pop_all()

    def release(self) -> None:
        """Release the lock; repeating it is allowed."""
        with disk_errors(self._path):
            self._releases.close()


def _locked(path: Path, wait_seconds: float) -> StoreLockedError:
    try:
        values = json.loads(path.with_suffix(_HOLDER_SUFFIX).read_text(encoding="utf-8"))
        pid, host, command, since = (values[key] for key in ("pid", "host", "command", "since"))
        holder = f"process {pid} on {host} ({command}) since {since}"
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        holder = "a process that has not said who it is"
    return StoreLockedError(
        f"{path}: waited {wait_seconds:g} s; the store is held by {holder}. Wait for it to end, "
        "end it, or raise store.lock_seconds"
    )
