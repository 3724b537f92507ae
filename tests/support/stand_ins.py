"""Qdrant servers of tests: the stand-in, and a real one where a binary is found."""

from contextlib import contextmanager

import pytest
from support.qdrant_server import QdrantServer, find_qdrant
from support.qdrant_stand_in import StandIn

from raptor_core.retrying import RetryPolicy
from raptor_core.store.engines import retries


@pytest.fixture(scope="session")
def qdrant_server(tmp_path_factory):
    """The real server of a session; None where none is found."""
    if find_qdrant() is None:
        yield None
        return
    server = QdrantServer(tmp_path_factory.mktemp("qdrant"))
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def qdrant_stand_in(context=None):
    """An empty stand-in for as long as the context lasts."""
    server = StandIn(context)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def stand_in(monkeypatch):
    """A stand-in that is asked again at once."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    with qdrant_stand_in() as server:
        yield server
