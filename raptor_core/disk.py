"""Files that are replaced whole, and locks between processes; errors are the caller's to tell."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``: whole, or not at all; its folder is made where it is missing.

    Raises:
        OSError: the disk refuses; what stood there before is unharmed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{uuid.uuid4().hex}.part")  # others may be writing the same file
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def file_lock(path: Path, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Hold the system's lock of a file; False where another process had it for so many seconds.

    Raises:
        OSError: the disk refuses.
    """
    import filelock

    lock = filelock.FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=wait_seconds)
    except filelock.Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
