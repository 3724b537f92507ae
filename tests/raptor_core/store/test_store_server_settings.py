"""Settings of a server: TLS, layout of collections, how a search is asked for."""

import ssl

import numpy as np
import pytest
from pydantic import ValidationError
from support.qdrant_server import KEY
from support.stand_ins import qdrant_stand_in
from support.stores import make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings

NAME = "corpus-ab12cd34"


def opened(stand_in, **settings):
    return open_at(None, "server", url=stand_in.url, **settings)


def searches(stand_in):
    """Every single search that was asked for, by its vector."""
    asked = [body["searches"] for _, path, body, _ in stand_in.requests if "query/batch" in path]
    found = {"dense": [], "lexical": []}
    for one in (search for batch in asked for search in batch):
        found[one["using"]].append(one)
    return found


@pytest.fixture
def tls_stand_in(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "ca.pem", authority / "key.pem")
    with qdrant_stand_in(context) as server:
        yield server


def test_an_own_authority_is_trusted_and_no_other(tls_stand_in, authority, monkeypatch, tmp_path):
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    tls_stand_in.keyed = True
    with opened(tls_stand_in, tls_ca=str(authority / "ca.pem")) as store:
        assert publish(store, make_tree()).added == 15
        assert store.count() == 15
    with pytest.raises(StoreError, match="CERTIFICATE_VERIFY_FAILED"):
        opened(tls_stand_in, max_retries=0)
    with opened(tls_stand_in, tls_verify=False) as store:
        assert store.count() == 15
    (tmp_path / "no.pem").write_text("no certificate")
    for path in (tmp_path / "no.pem", tmp_path / "none.pem"):
        with pytest.raises(StoreError, match=rf"store\.tls_ca: {path} is no readable PEM"):
            opened(tls_stand_in, tls_ca=str(path))


def test_what_is_left_to_the_server_is_not_sent(stand_in):
    opened(stand_in, indexing_threshold=-1).close()
    assert stand_in.created[NAME] == {
        "vectors": {"dense": {"size": 16, "distance": "Cosine", "on_disk": False}},
        "sparse_vectors": {"lexical": {"modifier": "idf"}},
        "on_disk_payload": True,
    }


def test_a_collection_is_laid_out_as_the_settings_say(stand_in):
    opened(
        stand_in,
        shard_number=6,
        replication_factor=2,
        write_consistency_factor=2,
        on_disk_vectors=True,
        on_disk_payload=False,
        quantization="scalar",
        indexing_threshold=20_000,
        hnsw_m=0,
        hnsw_payload_m=16,
        hnsw_ef_construct=200,
    ).close()
    made = stand_in.created[NAME]
    dense = made["vectors"]["dense"]
    assert (made["shard_number"], made["replication_factor"]) == (6, 2)
    assert made["write_consistency_factor"] == 2
    assert made["on_disk_payload"] is False
    assert made["optimizers_config"] == {"indexing_threshold": 20_000}
    assert dense["on_disk"] is True
    assert dense["hnsw_config"] == {"m": 0, "payload_m": 16, "ef_construct": 200}
    scalar = {"type": "int8", "quantile": 0.99, "always_ram": True}
    assert dense["quantization_config"] == {"scalar": scalar}
    assert stand_in.indexes["tree"] == {"type": "keyword", "enable_hnsw": True}


def test_a_search_over_quantized_vectors_is_scored_by_whole_ones(stand_in):
    nodes = make_tree()
    with opened(stand_in, quantization="binary", oversampling=3.0, hnsw_ef=256) as store:
        made = stand_in.created[NAME]["vectors"]["dense"]
        assert made["quantization_config"] == {"binary": {"always_ram": True}}
        publish(store, nodes)
        store.search(vectors_of(nodes[:2]), 3)
        store.search_text(["leaf"], 3)
    asked = searches(stand_in)
    quantized = {"rescore": True, "oversampling": 3.0}
    wanted = {"hnsw_ef": 256, "quantization": quantized}
    assert len(asked["dense"]) >= 2
    for search in asked["dense"]:
        assert {key: v for key, v in search["params"].items() if v is not None} == wanted
    assert asked["lexical"]
    live = {"must": [{"key": "state", "match": {"value": "live"}}]}
    assert asked["lexical"][0]["params"]["idf"] == {"corpus": live}


def test_a_search_that_is_left_to_the_server_sends_no_parameters(stand_in):
    with opened(stand_in, hnsw_ef=0) as store:
        publish(store, make_tree())
        store.search(np.eye(1, 16, dtype=np.float32), 3)
    sent = {tuple(sorted(search)) for search in searches(stand_in)["dense"]}
    assert sent == {("filter", "limit", "query", "using", "with_payload")}


def test_reads_ask_for_the_copies_that_must_agree(stand_in):
    with opened(stand_in, read_consistency="quorum") as store:
        publish(store, make_tree())
        assert store.count() == len(store.nodes()) == 15
        store.search(np.eye(1, 16, dtype=np.float32), 3)
        store.search_text(["leaf"], 3)
    reads = [
        path for _, path, *_ in stand_in.requests if path.partition("?")[0].endswith("query/batch")
    ]
    assert len(reads) >= 2
    assert all("consistency=quorum" in path for path in reads)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"grpc": True, "tls_verify": False}, "store.tls_ca"),
        ({"replication_factor": 2, "write_consistency_factor": 3}, "more copies than there are"),
        ({"hnsw_ef_construct": 2}, "4 or more"),
        ({"oversampling": 0.5}, "greater than or equal to 1"),
    ],
)
def test_settings_that_no_server_could_follow_are_refused(values, told):
    with pytest.raises(ValidationError, match=told):
        StoreSettings(kind="server", url="https://x", **values)
