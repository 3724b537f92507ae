"""Collections of one corpus: the live one, which readers open, and its successors.

Each collection is made for one embedder. Promoting one makes it live in one durable write, which
also names the retired collections. These are removed then, or after a crash by the next process
that opens the corpus to write. ``folder.py`` keeps them in a directory, ``server.py`` on a server.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.identity import digest
from raptor_core.store.base import StoreIdentity

if TYPE_CHECKING:
    from raptor_core.store.store import VectorStore


LEAST_COSINE = 0.95
"""Least cosine of two probes of one model, whose last digits may differ between machines."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Collection, with the identity that it was made for.

    ``retired`` are the collections that it replaced, until they are removed. ``owner`` is the
    name in Dagster of the corpus that builds into it, "" for the raptor command, None if unknown.
    """

    name: str
    identity: StoreIdentity
    retired: tuple[str, ...] = ()
    owner: str | None = None


class CorpusCollections(ABC):
    """Interface to the collections of a corpus in one place, which ``where`` names in messages."""

    where: str
    name: str
    owner: str | None = None
    """Owner that new collections get, and that a live one must have; see ``Collection``."""

    @abstractmethod
    def open(self, identity: StoreIdentity | None, *, successor: bool) -> VectorStore:
        """Open the corpus, or make it where it is new; see ``open_store``."""

    def close(self) -> None:
        """Close the connection; an embedded store has none before ``open``."""
        return

    @abstractmethod
    def live(self) -> Collection | None:
        """Return the live collection; None where none was ever made."""

    @abstractmethod
    def successors(self, live: Collection) -> list[Collection]:
        """Return the complete collections that are not the live one, nor retired."""

    @abstractmethod
    def make(self, identity: StoreIdentity) -> Collection:
        """Return the collection of an identity; make a new one where there is none."""

    @abstractmethod
    def point(self, collection: Collection) -> None:
        """Make a collection the live one, durably, and record what it retires."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a collection; again is allowed."""

    def existing(self) -> Collection:
        """Return the live collection; raise StoreError where nothing was ever made."""
        live = self.live()
        if live is None:
            raise StoreError(f"{self.where} is not there yet; build it first")
        return live

    def identities(self) -> Iterator[StoreIdentity]:
        """Yield the identity of the live collection, then those of its successors."""
        if live := self.live():
            yield live.identity
            yield from (collection.identity for collection in self.successors(live))

    def choose(self, identity: StoreIdentity | None, *, successor: bool) -> tuple[Collection, bool]:
        """Return the collection to open, and whether it is the live one; see ``open_store``."""
        if identity is None:
            return self.existing(), True
        live = self.live()
        if live is None:
            live = self.make(identity)
            self.point(live)
        else:
            check_owner(live, self.owner, self.where)
            live = self.remove_retired(live)
            changed = identity.embedder_fingerprint != live.identity.embedder_fingerprint
            if successor and changed and identity.corpus == live.identity.corpus:
                return self.make(identity), False
        check_identity(live.identity, identity, self.where)
        return live, True

    def promote(self, chosen: Collection) -> None:
        """Make a collection the live one, and remove the others of the corpus."""
        live = self.live()
        known = [live, *self.successors(live)] if live else []
        names = dict.fromkeys(name for each in known for name in (each.name, *each.retired))
        promoted = replace(chosen, retired=tuple(name for name in names if name != chosen.name))
        self.point(promoted)
        self.remove_retired(promoted)

    def remove_retired(self, live: Collection) -> Collection:
        """Remove the collections that the live one replaced; return the live one without them."""
        if not live.retired:
            return live
        for name in live.retired:
            self.remove(name)
        clean = replace(live, retired=())
        self.point(clean)
        return clean


def collection_name(identity: StoreIdentity) -> str:
    """Return the corpus and a short form of the embedder's fingerprint."""
    full = identity.embedder_fingerprint
    # A custom embedder's is any text: "mine-1" and "mine-2" may begin alike.
    short = (full if re.fullmatch("[0-9a-f]+", full) else digest("embedder", full))[:8]
    return f"{identity.corpus}-{short}"


