"""Reading an embedded store where this process may not write: a read-only disk, another's folder.

Engines map their files to be written, so they open none there. A reader takes a copy, made in the
folder for temporary files while nobody writes the original, and removed when the store is closed.
It takes the time of copying the engine's files, each time that the store is opened.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from raptor_core.disk import check_space, disk_errors
from raptor_core.errors import StoreError
from raptor_core.store.engines.base import Batch
from raptor_core.store.locking import nobody_writes

_COPIED_BYTES = 2**16


@contextmanager
def copy_to_read(source: Path, journal: Path, lock: Path, wait_seconds: float) -> Iterator[Path]:
    """A copy of an engine's files, for as long as the context lasts.

    Raises:
        StoreError: a publication was broken off, or there is no room for the copy.
        StoreLockedError: another process had the store open for ``wait_seconds``.
    """
    with tempfile.TemporaryDirectory(prefix="raptor-read-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        with nobody_writes(lock, wait_seconds), disk_errors(place):
            if journal.exists():
                raise StoreError(
                    f"{journal}: a publication was broken off here, and this process may not write "
                    "what completes it; open the store once (raptor status) where it can be written"
                )
            files = [path for path in source.rglob("*") if path.is_file()]
            check_space(place, sum(path.stat().st_blocks * 512 for path in files))
            for path in files:
                _copy(path, place / path.relative_to(source))
        yield place


def _copy(source: Path, target: Path) -> None:
    """Copy a file with holes for its zeros, of which an engine's files mostly consist at first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as given, target.open("wb") as taken:
        while part := given.read(_COPIED_BYTES):
            if part.strip(b"\0"):
                taken.write(part)
            else:
                taken.seek(len(part), os.SEEK_CUR)
        taken.truncate()


def refuse_writing(batch: Batch) -> NoReturn:
    """What commits to a copy, where it would be lost."""
    raise StoreError(
        f"{len(batch.upserts) + len(batch.deletes)} points cannot be written: the store lies "
        "where this process may only read; make it writable for this user, and repeat"
    )
