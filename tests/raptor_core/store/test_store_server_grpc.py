"""A server by gRPC, at the wire of a stand-in."""

from contextlib import contextmanager

import pytest
from support.stores import faults, make_node, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError
from raptor_core.store import Where, retries


@contextmanager
def serving(credentials=None):
    """A stand-in for the gRPC service of a Qdrant server."""
    from qdrant_client import QdrantClient
    from support.qdrant_grpc_stand_in import GrpcStandIn

    client = QdrantClient(":memory:")
    service = GrpcStandIn(client, credentials)
    yield service
    service.close()
    client.close()


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setattr(retries, "BASE_SECONDS", 0.001)
    with serving() as service:
        yield service


def opened(service, scheme="http", **settings):
    url = f"{scheme}://127.0.0.1:1"  # nobody answers by HTTP
    return open_at(None, "server", url=url, grpc=True, grpc_port=service.port, **settings)


def test_all_that_a_store_does_goes_by_grpc(service):
    odd = make_node(
        text="Grüße 世界 of t", position=9, metadata={"year": 1953, "share": 0.1, "ok": True}
    )
    nodes = [*make_tree(), odd]
    with opened(service) as store:
        assert publish(store, nodes).added == 16
        assert publish(store, nodes).unchanged == 16
        assert {node.id: node for node in store.nodes()} == {node.id: node for node in nodes}
        assert faults(store) == []
        key = nodes[0].embedding_key
        assert store.vectors([key])[key].tobytes() == vectors_of(nodes[:1])[0].tobytes()
        assert store.count(Where(metadata={"share": 0.1})) == 1
        assert store.search(vectors_of([odd]), 1)[0][0].node == odd
    with opened(service, identity=None) as store:
        assert store.drop("t") == 16
    assert "tree" in service.indexes
    assert {"UpdateBatch", "Get", "Scroll", "Count", "QueryBatch", "Create"} <= set(service.calls)


def test_faults_that_pass_are_asked_again_and_others_told(service):
    from grpc import StatusCode

    with opened(service) as store:
        service.faults = [StatusCode.UNAVAILABLE, None, StatusCode.RESOURCE_EXHAUSTED] * 5
        publish(store, make_tree())
        service.faults = []
        assert store.count() == 15
        service.calls.clear()
        service.faults = [StatusCode.PERMISSION_DENIED]
        with pytest.raises(StoreError, match=r"PERMISSION_DENIED.*store\.url"):
            store.count()
        assert len(service.calls) == 1
        service.faults = [StatusCode.UNAVAILABLE] * 9
        with pytest.raises(StoreError, match="UNAVAILABLE"):
            store.count()
        service.faults = []


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_the_key_goes_along_and_stands_in_no_message(service, monkeypatch):
    service.key = "planted-key"
    with pytest.raises(StoreError, match=r"UNAUTHENTICATED.*\(not set\)"):
        opened(service)
    monkeypatch.setenv("QDRANT_API_KEY", "planted-key")
    opened(service).close()
    monkeypatch.setenv("QDRANT_API_KEY", "another-key")
    with pytest.raises(StoreError, match="UNAUTHENTICATED") as caught:
        opened(service)
    assert "another-key" not in str(caught.value)


def test_an_own_authority_is_trusted_by_grpc(authority):
    from grpc import ssl_server_credentials

    pair = ((authority / "key.pem").read_bytes(), (authority / "ca.pem").read_bytes())
    with serving(ssl_server_credentials([pair])) as service:
        with opened(service, "https", tls_ca=str(authority / "ca.pem")) as store:
            assert publish(store, make_tree()).added == 15
            assert store.count() == 15
        with pytest.raises(StoreError, match="UNAVAILABLE"):
            opened(service, "https", max_retries=0)
