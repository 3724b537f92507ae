"""Folder of an embedded store: its files, and how it is opened.

    <root>/<corpus>.json              names the live collection and its identity: the alias
    <root>/<corpus>.lock              held while a process has the store open
    <root>/<corpus>.holder.json       who holds it
    <root>/meta.json, .lock           tell qdrant-client in local mode where the collection is
    <root>/<corpus>-<embedder>/       one collection
        identity.json                 the same identity: the collection explains itself
        journal                       only while a publication is under way
        engine/                       the engine's own files

A collection is built as ``.part`` and renamed when it is complete. Names in these files are
checked (``corpus.py``), and links are refused: a home may come from elsewhere.
"""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NoReturn

from raptor_core.disk import check_space, disk_errors, sync_directory, write_durably
from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.identity import digest
from raptor_core.layout import STORE_NOTICE
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.corpus import (
    Collection,
    CorpusCollections,
    check_identity,
    collection_name,
    is_collection_of,
    read_collection,
    record_of,
)
from raptor_core.store.engines.base import Batch, Engine
from raptor_core.store.journal import Journal
from raptor_core.store.locking import StoreLock, nobody_writes
from raptor_core.store.outlines import OUTLINES
from raptor_core.store.store import VectorStore

SCHEMA = 2
"""Version of payloads and layout; another one is refused, and an export carries trees over."""

_UNSTAMPED = (".lock", ".holder.json", ".part", OUTLINES)
"""Files that every opening makes and removes, and one that a reader may write."""

_COPIED_BYTES = 2**16
_PLAIN = (stat.S_IFREG, stat.S_IFDIR)


