"""Reading an embedded store where this process may not write: a read-only disk, another's folder.

Engines map their files to be written, so they open none there. A reader takes a copy, made in the
folder for temporary files while nobody writes the original, and removed when the store is closed.
It takes the time of copying the engine's files, each time that the store is opened.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from raptor_core.errors import StoreError
from raptor_core.store.engine import Batch
from raptor_core.store.files import check_space, disk_errors
from raptor_core.store.home import Alias, Home
from raptor_core.store.locking import nobody_writes

_COPIED_BYTES = 2**16


def is_read_only(root: Path) -> bool:
    """Whether this process may not write to a folder that is there."""
    return root.is_dir() and not os.access(root, os.W_OK)


def copy_to_read(home: Home, alias: Alias, wait_seconds: float) -> Path:
    """Copy an engine's files; the new folder, which is the caller's to remove.

    Raises:
        StoreError: a publication was broken off, or there is no room for the copy.
        StoreLockedError: another process had the store open for ``wait_seconds``.
    """
    place = Path(tempfile.mkdtemp(prefix="raptor-read-"))
    try:
        with nobody_writes(home.lock_path, wait_seconds), disk_errors(place):
            _refuse_journal(home.journal_path(alias))
            source = home.engine_path(alias)
            files = [path for path in source.rglob("*") if path.is_file()]
            check_space(place, sum(path.stat().st_blocks * 512 for path in files))
            for path in files:
                _copy(path, place / path.relative_to(source))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return place


def _refuse_journal(path: Path) -> None:
    if path.exists():
        raise StoreError(
            f"{path}: a publication was broken off here, and this process may not write what "
            "completes it; open the store once (raptor status) where it can be written"
        )


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


def refuse_writing(batch: Batch) -> None:
    """What commits to a copy, where it would be lost.

    Raises:
        StoreError: always.
    """
    raise StoreError(
        f"{len(batch.upserts) + len(batch.deletes)} points cannot be written: the store lies "
        "where this process may only read; make it writable for this user, and repeat"
    )
