"""Settings of a server: TLS, layout of collections, how a search is asked for."""

import ssl

import pytest
from support.qdrant_server import KEY
from support.stand_ins import qdrant_stand_in
from support.stores import make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError

NAME = "corpus"


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
    (tmp_path / "no.pem").write_text("no certificate")
    for path in (tmp_path / "no.pem", tmp_path / "none.pem"):
        with pytest.raises(StoreError, match=rf"store\.tls_ca: {path} is no readable PEM"):
            opened(tls_stand_in, tls_ca=str(path))


def test_a_collection_has_our_defaults_and_a_server_chooses_the_rest(stand_in):
    opened(stand_in).close()
    made = stand_in.created[NAME]
    assert {option: made[option] for option in made if option != "metadata"} == {
        "vectors": {"dense": {"size": 16, "distance": "Cosine"}},
        "sparse_vectors": {"lexical": {"modifier": "idf"}},
        "on_disk_payload": True,
        "optimizers_config": {"indexing_threshold": 150_000},
    }
    assert stand_in.indexed[NAME]["tree"] == {"type": "keyword", "enable_hnsw": True}


OPTIONS = {
    "shard_number": 6,
    "replication_factor": 2,
    "write_consistency_factor": 2,
    "on_disk_payload": False,
    "optimizers_config": {"indexing_threshold": 20_000},
    "hnsw_config": {"m": 0, "payload_m": 16, "ef_construct": 200},
    "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}},
}


def test_a_collection_has_the_options_of_the_settings(stand_in):
    opened(stand_in, collection={**OPTIONS, "vectors": {"on_disk": True}}).close()
    made = stand_in.created[NAME]
    assert made["vectors"]["dense"] == {"size": 16, "distance": "Cosine", "on_disk": True}
    assert {option: made[option] for option in OPTIONS} == OPTIONS


def test_searches_by_vectors_have_the_options_of_the_settings(stand_in):
    nodes, quantized = make_tree(), {"rescore": True, "oversampling": 3.0}
    with opened(stand_in, search={"quantization": quantized}) as store:
        publish(store, nodes)
        store.search(vectors_of(nodes[:2]), 3)
        store.search_text(["leaf"], 3)
    asked = searches(stand_in)
    wanted = {"hnsw_ef": 256, "quantization": quantized}
    assert len(asked["dense"]) >= 2
    for search in asked["dense"]:
        assert {key: v for key, v in search["params"].items() if v is not None} == wanted
    live = {"must": [{"key": "state", "match": {"value": "live"}}]}
    assert asked["lexical"][0]["params"]["idf"] == {"corpus": live}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"search": {"hnsw_eff": 9}}, r"store\.search\.hnsw_eff: .*Qdrant's own SearchParams"),
        ({"collection": {"shard_number": "six"}}, r"store\.collection\.shard_number: "),
        ({"collection": {"vectors": {"on": True}}}, r"store\.collection\.vectors\.on: "),
    ],
)
def test_options_that_qdrant_does_not_know_are_refused(stand_in, values, told):
    with pytest.raises(StoreError, match=told):
        opened(stand_in, **values)
