"""Where an embedded store lies, and what it was made for.

    <root>/<corpus>.json              names the live collection and its identity: the alias
    <root>/<corpus>.lock              held while a process has the store open
    <root>/<corpus>.holder.json       who holds it
    <root>/<corpus>-<embedder>/       one collection
        identity.json                 the same identity: the collection explains itself
        journal                       only while a publication is under way
        engine/                       the engine's own files

A collection is built under another name and renamed when it is whole. The first one gets the
alias; one for another embedder is built beside, and readers keep the live one. Promoting it is one
durable write of the alias, which also names what is retired by it; that is removed then, or, after
a crash, by whoever opens the corpus next.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.identity import digest
from raptor_core.store.base import StoreIdentity
from raptor_core.store.files import (
    OUTLINES,
    check_space,
    disk_errors,
    sync_directory,
    write_durably,
)

SCHEMA = 2
"""Version of payloads and layout; another one is refused, and an export carries trees over."""

_PASSING = (".lock", ".holder.json", ".part", OUTLINES)
"""Files that come and go with every opening, and one that a reader may write."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Content of ``<corpus>.json``. ``retired`` are collections that remain to be removed."""

    engine: str
    collection: str
    identity: StoreIdentity
    retired: tuple[str, ...] = ()


def collection_name(identity: StoreIdentity) -> str:
    """Corpus and a short form of the embedder's fingerprint."""
    short = re.sub(r"[^A-Za-z0-9]", "", identity.embedder_fingerprint)[:8]
    return f"{identity.corpus}-{short}"


def is_collection_of(name: str, corpus: str) -> bool:
    """Whether a collection's name is one of this corpus, and not of one whose name begins alike."""
    return name.rpartition("-")[0] == corpus


def check_schema(schema: int, where: str, expected: int = SCHEMA) -> None:
    """Refuse payloads and layout of another version than ``expected``.

    Raises:
        StoreMismatchError: naming both versions and the remedy.
    """
    if schema == expected:
        return
    if isinstance(schema, int) and schema > expected:
        remedy = "Use the version that wrote it, or a newer one"
    else:
        remedy = (
            "Export it with the version that wrote it (raptor export) and import it with this one "
            "into another home or corpus name; or build into one from the source"
        )
    raise StoreMismatchError(
        f"{where} has store schema {schema}; this version reads schema {expected}. {remedy}. "
        "Nothing was changed"
    )


def check_identity(stored: StoreIdentity, wanted: StoreIdentity | None, where: str) -> None:
    """Refuse another embedder or dimension than the store was made for.

    Raises:
        StoreMismatchError: naming both sides and the remedy.
    """
    if wanted is not None and wanted != stored:
        raise StoreMismatchError(
            f"{where} was made for {_describe(stored)}; the settings ask for "
            f"{_describe(wanted)}. Set the embedder back, build everything with the new one (the "
            "corpus switches to it at the end), or choose another home (--home) or corpus name "
            "(store.corpus)"
        )


def may_stand_beside(live: StoreIdentity, wanted: StoreIdentity | None) -> bool:
    """Whether ``wanted`` is the same corpus with another embedder."""
    return (
        wanted is not None
        and wanted.corpus == live.corpus
        and wanted.embedder_fingerprint != live.embedder_fingerprint
    )


def _describe(identity: StoreIdentity) -> str:
    return (
        f"corpus {identity.corpus!r}, embedder {identity.embedder_model} "
        f"(fingerprint {identity.embedder_fingerprint[:8]}, {identity.n_dims} dimensions)"
    )