class StoreFolder(CorpusCollections):
    """Files of one corpus under ``root``; ``settings.kind`` names the engine."""

    def __init__(self, root: Path, settings: StoreSettings) -> None:
        self.root = root
        self.name = settings.corpus
        self._kind = settings.kind
        self._wait_seconds = settings.lock_seconds
        self._alias_path = root / f"{self.name}.json"
        self._lock_path = root / f"{self.name}.lock"
        self.where = str(self._alias_path)

    def open(self, identity: StoreIdentity | None, *, successor: bool) -> VectorStore:
        """Open lock, alias, engine and journal, in this order; see ``CorpusCollections``.

        A publication that a dead process did not finish is completed first.
        """
        if self.root.is_dir() and not os.access(self.root, os.W_OK):
            return self._open_copy(identity)
        if identity is None:
            self.existing()
        with disk_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
        lock = StoreLock(self._lock_path, self._wait_seconds)
        lock.acquire()
        with ExitStack() as undo:
            undo.callback(lock.release)
            chosen, is_live = self.choose(identity, successor=successor)
            place = self.root / chosen.name
            named = [self._alias_path] if is_live else []
            engine = _opened(chosen, place / "engine", _move_away(place, *named))
            undo.callback(engine.close)
            journal = Journal(place / "journal", engine)
            journal.recover()
            undo.pop_all()
        promote = None if is_live else partial(self.promote, chosen)
        return VectorStore(engine, chosen.identity, journal.commit, lock.release, promote)

    def _open_copy(self, identity: StoreIdentity | None) -> VectorStore:
        """Open a temporary copy of the live collection, where the original cannot be written.

        Engines only open files to write. A lock keeps writers out while it is made.
        """
        live = self.existing()
        check_identity(live.identity, identity, self.where)
        source, journal = self.root / live.name / "engine", self.root / live.name / "journal"
        folder = tempfile.TemporaryDirectory(prefix="raptor-read-", ignore_cleanup_errors=True)
        with ExitStack() as undo:
            copy = Path(undo.enter_context(folder)) / "engine"
            remedy = _move_away(source.parent, self._alias_path)
            _check_files(source, remedy)
            with nobody_writes(self._lock_path, self._wait_seconds), disk_errors(copy):
                if journal.exists():
                    raise StoreError(
                        f"{journal}: a publication was broken off here, and this process may not "
                        "write what completes it; open the store once (raptor status) where it can "
                        "be written"
                    )
                check_space(copy.parent, sum(p.stat().st_blocks * 512 for p in source.rglob("*")))
                shutil.copytree(source, copy, copy_function=_copy)
            engine = _opened(live, copy, remedy)
            remove = undo.pop_all().close
        return VectorStore(engine, live.identity, _refuse, remove)

    def live(self) -> Collection | None:
        """See ``CorpusCollections``; StoreMismatchError names an engine of another kind."""
        live = self._read(self._alias_path, self._alias_path)
        if live and self._kind not in ("auto", live.engine):
            raise StoreMismatchError(
                f'{self.where} was made with engine "{live.engine}"; the settings ask for '
                f'"{self._kind}". Set store.kind to "{live.engine}" or "auto", or choose another '
                "home or corpus name"
            )
        return live

    def successors(self, live: Collection) -> list[Collection]:
        """See ``CorpusCollections``."""
        folders = [path.parent for path in self.root.glob(f"{self.name}-*/identity.json")]
        names = sorted(f.name for f in folders if is_collection_of(f.name, self.name))
        aliases = {live.name: (self._alias_path,)}
        collections = [self._stored(name, *aliases.get(name, ())) for name in names]
        known = (live.name, *live.retired)
        return [c for c in collections if c and c.name not in known]

    def make(self, identity: StoreIdentity) -> Collection:
        """Make a collection, or take over an existing one; see ``CorpusCollections``."""
        live = self.live()
        engine = live.engine if live else self._kind
        if engine == "auto":
            engine = "edge" if find_spec("qdrant_edge") is not None else "local"
        new = Collection(collection_name(identity), identity, engine=engine)
        check_space(self.root, 0)
        stored = self._stored(new.name)
        if stored is not None:
            check_identity(stored.identity, identity, str(self.root / new.name))
            return stored
        self._build(self.root / new.name, new)
        return new

    def _stored(self, name: str, *aliases: Path) -> Collection | None:
        """Return the collection that a folder's own file describes; ``aliases`` name it."""
        place = self.root / name
        collection = self._read(place / "identity.json", place, *aliases)
        if collection and collection.name != name:
            raise StoreError(f"{place} says that it is {collection.name!r}; {_move_away(place)}")
        return collection

    def _read(self, path: Path, *damaged: Path) -> Collection | None:
        """Return the collection of a file, if any; ``damaged`` are the paths to move away."""
        remedy = f"restore it, or {_move_away(*damaged)}"
        with disk_errors(path):
            if not path.exists():
                return None
            # A pipe or a device would be read for ever.
            data = path.read_bytes() if path.is_file() else b""
        try:
            stored = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{path} is damaged or not of this program; {remedy}") from error
        return read_collection(stored, self.name, SCHEMA, str(path), remedy)

    def _build(self, place: Path, collection: Collection) -> None:
        part = place.with_name(f"{place.name}.part")
        with disk_errors(place):
            if place.exists():
                raise StoreError(
                    f"{place} exists and holds no collection of this program; move it away, "
                    "or choose another home or corpus name"
                )
            _remove(part)
            (part / "engine").mkdir(parents=True)
            if collection.engine == "edge":
                from raptor_core.store.engines.edge import create_shard

                create_shard(part / "engine", collection.identity.n_dims)
            else:
                from raptor_core.store.engines.qdrant import open_local

                open_local(part / "engine", collection.identity.n_dims).close()
            write_durably(part / "identity.json", _encoded(collection))
            part.replace(place)
            sync_directory(self.root)

    def point(self, collection: Collection) -> None:
        """See ``CorpusCollections``."""
        write_durably(self._alias_path, _encoded(collection))
        if self.name != "meta":  # whose own file that is
            self._tell_clients(collection)

    def _tell_clients(self, collection: Collection) -> None:
        """Leave an alias that names the collection's place, for a ``QdrantClient`` on the root.

        The client would find nothing there, make files, and say that there is no collection.
        """
        place = f"{collection.name}/engine"
        notice = f"the collection is in {place}, of the kind {collection.engine}; {STORE_NOTICE}"
        meta = {"collections": {}, "aliases": {self.name: notice}}
        write_durably(self.root / "meta.json", json.dumps(meta).encode())
        write_durably(self.root / ".lock", b"")

    def remove(self, name: str) -> None:
        """See ``CorpusCollections``."""
        with disk_errors(self.root / name):
            _remove(self.root / name)


