"""A Qdrant server or cluster by URL.

The collection ``<corpus>-<embedder>`` is read and written through the alias ``<corpus>``. A point
in state "identity" says what it was made for, as the alias file does on embedded engines.

A publication is one request of ordered operations, acknowledged when it is applied. The server
applies its operations one after the other and completes them from its log after a crash; a reader
that asks in between can see new nodes before removed ones are gone, for milliseconds. One request
holds at most 32 MB unless the server's ``max_request_size_mb`` is raised: about 4,000 changed
nodes of 384 dimensions in one tree.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING

from raptor_core.errors import StoreError
from raptor_core.identity import NODE_NAMESPACE
from raptor_core.settings.models import StoreSettings
from raptor_core.store.base import StoreIdentity
from raptor_core.store.engine import (
    DENSE,
    KEYWORD_FIELDS,
    LEXICAL,
    LINKED_FIELDS,
    TENANT_FIELD,
    Batch,
    Point,
)
from raptor_core.store.home import SCHEMA, check_identity, check_schema, collection_name
from raptor_core.store.qdrant import ClientEngine, Place
from raptor_core.store.store import QdrantStore

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

IDENTITY_ID = str(uuid.uuid5(NODE_NAMESPACE, "identity"))


def open_server(settings: StoreSettings, identity: StoreIdentity | None) -> QdrantStore:
    """Open the corpus on the server, or make it when ``identity`` is given and it is new.

    Raises:
        StoreError: the server does not answer or refuses; or there is no such corpus.
        StoreMismatchError: the corpus was made for another identity or schema.
    """
    client, place = _connect(settings)
    try:
        if not _alias_exists(client, settings.corpus, place):
            _create(client, identity, settings.corpus, place)
        engine = ClientEngine(client, settings.corpus, place)
        stored = _read_identity(engine, settings.corpus, place)
        check_identity(stored, identity, _corpus_at(place, settings.corpus))
    except BaseException:
        client.close()
        raise
    return QdrantStore(engine, stored, engine.apply, _no_lock)


def server_identity(settings: StoreSettings) -> StoreIdentity | None:
    """What the corpus on the server was made for; None where it does not exist."""
    client, place = _connect(settings)
    try:
        if not _alias_exists(client, settings.corpus, place):
            return None
        engine = ClientEngine(client, settings.corpus, place)
        return _read_identity(engine, settings.corpus, place)
    finally:
        client.close()


def _no_lock() -> None:
    """A server has no lock of ours to release."""


def _connect(settings: StoreSettings) -> tuple[QdrantClient, Place]:
    from qdrant_client import QdrantClient

    key = os.environ.get(settings.api_key_env) or None
    place = Place(
        settings.url,
        f"check store.url, that the Qdrant server runs, and the key in {settings.api_key_env} "
        f"({'set' if key else 'not set'})",
        key,
    )
    with place.errors():
        client = QdrantClient(
            url=settings.url,
            api_key=key,
            timeout=max(1, round(settings.timeout_seconds)),
            check_compatibility=False,
        )
    return client, place


def _alias_exists(client: QdrantClient, corpus: str, place: Place) -> bool:
    with place.errors():
        return any(alias.alias_name == corpus for alias in client.get_aliases().aliases)


def _corpus_at(place: Place, corpus: str) -> str:
    return f"{place.name}, corpus {corpus!r}"


def _create(
    client: QdrantClient, identity: StoreIdentity | None, corpus: str, place: Place
) -> None:
    """Make the collection, its indexes and its identity; the alias last, when it is whole."""
    from qdrant_client import models

    if identity is None:
        raise StoreError(f"{place.name} holds no corpus {corpus!r}; build it first")
    name = collection_name(identity)
    with place.errors():
        if not client.collection_exists(name):
            client.create_collection(
                name,
                vectors_config={
                    DENSE: models.VectorParams(
                        size=identity.n_dims, distance=models.Distance.COSINE
                    )
                },
                sparse_vectors_config={
                    LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)
                },
            )
        _create_indexes(client, name)
    payload = {"state": "identity", "schema": SCHEMA, "identity": asdict(identity)}
    ClientEngine(client, name, place).apply(Batch((Point(IDENTITY_ID, payload),)))
    with place.errors():
        alias = models.CreateAlias(collection_name=name, alias_name=identity.corpus)
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])


def _create_indexes(client: QdrantClient, name: str) -> None:
    from qdrant_client import models

    for field in KEYWORD_FIELDS:
        keyword = models.KeywordIndexParams(
            type=models.KeywordIndexType.KEYWORD,
            is_tenant=field == TENANT_FIELD,
            enable_hnsw=field in LINKED_FIELDS,
        )
        client.create_payload_index(name, field, keyword, wait=True)
    layer = models.IntegerIndexParams(
        type=models.IntegerIndexType.INTEGER, lookup=True, range=False, enable_hnsw=False
    )
    client.create_payload_index(name, "layer", layer, wait=True)


def _read_identity(engine: ClientEngine, corpus: str, place: Place) -> StoreIdentity:
    found = engine.fetch([IDENTITY_ID], ("schema", "identity"), dense=False)
    if not found:
        raise StoreError(
            f"{place.name}: corpus {corpus!r} was not made by this program; choose another corpus "
            "name (store.corpus)"
        )
    payload = found[0].payload
    check_schema(payload["schema"], _corpus_at(place, corpus))
    return StoreIdentity(**payload["identity"])