def is_collection_of(name: str, corpus: str) -> bool:
    """Return whether a collection's name is of the form that ``collection_name`` gives it."""
    return re.fullmatch(f"{re.escape(corpus)}-[0-9a-f]{{1,8}}", name) is not None


def read_collection(
    stored: Mapping[str, Any], corpus: str, schema: int, where: str, remedy: str
) -> Collection:
    """Return the collection that a record from ``record_of`` describes.

    Raises:
        StoreError: the record is damaged, or names a collection of another corpus: what it names
            is opened and removed.
        StoreMismatchError: it has another schema.
    """
    try:
        _check_schema(stored["schema"], where, schema)
        identity = StoreIdentity(**stored["identity"])
        names = (stored["collection"], *stored.get("retired", ()))
        foreign = [name for name in names if not is_collection_of(name, corpus)]
    except (LookupError, TypeError) as error:
        raise StoreError(f"{where} is damaged or not of this program; {remedy}") from error
    if foreign:
        raise StoreError(
            f"{where} names {', '.join(map(repr, foreign))}; expected collections of corpus "
            f"{corpus!r} alone. Nothing was removed; {remedy}"
        )
    return Collection(names[0], identity, names[1:], stored.get("owner"))


def record_of(collection: Collection, schema: int) -> dict[str, Any]:
    """Return what ``read_collection`` reads."""
    stored = asdict(collection)
    return {"schema": schema, "collection": stored.pop("name"), **stored}


def _check_schema(schema: int, where: str, expected: int) -> None:
    if schema != expected:
        raise StoreMismatchError(
            f"{where} has store schema {schema}; this version reads schema {expected}. Export it "
            "with the version that wrote it (raptor export) and import it with this one into "
            "another home or corpus name; or build into one from the source. Nothing was changed"
        )


def check_owner(live: Collection, owner: str | None, where: str) -> None:
    """Raise StoreMismatchError for a collection that another corpus builds into."""
    if None in (live.owner, owner) or live.owner == owner:
        return
    raise StoreMismatchError(
        f"{where} belongs to {owner_name(live.owner)}, and {owner_name(owner)} would build into "
        "it. Choose another corpus name (store.corpus); raptor export and raptor import carry "
        "trees over. Nothing was changed"
    )


def owner_name(owner: str | None) -> str:
    """Return how a message calls the owner of a home or of a collection."""
    return f"the corpus {owner!r} of a Dagster project" if owner else "a home of the raptor command"


def _alike(stored: Sequence[float], current: Sequence[float]) -> bool:
    """Return whether two probes are of one model; an empty one is like any."""
    if not stored or not current:
        return True
    first, second = np.asarray(stored), np.asarray(current)
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
    return bool(cosine >= LEAST_COSINE)


def check_identity(stored: StoreIdentity, expected: StoreIdentity | None, where: str) -> None:
    """Raise StoreMismatchError for another embedder or dimension than the store was made for."""
    if expected is None:
        return
    same_name = stored.embedder_fingerprint == expected.embedder_fingerprint
    if same_name and (stored.n_dims != expected.n_dims or not _alike(stored.probe, expected.probe)):
        raise StoreMismatchError(
            f"{where} was made with {stored.embedder}, and another model answers to the name "
            f"{expected.embedder_model} now ({expected.n_dims} dimensions): its vectors do not go "
            "with those of the store. Set the model back, or set embedder.revision to another "
            'word, such as "2", and run raptor build: everything is embedded again. Or choose '
            "another home (--home) or corpus name (store.corpus)"
        )
    if expected != stored:
        raise StoreMismatchError(
            f"{where} was made for corpus {stored.corpus!r}, {stored.embedder}; the settings ask "
            f"for corpus {expected.corpus!r}, {expected.embedder}. Set the embedder back, build "
            "everything with the new one (the corpus switches to it at the end), or choose another "
            "home (--home) or corpus name (store.corpus)"
        )