def _remove(folder: Path) -> None:
    """Remove a folder; of a link, the link alone."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _opened(collection: Collection, files: Path, remedy: str) -> Engine:
    """Open the engine over its files; ``remedy`` ends messages about their damage."""
    _check_files(files, remedy)
    if collection.engine == "edge":
        from raptor_core.store.engines.edge import EdgeEngine

        return EdgeEngine(files, remedy)
    from raptor_core.store.engines.qdrant import open_local

    return open_local(files, remedy=remedy)


def _move_away(*paths: Path) -> str:
    """Return the remedy for a damaged collection, or for the file that names it."""
    return f"move {' and '.join(map(str, paths))} away and build again"


def _check_files(files: Path, remedy: str) -> None:
    """Raise StoreError for a collection without its engine's ``files``, or with symbolic links."""
    place = files.parent
    inside = (Path(at, name) for at, *names in os.walk(place) for name in chain(*names))
    foreign = next((path for path in (place, *inside) if _is_foreign(path)), None)
    if foreign is not None:
        kind = "a symbolic link" if foreign.is_symlink() else "no file"
        raise StoreError(
            f"{foreign} is {kind}; a collection holds folders and files alone, since what is "
            f"written would follow a link. Put a copy of its target there, or {remedy}"
        )
    if not files.is_dir():
        raise StoreError(
            f"{files} of the collection {place.name} is missing; restore it, or {remedy}"
        )


def _is_foreign(path: Path) -> bool:
    """Return whether a path is a link, a pipe, a device or a socket."""
    return os.path.lexists(path) and stat.S_IFMT(path.lstat().st_mode) not in _PLAIN


def _copy(source: str, target: str) -> None:
    """Copy a file with holes for its zeros: an engine's files consist mostly of them at first."""
    with Path(source).open("rb") as original, Path(target).open("wb") as copy:
        while part := original.read(_COPIED_BYTES):
            if part.strip(b"\0"):
                copy.write(part)
            else:
                copy.seek(len(part), os.SEEK_CUR)
        copy.truncate()


def _refuse(batch: Batch) -> NoReturn:
    """Refuse a commit to a copy, where it would be lost."""
    raise StoreError(
        f"{len(batch.upserts) + len(batch.deletes)} points cannot be written: the store lies "
        "where this process may only read; make it writable for this user, and repeat"
    )


def _encoded(collection: Collection) -> bytes:
    return json.dumps(record_of(collection, SCHEMA), indent=1).encode()


def store_stamp(root: Path, corpus: str) -> str:
    """Return a digest of the names and sizes of a corpus's files, and of their folders' identity.

    It differs once a store was lost, replaced, restored from a copy, cut short, or published to.
    Reading does not change it, nor does a write of equal size over a file. No lock is taken.
    """
    with disk_errors(root):
        lines = [line for path in sorted(root.glob(f"{corpus}[.-]*")) for line in _lines(path)]
    return digest("store", *lines)


def _lines(path: Path) -> Iterator[str]:
    try:
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            yield f"{path}\0{status.st_ino}"
            for inner in sorted(path.iterdir()):
                yield from _lines(inner)
        elif not path.name.endswith(_UNSTAMPED):
            yield f"{path}\0{status.st_size}"
    except FileNotFoundError:  # a build removes it now; the next stamp differs
        return
