"""Server mode at the wire: requests, settings of collections, and errors of the server."""

import ssl
from dataclasses import replace

import pytest
from qdrant_client import QdrantClient
from support.qdrant_server import KEY
from support.stand_ins import qdrant_stand_in
from support.stores import IDENTITY, make_tree, open_at, publish

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Where, read_stored_identity
from raptor_core.store.engines.base import Condition, Match
from raptor_core.store.engines.layout import CollectionLayout
from raptor_core.store.engines.qdrant import ClientEngine
from raptor_core.store.engines.retries import CollectionPlace
from raptor_core.store.server import METADATA


def settings_for(stand_in):
    return StoreSettings(kind="server", url=stand_in.url)


def test_a_collection_is_made_with_its_record_and_what_lacks_of_its_indexes(stand_in):
    open_at(None, "server", url=stand_in.url).close()
    paths = [path.partition("?")[0] for method, path, _, _ in stand_in.requests if method != "GET"]
    made = "/collections/corpus.ab12cd34"
    assert paths == [made, "/collections/aliases", *[f"{made}/index"] * 9]
    assert stand_in.indexed["corpus.ab12cd34"]["layer"]["type"] == "integer"
    assert read_stored_identity(settings_for(stand_in), None) == IDENTITY
    del stand_in.indexed["corpus.ab12cd34"]["layer"]  # as after a death before the last one
    stand_in.requests.clear()
    open_at(None, "server", url=stand_in.url).close()
    assert [body["field_name"] for method, _, body, _ in stand_in.requests if method != "GET"] == [
        "layer"
    ]


def test_a_publication_is_one_request_with_its_manifest_last(stand_in):
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, make_tree(word="old"))
        stand_in.requests.clear()
        publish(store, make_tree(word="new"))
    staging, publication = (
        body["operations"] for _, path, body, _ in stand_in.requests if "points/batch?wait" in path
    )
    assert [next(iter(one)) for one in publication] == ["upsert", "set_payload", "delete", "upsert"]
    states = [
        {point["payload"]["state"] for point in one["upsert"]["points"]}
        for one in (*staging, publication[0], publication[3])
    ]
    assert states == [{"staged"}, {"manifest"}, {"manifest"}]


def test_a_strict_server_takes_a_range_of_numbers_and_one_that_no_document_has(stand_in):
    tree = [replace(node, metadata={"pages": node.position}) for node in make_tree()]
    early, late = {"pages": {"lt": 2}}, {"pages": {"gte": 2}}
    with (
        open_at(None, "server", url=stand_in.url) as store,
        open_at(None, "server", identity=None, url=stand_in.url) as reader,
    ):
        assert reader.count(Where(layers=(0,), metadata=early)) == 0
        publish(store, tree)
        for each in (store, reader):
            assert each.count(Where(layers=(0,), metadata=early)) == 2
            assert len(each.nodes(Where(layers=(0,), exclude=Where(metadata=early)))) == 10
            (found,) = each.search_text(["leaf"], 20, Where(layers=(0,), metadata=late))
            assert {hit.node.position for hit in found} == {*range(2, 12)}
            for unknown in ({"price": {"gt": 1}}, {"pages": {"gt": "2024-01-01"}}):
                assert each.nodes(Where(metadata=unknown)) == []
                assert each.count(Where(layers=(0,), exclude=Where(metadata=unknown))) == 12
        stand_in.requests.clear()
        publish(store, [replace(node, text=f"new {node.text}") for node in tree])
        assert not [path for _, path, _, _ in stand_in.requests if "/index" in path]
    engine = ClientEngine(
        QdrantClient(url=stand_in.url, check_compatibility=False),
        "corpus",
        CollectionPlace("server", "index it"),
        CollectionLayout(StoreSettings(kind="server", url=stand_in.url)),
    )
    with pytest.raises(StoreError, match="Index required for 'text'"):
        engine.count(Condition((Match("text", ("words",)),)))


@pytest.mark.parametrize("metadata", [None, {"theirs": 1}, {METADATA: {}}, {METADATA: 7}])
def test_a_collection_of_somebody_else_is_refused(stand_in, metadata):
    stand_in.client.create_collection("corpus", vectors_config={}, metadata=metadata)
    for identity in (IDENTITY, None):
        with pytest.raises(StoreError, match=r"not (made by|from) this program.*store\.corpus"):
            open_at(None, "server", identity=identity, url=stand_in.url)


def test_the_key_comes_from_the_environment_and_is_never_shown(stand_in, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    stand_in.fail_with = (401, f'{{"status": {{"error": "bad key {KEY}"}}}}'.encode())
    with pytest.raises(StoreError, match="401") as caught:
        open_at(None, "server", url=stand_in.url)
    assert stand_in.requests[0][3]["api-key"] == KEY
    error = caught.value
    assert "QDRANT_API_KEY (set)" in str(error)
    assert KEY not in f"{error} {error.__cause__!r}"
    assert "bad key ***" in str(error)


@pytest.mark.parametrize(
    "answer", [(500, b""), (503, b"busy"), (200, b"<html>proxy</html>"), (200, b"{}")]
)
def test_whatever_a_broken_server_says_is_a_store_error(stand_in, answer):
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, make_tree())
        stand_in.fail_with = answer
        for call in (
            store.count,
            store.nodes,
            lambda: store.search_text(["leaf"], 3),
            lambda: store.drop("t"),
        ):
            with pytest.raises(StoreError, match=stand_in.url):
                call()
        stand_in.fail_with = None
        assert store.count() == 15


NAME = "corpus"


def opened(stand_in, **settings):
    return open_at(None, "server", url=stand_in.url, **settings)


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
        with pytest.raises(StoreError, match=rf"store\.tls_ca: {path} is not a readable PEM"):
            opened(tls_stand_in, tls_ca=str(path))


def test_a_collection_has_our_defaults_and_a_server_chooses_the_rest(stand_in):
    opened(stand_in).close()
    made = stand_in.created[f"{NAME}.ab12cd34"]
    assert {option: made[option] for option in made if option != "metadata"} == {
        "vectors": {"dense": {"size": 16, "distance": "Cosine"}},
        "sparse_vectors": {"lexical": {"modifier": "idf"}},
        "on_disk_payload": True,
        "optimizers_config": {"indexing_threshold": 150_000},
    }
    assert stand_in.indexed[f"{NAME}.ab12cd34"]["tree"] == {"type": "keyword", "enable_hnsw": True}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"search": {"hnsw_eff": 9}}, r"store\.search\.hnsw_eff: .*Qdrant's own SearchParams"),
        ({"collection": {"shard_number": "six"}}, r"store\.collection\.shard_number: "),
        ({"collection": {"vectors": {"on": True}}}, r"store\.collection\.vectors\.on: "),
    ],
)
def test_options_that_qdrant_does_not_know_are_refused(stand_in, values, message):
    with pytest.raises(StoreError, match=message):
        opened(stand_in, **values)
