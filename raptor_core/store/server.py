"""Collections of a corpus on a Qdrant server or cluster, by URL.

The alias ``<corpus>`` names the live collection ``<corpus>-<embedder>``; it is looked up once, so
that an open store never changes its embedder. A point in state "identity" holds the collection's
identity, its owner and what it replaced, as the alias file does on embedded engines.

Requests stay within the 32 MB that a server takes by default (``engines/qdrant.py``).
"""

import logging
import math
import os
import ssl
import uuid
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.qdrant_remote import QdrantRemote

from raptor_core.credentials import check_key, is_loopback
from raptor_core.errors import StoreError
from raptor_core.identity import NODE_NAMESPACE
from raptor_core.redaction import proxy_hint
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
from raptor_core.store.engines.base import Delete, Point, Upsert
from raptor_core.store.engines.layout import Layout
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.retries import CONFLICTS, PatientClient, Place, code
from raptor_core.store.store import VectorStore

SCHEMA = 5
"""Version of what lies on a server; another one is refused, and an export carries trees over."""

_REMEDY = "choose another corpus name (store.corpus)"

IDENTITY_ID = str(uuid.uuid5(NODE_NAMESPACE, "identity"))
_NO_POINT_ID = str(uuid.uuid5(NODE_NAMESPACE, "no point"))


class ServerCorpus(CorpusCollections):
    """Collections of one corpus behind a client; making it sends no request."""

    def __init__(self, settings: StoreSettings, owner: str | None = None) -> None:
        self._client, place = connect(settings)
        self.owner = owner
        self.name = settings.corpus
        self._layout = Layout(settings)
        self.where = f"{place.name}, corpus {self.name!r}"
        self._place = replace(place, name=self.where)

    def open(self, identity: StoreIdentity | None, *, successor: bool) -> VectorStore:
        """Open a collection, whose store closes the client; see ``CorpusCollections``."""
        with ExitStack() as undo:
            undo.callback(self.close)
            chosen, is_live = self.choose(identity, successor=successor)
            undo.pop_all()
        return VectorStore(
            self._points(chosen.name),
            chosen.identity,
            lambda: None,  # a server has no lock of ours to release
            None if is_live else partial(self.promote, chosen),
            turn=nullcontext(),
        )

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _points(self, collection: str) -> ClientEngine:
        return ClientEngine(self._client, collection, self._place, self._layout)

    def live(self) -> Collection | None:
        """See ``CorpusCollections``."""
        name = self._aliased()
        if name is None:
            return None
        collection = self._read(name)
        if collection is None:
            raise StoreError(f"{self.where} was not made by this program; {_REMEDY}")
        return collection

    def _aliased(self) -> str | None:
        with self._place.errors():
            aliases = self._client.get_aliases().aliases
        return next((a.collection_name for a in aliases if a.alias_name == self.name), None)

    def check_writable(self) -> None:
        """Send the live collection, or the aliases, a write that changes nothing."""
        name = self._aliased()
        if name is not None:
            self._points(name).apply([Delete((_NO_POINT_ID,))])
            return
        with self._place.errors():
            self._client.update_collection_aliases([])

    def successors(self, live: Collection) -> list[Collection]:
        """See ``CorpusCollections``."""
        with self._place.errors():
            described = self._client.get_collections().collections
        known = (live.name, *live.retired)
        names = sorted(d.name for d in described if is_collection_of(d.name, self.name))
        collections = [self._read(name) for name in names if name not in known]
        return [collection for collection in collections if collection is not None]

    def make(self, identity: StoreIdentity) -> Collection:
        """Make a collection, its identity point last; see ``CorpusCollections``."""
        new = Collection(collection_name(identity), identity, owner=self.owner)
        with self._place.errors():
            exists = self._client.collection_exists(new.name)
        stored = self._read(new.name) if exists else None
        if stored is not None:
            check_identity(stored.identity, identity, self.where)
            return stored
        with self._place.errors():
            try:
                if not exists:
                    self._layout.create(self._client, new.name, identity.n_dims)
            except Exception as error:
                if code(error) not in CONFLICTS:  # else an earlier request made it
                    raise
            self._layout.create_indexes(self._client, new.name)
        self._write(new)
        return new

    def point(self, collection: Collection) -> None:
        """Write what is retired, then switch the alias; see ``CorpusCollections``."""
        self._write(collection)
        aliased = self._aliased()
        if aliased == collection.name:
            return
        delete = models.DeleteAlias(alias_name=self.name)
        create = models.CreateAlias(collection_name=collection.name, alias_name=self.name)
        operations: list[Any] = [models.CreateAliasOperation(create_alias=create)]
        if aliased is not None:
            operations.insert(0, models.DeleteAliasOperation(delete_alias=delete))
        with self._place.errors():
            self._client.update_collection_aliases(operations)

    def remove(self, name: str) -> None:
        """See ``CorpusCollections``."""
        with self._place.errors():
            self._client.delete_collection(name)

    def _read(self, name: str) -> Collection | None:
        fields = ("schema", "identity", "retired", "owner")
        points = self._points(name).fetch([IDENTITY_ID], fields)
        if not points:
            return None
        stored = {**points[0].payload, "collection": name}
        return read_collection(stored, self.name, SCHEMA, self.where, _REMEDY)

    def _write(self, collection: Collection) -> None:
        payload = {"state": "identity", **record_of(collection, SCHEMA)}
        self._points(collection.name).apply([Upsert((Point(IDENTITY_ID, payload),))])


