"""The client of a server, as the settings want it: key, TLS, HTTP or gRPC, patience."""

from __future__ import annotations

import ipaddress
import logging
import math
import os
import ssl
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.qdrant import Place
from raptor_core.store.retries import PatientClient

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

KEPT_CONNECTIONS = 20
"""Connections to a server that stay open between requests."""

_log = logging.getLogger(__name__)


def connect(settings: StoreSettings) -> tuple[QdrantClient, Place]:
    """A client of the server, or of the nodes of its cluster; nothing is asked of it yet.

    Raises:
        StoreError: the authority's file cannot be read, or a URL is none.
    """
    secret = os.environ.get(settings.api_key_env) or None
    key = f"the key in {settings.api_key_env} ({'set' if secret else 'not set'})"
    remedy = f"check store.url, that the Qdrant server runs, and {key}"
    place = Place(settings.url, remedy, secret, key)
    urls = [url.strip() for url in settings.url.split(",") if url.strip()]
    for url in urls if secret else ():
        _tell_open_key(url, settings.api_key_env)
    with place.errors():
        clients = [_client(settings, url, secret) for url in urls]
    patient: Any = PatientClient(clients, settings.max_retries)
    return patient, place


def _client(settings: StoreSettings, url: str, key: str | None) -> QdrantClient:
    import httpx
    from qdrant_client import QdrantClient

    # As a header, the key makes the client say nothing of its own about plain HTTP.
    headers = {"api-key": key} if key else {}
    # A compressed answer comes in pieces, and over a connection that is kept the second one waits
    # 40 ms for the first to be acknowledged. To this machine the client by itself keeps none.
    compression = {} if settings.grpc else {"accept-encoding": "identity"}
    return QdrantClient(
        url=url,
        headers=headers | compression,
        limits=httpx.Limits(max_keepalive_connections=KEPT_CONNECTIONS),
        timeout=max(1, math.ceil(settings.timeout_seconds)),
        check_compatibility=False,
        prefer_grpc=settings.grpc,
        grpc_port=settings.grpc_port,
        **_trust(settings, url),
    )


@cache
def _tell_open_key(url: str, variable: str) -> None:
    """Say once that a key goes to another machine in the clear."""
    parts = urlsplit(url)
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        _log.warning(
            "the key in %s goes to %s as plain text; use https in store.url, or let nothing else "
            "see that network",
            variable,
            parts.netloc.rpartition("@")[2],
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trust(settings: StoreSettings, url: str) -> dict[str, Any]:
    """What the client verifies the server's certificate by."""
    if not url.startswith("https:"):
        return {}
    if not settings.tls_verify:
        return {"verify": False}
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
    options = {"grpc_options": {"root_certificates": authority}} if settings.grpc else {}
    return {"verify": context, **options}
