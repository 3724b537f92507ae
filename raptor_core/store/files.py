"""Small durable files beside an engine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raptor_core.errors import StoreError

SPARE_BYTES = 64 * 2**20
"""Free space that is never used: an engine maps files ahead, and a mapped page that finds no
space ends the process."""

OUTLINES = "nodes.outlines"
"""Name of the file that is derived from an engine's points (``outlines.py``)."""


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a StoreError that names ``path`` and the remedy."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror or error}; free space, or make the directory writable for "
            "this user, and repeat. What was published stays"
        ) from error


def write_durably(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``: whole and on disk, or not at all.

    Raises:
        StoreError: the disk refuses; the old content stays.
    """
    part = path.with_name(f"{path.name}.part")
    with disk_errors(path):
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make renames and deletions in a directory durable, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_space(path: Path, n_bytes: int) -> None:
    """Refuse a write that the disk has no room for.

    Raises:
        StoreError: less than ``n_bytes`` and a reserve are free.
    """
    with disk_errors(path):
        free = shutil.disk_usage(path).free
    if free < n_bytes + SPARE_BYTES:
        needed = (n_bytes + SPARE_BYTES) / 2**20
        raise StoreError(
            f"{path}: {free / 2**20:.0f} MB are free and {needed:.0f} MB are needed; free space "
            "and repeat. Nothing was changed"
        )
