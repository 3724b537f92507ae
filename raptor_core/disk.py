"""Atomic replacement of files, locks between processes, and free space on the disk.

Functions whose docstring names StoreError turn system errors into it; the others raise OSError.
Files on other storages are in ``filesystems``.
"""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raptor_core.errors import StoreError

SPARE_BYTES = 64 * 2**20
"""Space that stays free. If a memory-mapped page finds none, the engine kills the process."""


def replace_file(path: Path, data: bytes, part: Path | None = None) -> None:
    """Write ``data`` to ``path`` completely or not at all; create its folder if needed.

    ``part`` is the temporary file. By default its name is random, so that several processes may
    write ``path`` at the same time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part or path.with_name(f".{uuid.uuid4().hex}.part")
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
    """Lock a file; yield False if another process keeps the lock for ``wait_seconds``.

    Raises:
        OSError: the disk has no working locks, see ``require_exclusive_locks``.
    """
    import filelock

    lock = filelock.FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=wait_seconds)
    except filelock.Timeout:
        yield False
        return
    try:
        require_exclusive_locks(path)
        yield True
    finally:
        lock.release()


def require_exclusive_locks(path: Path) -> None:
    """Raise OSError if the disk grants the same lock twice.

    Some network folders grant every lock, so that two processes destroy each other's files.
    ``path`` is a file that this process has locked.
    """
    if os.name != "posix":
        return
    import fcntl

    with path.open("rb") as second:
        try:
            fcntl.flock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return
    raise OSError(errno.ENOLCK, "this disk grants the same lock twice", str(path))


_REMEDIES = {
    "free space": (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    "let this user read and write it": (errno.EACCES, errno.EPERM, errno.EROFS),
    "restore it, or mount its disk": (errno.ENOENT, errno.ENODEV, errno.ENXIO),
    "choose a place with a shorter path": (errno.ENAMETOOLONG,),
    "move away what is in its place": (
        *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP),
    ),
    "allow more open files (`ulimit -n`)": (errno.EMFILE, errno.ENFILE),
    "choose a folder on a disk of this machine, or mount the share with locks (docs/stores.md, "
    "*Which disks serve*)": (errno.ENOLCK, errno.ENOTSUP),
    "check the disk, or the server of the share": (errno.EIO, errno.ESTALE, errno.ETIMEDOUT),
}


def os_error_remedy(error: OSError) -> str:
    """Return an instruction that tells a person how to resolve a system error."""
    if isinstance(error, ConnectionError | TimeoutError):
        return "check the address and the network"
    remedies = (remedy for remedy, codes in _REMEDIES.items() if error.errno in codes)
    return next(remedies, "free space, or let this user read and write it")


@contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a StoreError that names ``path`` and the remedy."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror or error}; {os_error_remedy(error)}, then repeat the "
            "command. What was published is unchanged"
        ) from error


def write_durably(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` and sync the folder; only one process may write at a time.

    Raises:
        StoreError: the disk failed.
    """
    with translate_disk_errors(path):
        replace_file(path, data, path.with_name(f"{path.name}.part"))
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make renames and deletions in a directory durable on POSIX systems."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_free_space(path: Path, n_bytes: int) -> None:
    """Raise StoreError if fewer than ``n_bytes`` plus ``SPARE_BYTES`` are free."""
    with translate_disk_errors(path):
        free = shutil.disk_usage(path).free
    if free < n_bytes + SPARE_BYTES:
        needed = (n_bytes + SPARE_BYTES) / 2**20
        raise StoreError(
            f"{path}: {free / 2**20:.0f} MB are free, but {needed:.0f} MB are needed; free space "
            "and repeat the command. Nothing was changed"
        )
