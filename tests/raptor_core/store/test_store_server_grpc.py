"""A server by gRPC, at the wire."""

import pytest
from support.qdrant_server import KEY
from support.stand_ins import qdrant_by_grpc
from support.stores import faults, make_node, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError
from raptor_core.store import Where


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
    assert {
        "UpdateBatch",
        "Get",
        "Scroll",
        "Count",
        "QueryBatch",
        "Create",
        "CreateFieldIndex",
    } <= set(service.calls)


def test_faults_that_pass_are_asked_again_and_others_told(service):
    from grpc import StatusCode

    with opened(service) as store:
        service.faults = [StatusCode.UNAVAILABLE, None, StatusCode.RESOURCE_EXHAUSTED] * 5
        publish(store, make_tree())
        service.faults = []
        assert store.count() == 15
        service.calls.clear()
        service.faults = [StatusCode.PERMISSION_DENIED]
        with pytest.raises(StoreError, match=r"PERMISSION_DENIED.*check the key in QDRANT_API_KEY"):
            store.count()
        assert len(service.calls) == 1
        service.faults = [StatusCode.UNAVAILABLE] * 9
        with pytest.raises(StoreError, match="UNAVAILABLE"):
            store.count()
        service.faults = []


def test_the_key_goes_along_and_stands_in_no_message(service, monkeypatch):
    service.keyed = True
    with pytest.raises(StoreError, match=r"UNAUTHENTICATED.*\(not set\)"):
        opened(service)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    opened(service).close()
    monkeypatch.setenv("QDRANT_API_KEY", "another-key")
    with pytest.raises(StoreError, match="UNAUTHENTICATED") as caught:
        opened(service)
    assert "another-key" not in str(caught.value)


def test_an_own_authority_is_trusted_by_grpc(qdrant_server, authority):
    from grpc import ssl_server_credentials

    pair = ((authority / "key.pem").read_bytes(), (authority / "ca.pem").read_bytes())
    with qdrant_by_grpc(qdrant_server, ssl_server_credentials([pair])) as service:
        with opened(service, "https", tls_ca=str(authority / "ca.pem")) as store:
            assert publish(store, make_tree()).added == 15
            assert store.count() == 15
        with pytest.raises(StoreError, match="UNAVAILABLE"):
            opened(service, "https", max_retries=0)
