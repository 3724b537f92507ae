"""Reading an embedded store where this process may not write: a read-only disk, another's folder.

Engines map their files to be written, so they open none there. A reader takes a copy, made in the
folder for temporary files while nobody writes the original, and removed when the store is closed.
It takes the time of copying the engine's files, each time that the store is opened.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from raptor_core.errors import StoreError
from raptor_core.store.base import StoreIdentity
from raptor_core.store.engine import Batch
from raptor_core.store.files import check_space, disk_errors
from raptor_core.store.home import Alias, Home, check_identity
from raptor_core.store.locking import nobody_writes

_COPIED_BYTES = 2**20


def is_read_only(root: Path) -> bool:
    """Whether this process may not write to a folder that is there."""
    return root.is_dir() and not os.access(root, os.W_OK)


def copy_to_read(
    home: Home, alias: Alias, identity: StoreIdentity | None, wait_seconds: float
) -> Path:
    """Copy an engine's files; the new folder, which is the caller's to remove.

    Raises:
        StoreError: a publication was broken off, or there is no room for the copy.
        StoreLockedError: another process had the store open for ``wait_seconds``.
        StoreMismatchError: it was made for another identity.
    """
    check_identity(alias.identity, identity, str(home.alias_path))
    place = Path(tempfile.mkdtemp(prefix="raptor-read-"))
    source = home.engine_path(alias)
    try:
        with nobody_writes(home.lock_path, wait_seconds), disk_errors(place):
            _refuse_journal(home.journal_path(alias))
            check_space(place, _size(source))
            copy = place / "engine"
            shutil.copytree(source, copy, copy_function=_copy)
            for path in (copy, *copy.rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return place


def _size(folder: Path) -> int:
    """Bytes that the files of a folder take on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _copy(source: str, target: str) -> None:
    """Copy a file without its holes, of which an engine's files mostly consist at first."""
    with Path(source).open("rb", buffering=0) as given, Path(target).open("wb") as taken:
        n_bytes = taken.truncate(os.fstat(given.fileno()).st_size)
        at = 0
        while at < n_bytes:
            try:
                at = os.lseek(given.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # no data is left
                    raise
                return
            end = os.lseek(given.fileno(), at, os.SEEK_HOLE)
            given.seek(at)
            taken.seek(at)
            while at < end and (part := given.read(min(_COPIED_BYTES, end - at))):
                taken.write(part)
                at += len(part)


def _refuse_journal(path: Path) -> None:
    if path.exists():
        raise StoreError(
            f"{path}: a publication was broken off here, and this process may not write what "
            "completes it; open the store once (raptor status) where it can be written"
        )


def refuse_writing(batch: Batch) -> None:
    """What commits to a copy, where it would be lost.

    Raises:
        StoreError: always.
    """
    raise StoreError(
        f"{len(batch.upserts) + len(batch.deletes)} points cannot be written: the store lies "
        "where this process may only read; make it writable for this user, and repeat"
    )
