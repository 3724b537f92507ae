"""What each new HTTP client reads and copies anew is read once a process.

The system's certificates take 35 ms, the schemas of qdrant-client 7 ms; tests make thousands.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from threading import RLock
from typing import Any

import certifi

_create = ssl.create_default_context


@cache
def _trusting(authorities: str) -> ssl.SSLContext:
    return _create(cafile=authorities)


def _create_default_context(*args: Any, **given: Any) -> ssl.SSLContext:
    usual = os.environ.get("SSL_CERT_FILE") or certifi.where()
    return _trusting(usual) if (args, given) == ((), {"cafile": usual}) else _create(*args, **given)


def remember_certificates() -> None:
    """From now on, where a client trusts whom all trust."""
    ssl.create_default_context = _create_default_context


@cache
def remember_schemas() -> None:
    """From now on; threads take turns at what they share."""
    from qdrant_client.embed import type_inspector
    from qdrant_client.embed.schema_parser import ModelSchemaParser

    lock = RLock()

    class Parser(ModelSchemaParser):
        def parse_model(self, model: Any) -> None:
            with lock:
                super().parse_model(model)

    parser = Parser()
    type_inspector.ModelSchemaParser = lambda: parser
