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

from raptor_core.credentials import require_sendable_key
from raptor_core.errors import StoreError
from raptor_core.redaction import proxy_hint
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.collection import CollectionRecord, nothing_built_error
from raptor_core.store.engines.layout import CollectionLayout
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.retries import CollectionPlace, RetryingClient, find_http_status
from raptor_core.store.store import VectorStore

METADATA = "raptor"
"""Key of the record in the metadata of a collection."""

_REMEDY = "choose another corpus name (store.corpus)"


class ServerCorpus:
    """Collection of one corpus behind a client; creating this object sends no request."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._name = settings.corpus
        self._client, place = create_server_client(settings)
        self.where = f"{place.name}, corpus {self._name!r}"
        self._place = replace(place, name=self.where)

    def open(self, identity: StoreIdentity | None, owner: str | None) -> VectorStore:
        """Open the collection; its store closes the client. See ``open_store``."""
        layout = CollectionLayout(self._settings)
        with ExitStack() as undo:
            undo.callback(self.close)
            info = self._collection_info()
            if info is None and identity is not None:
                self._make_collection(layout, CollectionRecord(identity, owner))
                info = self._collection_info()
            if info is None:
                raise nothing_built_error(self.where)
            stored = self._parse_record(info)
            stored.check_owner_and_identity(identity, owner, self.where)
            if identity is not None:  # missing if the process died after ``_make_collection``
                with self._place.translate_errors():
                    layout.create_indexes(
                        self._client, stored.points_collection_name, info.payload_schema
                    )
            undo.pop_all()
        return self._make_store(layout, stored, info)

    def _make_store(
        self, layout: CollectionLayout, stored: CollectionRecord, info: models.CollectionInfo
    ) -> VectorStore:
        """Return the store of a collection by its own name: it never reads another embedder's."""
        engine = ClientEngine(
            self._client,
            stored.points_collection_name,
            self._place,
            layout,
            indexed=info.payload_schema,
        )
        return VectorStore(engine, stored.identity, lambda: None, nullcontext())

    @contextmanager
    def open_replacement(self, identity: StoreIdentity) -> Iterator[VectorStore]:
        """Open an empty store beside the stored one; at the end it takes the place of that one."""
        layout, old = CollectionLayout(self._settings), self.read_record()
        new = CollectionRecord(identity, old.owner if old else None)
        with self._place.translate_errors():
            self._client.delete_collection(new.points_collection_name)  # of a process that died
            self._create_collection(layout, new)
            layout.create_indexes(self._client, new.points_collection_name, ())
            info = self._client.get_collection(new.points_collection_name)
        with self._make_store(layout, new, info) as store:
            yield store
            with self._place.translate_errors():
                self._set_alias(new, replaces=True)
                if old:  # servers that read it open the new one at their next request
                    self._client.delete_collection(old.points_collection_name)

    def _set_alias(self, collection: CollectionRecord, *, replaces: bool = False) -> None:
        alias = models.CreateAlias(
            collection_name=collection.points_collection_name, alias_name=self._name
        )
        gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._name))
        actions: list[Any] = [gone] if replaces else []
        actions.append(models.CreateAliasOperation(create_alias=alias))
        self._client.update_collection_aliases(actions)

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def read_record(self) -> CollectionRecord | None:
        """Return the record of the collection; None if there is no collection."""
        info = self._collection_info()
        return None if info is None else self._parse_record(info)

    def _collection_info(self) -> models.CollectionInfo | None:
        with self._place.translate_errors():
            try:
                return self._client.get_collection(self._name)
            except Exception as error:
                if find_http_status(error) != 404:
                    raise
                return None

    def _parse_record(self, info: models.CollectionInfo) -> CollectionRecord:
        record = (info.config.metadata or {}).get(METADATA)
        if record is None:
            raise StoreError(f"{self.where} was not made by this program; {_REMEDY}")
        return CollectionRecord.from_record(record, self.where, _REMEDY)

    def _make_collection(self, layout: CollectionLayout, collection: CollectionRecord) -> None:
        with self._place.translate_errors():
            self._create_collection(layout, collection)
            self._set_alias(collection)

    def _create_collection(self, layout: CollectionLayout, collection: CollectionRecord) -> None:
        metadata, n_dims = {METADATA: collection.to_record()}, collection.identity.n_dims
        try:
            layout.create(self._client, collection.points_collection_name, n_dims, metadata)
        except Exception as error:
            if find_http_status(error) != 409:  # 409: an earlier request created it
                raise


def create_server_client(settings: StoreSettings) -> tuple[QdrantClient, CollectionPlace]:
    """Return a client of the server or of its cluster's nodes, without sending a request."""
    secret = os.environ.get(settings.api_key_env, "").strip() or None
    if secret:
        require_sendable_key(secret, settings.api_key_env, "the Qdrant server in store.url")
    key = f"the key in {settings.api_key_env} ({'set' if secret else 'not set'})"
    urls = [url.strip() for url in settings.url.split(",") if url.strip()]
    through = proxy_hint(urls[0]) if urls else ""
    remedy = f"check store.url, that the Qdrant server runs, and {key}{through}"
    place = CollectionPlace(settings.url, remedy, secret, key)
    with place.translate_errors():
        clients = [_make_client(settings, url, secret) for url in urls]
    patient: Any = RetryingClient(clients, settings.max_retries)
    return patient, place


def _make_client(settings: StoreSettings, url: str, key: str | None) -> QdrantRemote:
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
        **_certificate_options(settings, url),
    )


def _certificate_options(settings: StoreSettings, url: str) -> dict[str, Any]:
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
