"""Collection of a corpus on a Qdrant server or cluster.

The name of the corpus is an alias of it, so that the collection of another embedder can take its
place in one request. Its metadata contain its record (``collection.py``). Requests stay below the
32 MB that a server accepts by default (``engines/qdrant.py``).
"""

import math
import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.qdrant_remote import QdrantRemote

from raptor_core.credentials import check_key
from raptor_core.errors import StoreError
from raptor_core.redaction import proxy_hint
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.collection import Collection, nothing_built
from raptor_core.store.engines.layout import Layout
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.retries import PatientClient, Place, code
from raptor_core.store.store import VectorStore

METADATA = "raptor"
"""Key of the record in the metadata of a collection."""

_REMEDY = "choose another corpus name (store.corpus)"


class ServerCorpus:
    """Collection of one corpus behind a client; creating this object sends no request."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._name = settings.corpus
        self._client, place = connect(settings)
        self.where = f"{place.name}, corpus {self._name!r}"
        self._place = replace(place, name=self.where)

    def open(self, identity: StoreIdentity | None, owner: str | None) -> VectorStore:
        """Open the collection; its store closes the client. See ``open_store``."""
        layout = Layout(self._settings)
        with ExitStack() as undo:
            undo.callback(self.close)
            info = self._info()
            if info is None and identity is not None:
                self._make(layout, Collection(identity, owner))
                info = self._info()
            if info is None:
                raise nothing_built(self.where)
            stored = self._stored(info)
            stored.check(identity, owner, self.where)
            if identity is not None:  # missing if the process died after ``_make``
                with self._place.errors():
                    layout.create_indexes(self._client, stored.place, info.payload_schema)
            undo.pop_all()
        return self._store(layout, stored, info)

    def _store(
        self, layout: Layout, stored: Collection, info: models.CollectionInfo
    ) -> VectorStore:
        """Return the store of a collection by its own name: it never reads another embedder's."""
        engine = ClientEngine(
            self._client, stored.place, self._place, layout, indexed=info.payload_schema
        )
        return VectorStore(engine, stored.identity, lambda: None, nullcontext())

    @contextmanager
    def replacing(self, identity: StoreIdentity) -> Iterator[VectorStore]:
        """Open an empty store beside the stored one; at the end it takes the place of that one."""
        layout, old = Layout(self._settings), self.read()
        new = Collection(identity, old.owner if old else None)
        with self._place.errors():
            self._client.delete_collection(new.place)  # of a process that died
            self._create(layout, new)
            layout.create_indexes(self._client, new.place, ())
            info = self._client.get_collection(new.place)
        with self._store(layout, new, info) as store:
            yield store
            with self._place.errors():
                self._name_alias(new, replaces=True)
                if old:  # servers that read it open the new one at their next request
                    self._client.delete_collection(old.place)

    def _name_alias(self, collection: Collection, *, replaces: bool = False) -> None:
        alias = models.CreateAlias(collection_name=collection.place, alias_name=self._name)
        gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._name))
        actions: list[Any] = [gone] if replaces else []
        actions.append(models.CreateAliasOperation(create_alias=alias))
        self._client.update_collection_aliases(actions)

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def read(self) -> Collection | None:
        """Return the record of the collection; None if there is no collection."""
        info = self._info()
        return None if info is None else self._stored(info)

    def _info(self) -> models.CollectionInfo | None:
        with self._place.errors():
            try:
                return self._client.get_collection(self._name)
            except Exception as error:
                if code(error) != 404:
                    raise
                return None

    def _stored(self, info: models.CollectionInfo) -> Collection:
        record = (info.config.metadata or {}).get(METADATA)
        if record is None:
            raise StoreError(f"{self.where} was not made by this program; {_REMEDY}")
        return Collection.read(record, self.where, _REMEDY)

    def _make(self, layout: Layout, collection: Collection) -> None:
        with self._place.errors():
            self._create(layout, collection)
            self._name_alias(collection)

    def _create(self, layout: Layout, collection: Collection) -> None:
        metadata, n_dims = {METADATA: collection.record()}, collection.identity.n_dims
        try:
            layout.create(self._client, collection.place, n_dims, metadata)
        except Exception as error:
            if code(error) != 409:  # 409: an earlier request created it
                raise


def connect(settings: StoreSettings) -> tuple[QdrantClient, Place]:
    """Return a client of the server or of its cluster's nodes, without sending a request."""
    secret = os.environ.get(settings.api_key_env, "").strip() or None
    if secret:
        check_key(secret, settings.api_key_env, "the Qdrant server in store.url")
    key = f"the key in {settings.api_key_env} ({'set' if secret else 'not set'})"
    urls = [url.strip() for url in settings.url.split(",") if url.strip()]
    through = proxy_hint(urls[0]) if urls else ""
    remedy = f"check store.url, that the Qdrant server runs, and {key}{through}"
    place = Place(settings.url, remedy, secret, key)
    with place.errors():
        clients = [_client(settings, url, secret) for url in urls]
    patient: Any = PatientClient(clients, settings.max_retries)
    return patient, place


def _client(settings: StoreSettings, url: str, key: str | None) -> QdrantRemote:
    """Return a client without its embedding models, which would take 25 ms of CPU time."""
    # As a header, the key makes the client print no warning about plain HTTP.
    headers = {"api-key": key} if key else {}
    return QdrantRemote(
        url=url,
        headers=headers,
        # By default the client reuses no connection to this machine.
        limits=httpx.Limits(max_keepalive_connections=20),
        timeout=max(1, math.ceil(settings.timeout_seconds)),
        check_compatibility=False,
        **_trust(settings, url),
    )


def _trust(settings: StoreSettings, url: str) -> dict[str, Any]:
    """Return the client's options for verifying the server's certificate."""
    if not url.startswith("https:"):
        return {"verify": False}  # unused over HTTP, and reading the authorities takes 35 ms
    if not settings.tls_ca:
        return {}
    path = Path(settings.tls_ca).expanduser()
    try:
        return {"verify": ssl.create_default_context(cafile=str(path))}
    except (OSError, ssl.SSLError) as error:
        raise StoreError(
            f"store.tls_ca: {path} is not a readable PEM file of certificates: {error}"
        ) from error
