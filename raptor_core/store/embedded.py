"""Opening a store in a directory: lock, alias, engine, journal, in this order."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.copied import copy_to_read, is_read_only, refuse_writing
from raptor_core.store.engine import Engine
from raptor_core.store.home import Alias, Home, check_identity, may_stand_beside
from raptor_core.store.journal import Journal
from raptor_core.store.locking import StoreLock
from raptor_core.store.store import VectorStore


def open_embedded(
    settings: StoreSettings, root: Path, identity: StoreIdentity | None, *, beside: bool
) -> VectorStore:
    """Open, or make, the corpus under ``root``; see ``open_store``.

    A publication that a dead process left unfinished is completed before the store is returned.
    """
    home = Home(root, settings.corpus)
    if is_read_only(root):
        return _open_copy(home, settings, identity)
    if identity is None:
        _existing(home)
    else:
        home.make_root()
    lock = StoreLock(home.lock_path, settings.lock_seconds)
    lock.acquire()
    with ExitStack() as undo:
        undo.callback(lock.release)
        live = _live(home, settings.kind, identity)
        alias = _chosen(home, live, identity, beside=beside)
        engine = _open_engine(home, alias)
        undo.callback(engine.close)
        journal = Journal(home.journal_path(alias), engine)
        journal.recover()
        undo.pop_all()
    promote = None if alias == live else partial(home.promote, alias)
    return VectorStore(engine, alias.identity, journal.commit, lock.release, promote)


def _open_copy(home: Home, settings: StoreSettings, identity: StoreIdentity | None) -> VectorStore:
    """The corpus to read, where it cannot be written; see ``copied.py``."""
    alias = _of_kind(home, _existing(home), settings.kind)
    check_identity(alias.identity, identity, str(home.alias_path))
    place = copy_to_read(home, alias, settings.lock_seconds)
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, place, ignore_errors=True)
        engine = _opened(alias, place)
        remove = undo.pop_all().close
    return VectorStore(engine, alias.identity, refuse_writing, remove)


def _existing(home: Home) -> Alias:
    alias = home.alias()
    if alias is None:
        raise StoreError(f"{home.root} holds no corpus {home.corpus!r} yet; build it first")
    return alias


def _live(home: Home, kind: str, identity: StoreIdentity | None) -> Alias:
    if identity is None or home.alias() is not None:
        alias = home.remove_retired(_existing(home))
    else:
        engine = _default_engine() if kind == "auto" else kind
        alias = home.point(_collection(home, engine, identity))
    return _of_kind(home, alias, kind)


def _of_kind(home: Home, alias: Alias, kind: str) -> Alias:
    if kind not in ("auto", alias.engine):
        raise StoreMismatchError(
            f'{home.alias_path} was made with engine "{alias.engine}"; the settings ask for '
            f'"{kind}". Set store.kind to "{alias.engine}" or "auto", or choose another home or '
            "corpus name"
        )
    return alias


def _chosen(home: Home, live: Alias, identity: StoreIdentity | None, *, beside: bool) -> Alias:
    if identity is not None and beside and may_stand_beside(live.identity, identity):
        return _collection(home, live.engine, identity)
    check_identity(live.identity, identity, str(home.alias_path))
    return live


def _collection(home: Home, engine: str, identity: StoreIdentity) -> Alias:
    return home.create(identity, engine, lambda path: _create(engine, path, identity.n_dims))


def _default_engine() -> str:
    return "edge" if find_spec("qdrant_edge") is not None else "local"


def _create(engine: str, path: Path, n_dims: int) -> None:
    if engine == "edge":
        from raptor_core.store.edge import create_shard

        create_shard(path, n_dims)
    else:
        from raptor_core.store.local import open_local

        open_local(path, n_dims).close()


def _open_engine(home: Home, alias: Alias) -> Engine:
    path = home.engine_path(alias)
    if not path.is_dir():
        raise StoreError(
            f"{home.alias_path} names the collection {alias.collection}, and {path} is missing; "
            "restore it, or remove the file and build again"
        )
    return _opened(alias, path)


def _opened(alias: Alias, path: Path) -> Engine:
    if alias.engine == "edge":
        from raptor_core.store.edge import EdgeEngine

        return EdgeEngine(path)
    from raptor_core.store.local import open_local

    return open_local(path)