_log = logging.getLogger(__name__)


def connect(settings: StoreSettings) -> tuple[QdrantClient, Place]:
    """Return a client of the server, or of its cluster's nodes; no request is sent."""
    secret = os.environ.get(settings.api_key_env, "").strip() or None
    if secret:
        check_key(secret, settings.api_key_env, "the Qdrant server in store.url")
    key = f"the key in {settings.api_key_env} ({'set' if secret else 'not set'})"
    urls = [url.strip() for url in settings.url.split(",") if url.strip()]
    through = proxy_hint(urls[0]) if urls else ""
    remedy = f"check store.url, that the Qdrant server runs, and {key}{through}"
    place = Place(settings.url, remedy, secret, key)
    for url in urls if secret else ():
        _warn_of_open_key(url, settings.api_key_env)
    with place.errors():
        clients = [_client(settings, url, secret) for url in urls]
    patient: Any = PatientClient(clients, settings.max_retries)
    return patient, place


def _client(settings: StoreSettings, url: str, key: str | None) -> QdrantRemote:
    """Return a client without its embedding models, which take 25 ms of CPU to make."""
    # As a header, the key makes the client print no warning about plain HTTP.
    headers = {"api-key": key} if key else {}
    return QdrantRemote(
        url=url,
        headers=headers,
        # The client by default reuses no connection on this machine.
        limits=httpx.Limits(max_keepalive_connections=20),
        timeout=max(1, math.ceil(settings.timeout_seconds)),
        check_compatibility=False,
        prefer_grpc=bool(settings.grpc_port),
        grpc_port=settings.grpc_port or 6334,
        **_trust(settings, url),
    )


@cache
def _warn_of_open_key(url: str, variable: str) -> None:
    """Warn once that a key is sent to another machine in plain text."""
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        _log.warning(
            "the key in %s goes to %s as plain text; use https in store.url, or let nothing else "
            "see that network",
            variable,
            parts.netloc.rpartition("@")[2],
        )


def _trust(settings: StoreSettings, url: str) -> dict[str, Any]:
    """Return the client's options that verify the server's certificate."""
    if not url.startswith("https:"):
        return {"verify": False}  # unused over HTTP, and reading the authorities takes 35 ms
    if not settings.tls_ca:
        return {}
    path = Path(settings.tls_ca).expanduser()
    try:
        context = ssl.create_default_context(cafile=str(path))
        authority = path.read_bytes()
    except (OSError, ssl.SSLError) as error:
        raise StoreError(
            f"store.tls_ca: {path} is no readable PEM file of certificates: {error}"
        ) from error
    options = {"grpc_options": {"root_certificates": authority}} if settings.grpc_port else {}
    return {"verify": context, **options}
