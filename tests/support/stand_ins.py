"""A Qdrant server at the wire: a real one behind a proxy, or where none is found a stand-in."""

from contextlib import contextmanager

import pytest
from support.qdrant_server import QdrantServer, find_qdrant

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
def qdrant_at_wire(server, context=None):
    """An empty server; in the end all that came and went must be as Qdrant describes it."""
    if server is None:
        from support.qdrant_stand_in import StandIn

        wire = StandIn(context)
    else:
        from support.qdrant_proxy import Proxy

        server.clear()
        wire = Proxy(server, context)
    try:
        yield wire
    finally:
        wire.close()
    assert wire.wrong == []


@contextmanager
def qdrant_by_grpc(server, credentials=None):
    """An empty server whose gRPC service is at the wire."""
    if server is None:
        from support.qdrant_grpc_stand_in import GrpcStandIn

        service = GrpcStandIn(credentials)
    else:
        from support.qdrant_proxy import GrpcProxy

        server.clear()
        service = GrpcProxy(server, credentials)
    try:
        yield service
    finally:
        service.close()


@pytest.fixture
def stand_in(qdrant_server, monkeypatch):
    """A Qdrant server at the wire, which is asked again at once."""
    monkeypatch.setattr(retries, "POLICY", RetryPolicy(base_seconds=0.001))
    with qdrant_at_wire(qdrant_server) as wire:
        yield wire
