"""The client of a server, as the settings want it: key, TLS, HTTP or gRPC, patience."""

from __future__ import annotations

import math
import os
import ssl
from pathlib import Path
from typing import Any

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.corpus import Corpus
from raptor_core.store.layout import Layout
from raptor_core.store.qdrant import Place
from raptor_core.store.retries import PatientClient

KEPT_CONNECTIONS = 20
"""Connections that stay open between requests."""


def connect(settings: StoreSettings) -> Corpus:
    """The corpus on the server; nothing is asked of it yet.

    Raises:
        StoreError: the authority's file cannot be read, or the URL is none.
    """
    import httpx
    from qdrant_client import QdrantClient

    key = os.environ.get(settings.api_key_env) or None
    place = Place(
        settings.url,
        f"check store.url, that the Qdrant server runs, and the key in {settings.api_key_env} "
        f"({'set' if key else 'not set'})",
        key,
    )
    trust = _trust(settings)
    with place.errors():
        client = QdrantClient(
            url=settings.url,
            api_key=key,
            timeout=max(1, math.ceil(settings.timeout_seconds)),
            check_compatibility=False,
            prefer_grpc=settings.grpc,
            grpc_port=settings.grpc_port,
            # The client by itself connects anew for each request to a server on this machine, and
            # takes compressed answers, which a server sends in pieces: over a connection that is
            # kept, the second piece waits 40 ms for the first to be acknowledged.
            limits=httpx.Limits(max_keepalive_connections=KEPT_CONNECTIONS),
            headers=None if settings.grpc else {"accept-encoding": "identity"},
            **trust,
        )
    patient = PatientClient.over(client, settings.max_retries)
    return Corpus(patient, place, settings.corpus, Layout(settings))


def _trust(settings: StoreSettings) -> dict[str, Any]:
    """What the client verifies the server's certificate by."""
    if not settings.url.startswith("https:"):
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
