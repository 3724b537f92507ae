"""The collections of one corpus on a server: made, found, switched, removed."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from raptor_core.errors import StoreError
from raptor_core.identity import NODE_NAMESPACE
from raptor_core.store.base import StoreIdentity
from raptor_core.store.engine import Batch, Point
from raptor_core.store.home import (
    check_identity,
    check_schema,
    collection_name,
    is_collection_of,
)
from raptor_core.store.layout import Layout
from raptor_core.store.qdrant import ClientEngine, Place
from raptor_core.store.retries import is_conflict
from raptor_core.store.server_engine import ServerEngine

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

SCHEMA = 3
"""Version of what lies on a server; another one is refused, and an export carries trees over."""

IDENTITY_ID = str(uuid.uuid5(NODE_NAMESPACE, "identity"))
_NO_POINT_ID = str(uuid.uuid5(NODE_NAMESPACE, "no point"))


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection and what its identity point says.

    ``retired`` are the collections that it replaces, or replaced, until they are removed.
    """

    name: str
    identity: StoreIdentity
    retired: tuple[str, ...] = ()


class Corpus:
    """The collections of one corpus behind a client."""

    def __init__(self, client: QdrantClient, place: Place, name: str, layout: Layout) -> None:
        self.client = client
        self.where = f"{place.name}, corpus {name!r}"
        self._place = replace(place, name=self.where)
        self._name = name
        self._layout = layout

    def open(self, collection: str) -> ServerEngine:
        """The engine of a collection."""
        return ServerEngine(self.client, collection, self._place, self._layout)

    def _points(self, collection: str) -> ClientEngine:
        """Its points, of whatever version."""
        return ClientEngine(self.client, collection, self._place, self._layout)

    def live(self) -> Collection | None:
        """The collection that the alias names.

        Raises:
            StoreError: somebody else made it.
            StoreMismatchError: it has another schema.
        """
        name = self._aliased()
        if name is None:
            return None
        found = self._read(name)
        if found is None:
            raise StoreError(
                f"{self.where} was not made by this program; choose another corpus name "
                "(store.corpus)"
            )
        return found

    def _aliased(self) -> str | None:
        with self._place.errors():
            aliases = self.client.get_aliases().aliases
        return next((a.collection_name for a in aliases if a.alias_name == self._name), None)

    def check_writable(self) -> None:
        """Ask for a change that changes nothing: of the live collection, or else of no alias.

        Raises:
            StoreError: the key may not write, or the server does not answer.
        """
        name = self._aliased()
        if name is not None:
            self._points(name).apply(Batch(deletes=(_NO_POINT_ID,)))
            return
        with self._place.errors():
            self.client.update_collection_aliases([])

    def others(self, live: Collection) -> list[Collection]:
        """The whole collections that are built beside the live one."""
        with self._place.errors():
            described = self.client.get_collections().collections
        known = (live.name, *live.retired)
        names = sorted(d.name for d in described if is_collection_of(d.name, self._name))
        found = [self._read(name) for name in names if name not in known]
        return [one for one in found if one is not None]

    def make(self, identity: StoreIdentity) -> Collection:
        """The collection of an identity, made where it is new: its identity point comes last."""
        made = Collection(collection_name(identity), identity)
        with self._place.errors():
            exists = self.client.collection_exists(made.name)
        stored = self._read(made.name) if exists else None
        if stored is not None:
            check_identity(stored.identity, identity, self.where)
            return stored
        if not exists:
            self._create(made.name, identity.n_dims)
        with self._place.errors():
            self._layout.create_indexes(self.client, made.name)
        self._write(made)
        return made

    def _create(self, name: str, n_dims: int) -> None:
        """Make a collection; one that is there was made by a request whose answer was lost."""
        with self._place.errors():
            try:
                self._layout.create(self.client, name, n_dims)
            except Exception as error:
                if not is_conflict(error):
                    raise

    def point(self, name: str, *, switch: bool = False) -> None:
        """Make a collection the live one; ``switch`` where another one is."""
        from qdrant_client import models

        delete = models.DeleteAlias(alias_name=self._name)
        create = models.CreateAlias(collection_name=name, alias_name=self._name)
        operations: list[Any] = [models.CreateAliasOperation(create_alias=create)]
        if switch:
            operations.insert(0, models.DeleteAliasOperation(delete_alias=delete))
        with self._place.errors():
            self.client.update_collection_aliases(operations)

    def promote(self, chosen: Collection) -> None:
        """Switch the alias in one request, and remove the others of the corpus.

        What is to be removed is written down first, so that whoever opens the corpus after a
        crash finishes it.
        """
        live = self.live()
        known = [] if live is None else [live, *self.others(live)]
        names = dict.fromkeys(name for one in known for name in (one.name, *one.retired))
        retired = tuple(name for name in names if name != chosen.name)
        promoted = replace(chosen, retired=retired)
        self._write(promoted)
        self.point(chosen.name, switch=live is not None)
        self.remove_retired(promoted)

    def remove_retired(self, live: Collection) -> Collection:
        """Remove what the live collection replaced; again is allowed."""
        if not live.retired:
            return live
        for name in live.retired:
            with self._place.errors():
                self.client.delete_collection(name)
        clean = replace(live, retired=())
        self._write(clean)
        return clean

    def _read(self, name: str) -> Collection | None:
        fields = ("schema", "identity", "retired")
        found = self._points(name).fetch([IDENTITY_ID], fields, dense=False)
        if not found:
            return None
        payload = found[0].payload
        check_schema(payload["schema"], self.where, SCHEMA)
        identity = StoreIdentity(**payload["identity"])
        return Collection(name, identity, tuple(payload.get("retired", ())))

    def _write(self, collection: Collection) -> None:
        payload = {
            "state": "identity",
            "schema": SCHEMA,
            "identity": asdict(collection.identity),
            "retired": list(collection.retired),
        }
        self._points(collection.name).apply(Batch((Point(IDENTITY_ID, payload),)))
