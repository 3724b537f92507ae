"""Folder of an embedded store: its files, and how it is opened.

    <root>/<corpus>.json              names the live collection and its identity: the alias
    <root>/<corpus>.lock              held while a process has the store open
    <root>/<corpus>.holder.json       who holds it
    <root>/<corpus>-<embedder>/       one collection
        identity.json                 the same identity: the collection explains itself
        engine/                       the files of Qdrant Edge

A collection is built as ``.part`` and renamed when it is complete. Names in these files are
checked (``corpus.py``), since they become folders that are opened and removed.
"""

import json
import os
import shutil
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from raptor_core.disk import check_space, disk_errors, sync_directory, write_durably
from raptor_core.errors import StoreError
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
from raptor_core.store.locking import StoreLock
from raptor_core.store.store import VectorStore

if TYPE_CHECKING:
    from raptor_core.store.engines.edge import EdgeEngine

SCHEMA = 3
"""Version of payloads and layout; another one is refused, and an export carries trees over."""


class StoreFolder(CorpusCollections):
    """Files of one corpus under ``root``."""

    def __init__(self, root: Path, settings: StoreSettings) -> None:
        self.root = root
        self.name = settings.corpus
        self._wait_seconds = settings.lock_seconds
        self._alias_path = root / f"{self.name}.json"
        self._lock_path = root / f"{self.name}.lock"
        self.where = str(self._alias_path)

    def open(self, identity: StoreIdentity | None, *, successor: bool) -> VectorStore:
        """Open lock, alias and engine, in this order; see ``CorpusCollections``."""
        if find_spec("qdrant_edge") is None:
            raise StoreError(
                'Qdrant Edge has no wheel for this machine; set store.kind to "server" and '
                "store.url to a Qdrant server"
            )
        if self.root.is_dir() and not os.access(self.root, os.W_OK):
            raise StoreError(
                f"{self.root}: this process may only read it, and an embedded store is opened to "
                "write. Let this user write it, copy the home to a folder that can be written, or "
                "keep the store on a Qdrant server (store.url)"
            )
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
            engine = _opened(place / "engine", _move_away(place, *named))
            undo.pop_all()
        promote = None if is_live else partial(self.promote, chosen)
        return VectorStore(engine, chosen.identity, lock.release, promote)

    def live(self) -> Collection | None:
        """See ``CorpusCollections``."""
        return self._read(self._alias_path, self._alias_path)

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
        new = Collection(collection_name(identity), identity)
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
        return self._read(place / "identity.json", place, *aliases)

    def _read(self, path: Path, *damaged: Path) -> Collection | None:
        """Return the collection of a file, if any; ``damaged`` are the paths to move away."""
        remedy = f"restore it, or {_move_away(*damaged)}"
        with disk_errors(path):
            if not path.exists():
                return None
            data = path.read_bytes()
        try:
            stored = json.loads(data)
        except ValueError as error:
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
            from raptor_core.store.engines.edge import create_shard

            create_shard(part / "engine", collection.identity.n_dims)
            write_durably(part / "identity.json", _encoded(collection))
            part.replace(place)
            sync_directory(self.root)

    def point(self, collection: Collection) -> None:
        """See ``CorpusCollections``."""
        write_durably(self._alias_path, _encoded(collection))

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


def _opened(files: Path, remedy: str) -> "EdgeEngine":
    """Open the engine over its files; ``remedy`` ends messages about their damage."""
    if not files.is_dir():
        raise StoreError(
            f"{files} of the collection {files.parent.name} is missing; restore it, or {remedy}"
        )
    from raptor_core.store.engines.edge import EdgeEngine

    return EdgeEngine(files, remedy)


def _move_away(*paths: Path) -> str:
    """Return the remedy for a damaged collection, or for the file that names it."""
    return f"move {' and '.join(map(str, paths))} away and build again"


def _encoded(collection: Collection) -> bytes:
    return json.dumps(record_of(collection, SCHEMA), indent=1).encode()