class Home:
    """The files of one corpus under ``root``."""

    def __init__(self, root: Path, corpus: str) -> None:
        self.root = root
        self.corpus = corpus

    @property
    def alias_path(self) -> Path:
        """File that names the live collection."""
        return self.root / f"{self.corpus}.json"

    @property
    def lock_path(self) -> Path:
        """File that is locked while the store is open."""
        return self.root / f"{self.corpus}.lock"

    def engine_path(self, alias: Alias) -> Path:
        """Directory of the engine's own files."""
        return self.root / alias.collection / "engine"

    def journal_path(self, alias: Alias) -> Path:
        """Journal of a publication under way."""
        return self.root / alias.collection / "journal"

    def alias(self) -> Alias | None:
        """What is live; None where nothing was ever made.

        Raises:
            StoreError: the file is not ours, or damaged.
        """
        return _read_alias(self.alias_path)

    def make_root(self) -> None:
        """Create the directory.

        Raises:
            StoreError: something else is there, or the disk refuses.
        """
        with disk_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)

    def create(self, identity: StoreIdentity, engine: str, build: Callable[[Path], None]) -> Alias:
        """The collection of an identity, made with ``build`` where it is new.

        One that is there is taken over, because it is whole.
        """
        alias = Alias(engine, collection_name(identity), identity)
        check_space(self.root, 0)
        place = self.root / alias.collection
        left = _read_alias(place / "identity.json")
        if left is not None:
            check_identity(left.identity, identity, str(place))
            alias = left
        else:
            self._build(place, alias, build)
        return alias

    def collections(self) -> list[Alias]:
        """All collections of the corpus, the live one first; none without a live one."""
        live = self.alias()
        if live is None:
            return []
        found = [live]
        for path in sorted(self.root.glob(f"{self.corpus}-*/identity.json")):
            name = path.parent.name
            if path.parent.suffix == ".part" or not is_collection_of(name, self.corpus):
                continue
            alias = _read_alias(path)
            if alias and alias.collection not in (live.collection, *live.retired):
                found.append(alias)
        return found

    def point(self, alias: Alias) -> Alias:
        """Make a collection the live one, durably."""
        write_durably(self.alias_path, _encode_alias(alias))
        return alias

    def promote(self, alias: Alias) -> None:
        """Make a collection the live one, durably, and remove the others of the corpus."""
        known = self.collections()
        names = [name for other in known for name in (other.collection, *other.retired)]
        retired = tuple(name for name in names if name != alias.collection)
        self.remove_retired(self.point(replace(alias, retired=retired)))

    def remove_retired(self, alias: Alias) -> Alias:
        """Remove what the live collection replaced; again is allowed. The alias without it."""
        if not alias.retired:
            return alias
        for name in alias.retired:
            place = self.root / name
            with disk_errors(place):
                if place.exists():
                    shutil.rmtree(place)
        return self.point(replace(alias, retired=()))

    def _build(self, place: Path, alias: Alias, build: Callable[[Path], None]) -> None:
        part = place.with_name(f"{place.name}.part")
        with disk_errors(place):
            if place.exists():
                raise StoreError(
                    f"{place} exists and holds no collection of ours; move it away, or choose "
                    "another home or corpus name"
                )
            shutil.rmtree(part, ignore_errors=True)
            (part / "engine").mkdir(parents=True)
            build(part / "engine")
            write_durably(part / "identity.json", _encode_alias(alias))
            part.replace(place)
            sync_directory(self.root)


def _encode_alias(alias: Alias) -> bytes:
    return json.dumps({"schema": SCHEMA, **asdict(alias)}, indent=1).encode()


def _read_alias(path: Path) -> Alias | None:
    try:
        with disk_errors(path):
            data = path.read_bytes() if path.exists() else None
        if data is None:
            return None
        stored = json.loads(data)
        check_schema(stored["schema"], str(path))
        identity = StoreIdentity(**stored["identity"])
        retired = tuple(stored.get("retired", ()))
        return Alias(stored["engine"], stored["collection"], identity, retired)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} is damaged or not a file of this program; restore it, or choose another "
            "home or corpus name"
        ) from error


def store_stamp(root: Path, corpus: str) -> str:
    """Digest of the names of a corpus's files, with their sizes and the identity of their folders.

    It differs once a store was lost, replaced, put back from a copy, cut short, or published to.
    Reading changes neither sizes nor folders, though Edge touches its files each time. What was
    written in place at equal sizes goes unnoticed. No lock is taken; some 2 ms for each store.

    Raises:
        StoreError: the disk refuses.
    """
    with disk_errors(root):
        lines = [line for path in sorted(root.glob(f"{corpus}[.-]*")) for line in _lines(path)]
    return digest("store", *lines)


def _lines(path: Path) -> Iterator[str]:
    try:
        found = path.stat()
        if path.is_dir():
            yield f"{path}\0{found.st_ino}"
            for inner in sorted(path.iterdir()):
                yield from _lines(inner)
        elif not path.name.endswith(_PASSING):
            yield f"{path}\0{found.st_size}"
    except FileNotFoundError:  # a build is at it; the next stamp tells
        return
