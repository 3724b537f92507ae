"""A real server's own TLS and keys, without anything between."""

import pytest
from support.qdrant_server import KEY, READING_KEY, QdrantServer
from support.stores import faults, make_tree, open_at, publish

from raptor_core.errors import StoreError


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.parametrize("by_grpc", [False, True])
def test_keys_go_over_the_server_s_own_tls(tmp_path, authority, monkeypatch, by_grpc):
    server = QdrantServer(
        tmp_path / "server",
        service__enable_tls="true",
        tls__cert=str(authority / "ca.pem"),
        tls__key=str(authority / "key.pem"),
    )
    settings = {"url": server.url, "grpc_port": server.grpc_port if by_grpc else 0}
    trusted = {**settings, "tls_ca": str(authority / "ca.pem")}
    try:
        server.start()
        monkeypatch.setenv("QDRANT_API_KEY", KEY)
        with open_at(None, "server", **trusted) as store:
            assert publish(store, make_tree()).added == 15
        monkeypatch.setenv("QDRANT_API_KEY", READING_KEY)
        with open_at(None, "server", None, **trusted) as store:
            assert faults(store) == []
            with pytest.raises(StoreError, match="check the key in QDRANT_API_KEY"):
                store.drop("t")
        with pytest.raises(StoreError, match=r"CERTIFICATE_VERIFY_FAILED.*in store\.tls_ca$"):
            open_at(None, "server", None, max_retries=0, **settings)
    finally:
        server.kill()
