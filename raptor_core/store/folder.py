"""Folder of an embedded store: its files, and how it is opened.

    <root>/<corpus>.lock      locked while a process has the store open
    <root>/<corpus>.holder    which process that is, only for messages
    <root>/<corpus>/          the collection
        identity.json         its record, see collection.py
        engine.<embedder>/    the files of Qdrant Edge

Vectors of another embedder are written beside the first, and replacing ``identity.json`` switches
all readers. A collection is created as ``.part`` and renamed when it is complete. The lock belongs
to the operating system, so it ends with its process. Opening a store twice in one process waits,
too.
"""

import json
import os
import shutil
import socket
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from raptor_core.disk import (
    check_free_space,
    file_lock,
    replace_file,
    sync_directory,
    translate_disk_errors,
    write_durably,
)
from raptor_core.errors import StoreError, StoreLockedError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.collection import CollectionRecord, nothing_built_error
from raptor_core.store.store import VectorStore


def open_folder(
    root: Path,
    settings: StoreSettings,
    identity: StoreIdentity | None,
    *,
    is_temporary: bool = False,
) -> VectorStore:
    """Open the corpus of the settings under ``root``, see ``open_store``.

    A temporary root is deleted when the store is closed, or no longer used.
    """
    place = root / settings.corpus
    _check_machine(root)
    if identity is None and not place.exists():
        raise nothing_built_error(str(place))
    with translate_disk_errors(root):
        root.mkdir(parents=True, exist_ok=True)
    release = _lock(root / f"{settings.corpus}.lock", settings.lock_seconds)
    with ExitStack() as undo:
        if is_temporary:
            undo.callback(shutil.rmtree, root, ignore_errors=True)
        undo.callback(release)
        if identity is not None and not place.exists():
            _make_collection(place, CollectionRecord(identity))
        stored = read_folder_record(root, settings.corpus)
        if stored is None:
            raise StoreError(f"{place} is not a collection of this program; {_remedy(place)}")
        stored.check_owner_and_identity(identity, None, str(place))
        files = _points_folder(place, stored.identity)
        if not files.is_dir():
            raise StoreError(f"{files} is missing; restore it, or {_remedy(place)}")
        from raptor_core.store.engines.edge import EdgeEngine

        engine = EdgeEngine(files, _remedy(place))
        if is_temporary:  # a view for a caller shares the engine
            weakref.finalize(engine, shutil.rmtree, root, ignore_errors=True)
        close = undo.pop_all().close
    return VectorStore(engine, stored.identity, close)


@contextmanager
def open_replacement_folder(
    root: Path, settings: StoreSettings, identity: StoreIdentity
) -> Iterator[VectorStore]:
    """Open an empty store beside the stored one; at the end it takes the place of that one."""
    from raptor_core.store.engines.edge import EdgeEngine, create_shard

    place = root / settings.corpus
    files = _points_folder(place, identity)
    check_free_space(place, 0)
    with translate_disk_errors(files):
        shutil.rmtree(files, ignore_errors=True)  # of a process that died
        files.mkdir()
        create_shard(files, identity.n_dims)
    with VectorStore(EdgeEngine(files, _remedy(place)), identity, lambda: None) as store:
        yield store
    release = _lock(root / f"{settings.corpus}.lock", settings.lock_seconds)
    try:
        _write_record(place, CollectionRecord(identity))
        for other in set(place.glob("engine.*")) - {files}:
            shutil.rmtree(other, ignore_errors=True)
    finally:
        release()


def _points_folder(place: Path, identity: StoreIdentity) -> Path:
    """Return the folder of the points of an embedder."""
    return place / f"engine.{identity.embedder_fingerprint[:8]}"


def _write_record(place: Path, collection: CollectionRecord) -> None:
    record = json.dumps(collection.to_record(), indent=1).encode()
    write_durably(place / "identity.json", record)


def read_folder_record(root: Path, corpus: str) -> CollectionRecord | None:
    """Return the record of a corpus, if it exists, without locking or opening the store."""
    path = root / corpus / "identity.json"
    remedy = f"restore it, or {_remedy(path.parent)}"
    with translate_disk_errors(path):
        if not path.exists():
            return None
        data = path.read_bytes()
    try:
        record = json.loads(data)
    except ValueError as error:
        raise StoreError(f"{path} is damaged or not from this program; {remedy}") from error
    return CollectionRecord.from_record(record, str(path), remedy)


def _lock(path: Path, wait_seconds: float) -> Callable[[], None]:
    """Take the lock and return its release; raise StoreLockedError after ``wait_seconds``."""
    file = path.with_suffix(".holder")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    command = " ".join(sys.argv)[:200]
    holder = f"process {os.getpid()} on {socket.gethostname()} ({command}) since {now}"
    with translate_disk_errors(path), ExitStack() as undo:
        if not undo.enter_context(file_lock(path, wait_seconds)):
            known = "an unknown process"
            with suppress(OSError):
                known = file.read_text(encoding="utf-8", errors="replace")
            raise StoreLockedError(
                f"{path}: waited {wait_seconds:g} s; the store is in use by {known}. Wait until it "
                "ends, stop it, or raise store.lock_seconds"
            )
        undo.callback(file.unlink, missing_ok=True)
        replace_file(file, holder.encode())
        return undo.pop_all().close


def _check_machine(root: Path) -> None:
    """Raise StoreError if Edge cannot run on this machine or cannot write."""
    if find_spec("qdrant_edge") is None:
        raise StoreError(
            'Qdrant Edge has no wheel for this machine; set store.kind to "server" and '
            "store.url to a Qdrant server"
        )
    if root.is_dir() and not os.access(root, os.W_OK):
        raise StoreError(
            f"{root}: this process cannot write here, but opening an embedded store writes. Grant "
            "this user write access, copy the home to a writable folder, or keep the store "
            "on a Qdrant server (store.url)"
        )


def _make_collection(place: Path, collection: CollectionRecord) -> None:
    """Make an empty collection in the folder ``place``."""
    from raptor_core.store.engines.edge import create_shard

    check_free_space(place.parent, 0)
    part = place.with_name(f"{place.name}.part")
    with translate_disk_errors(place):
        if part.exists():
            shutil.rmtree(part)
        files = _points_folder(part, collection.identity)
        files.mkdir(parents=True)
        create_shard(files, collection.identity.n_dims)
        _write_record(part, collection)
        part.replace(place)
        sync_directory(place.parent)


def _remedy(place: Path) -> str:
    return f"move {place} away and build again"
