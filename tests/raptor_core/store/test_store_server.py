"""Server mode at the wire: what is sent, and what is said when the server fails."""

import socket

import pytest
from qdrant_client import QdrantClient, models
from support.stores import IDENTITY, make_tree, open_at, publish

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import stored_identity
from raptor_core.store.collection import SCHEMA
from raptor_core.store.server import METADATA

KEY = "planted-secret-key"


def settings_for(stand_in):
    return StoreSettings(kind="server", url=stand_in.url)


def test_a_collection_is_made_with_its_record_and_what_lacks_of_its_indexes(stand_in):
    open_at(None, "server", url=stand_in.url).close()
    paths = [path.partition("?")[0] for method, path, _, _ in stand_in.requests if method != "GET"]
    assert paths == ["/collections/corpus", *["/collections/corpus/index"] * 9]
    assert stand_in.indexed["corpus"]["layer"]["type"] == "integer"
    assert stored_identity(settings_for(stand_in), None) == IDENTITY
    del stand_in.indexed["corpus"]["layer"]  # as after a death before the last one
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


def test_a_reader_that_stays_open_sees_what_others_publish_and_drop(stand_in):
    with (
        open_at(None, "server", url=stand_in.url) as store,
        open_at(None, "server", identity=None, url=stand_in.url) as reader,
    ):
        assert (reader.nodes(), reader.count()) == ([], 0)
        publish(store, make_tree(word="old"))
        assert reader.search_text(["leaf 2"], 1)[0][0].node.text == "old leaf 2 of t"
        publish(store, make_tree("beside", 1, "beside"), "beside")
        store.drop("t")
        assert {node.tree for node in reader.nodes()} == {"beside"}
        assert reader.search_text(["old"], 9)[0] == []


def test_a_plain_client_reads_a_layer_by_its_fields(stand_in):
    nodes = make_tree()
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, nodes)
    client = QdrantClient(url=stand_in.url, check_compatibility=False)
    fields = {"state": "live", "tree": "t", "layer": 0}
    must = [
        models.FieldCondition(key=key, match=models.MatchValue(value=value))
        for key, value in fields.items()
    ]
    points, _ = client.scroll("corpus", models.Filter(must=must), limit=100)
    client.close()
    texts = {(point.payload["node_id"], point.payload["text"]) for point in points}
    assert texts == {(node.id, node.text) for node in nodes if node.layer == 0}


def test_reading_a_corpus_that_is_not_there_makes_nothing(stand_in):
    with pytest.raises(StoreError, match="build it first"):
        open_at(None, "server", identity=None, url=stand_in.url)
    assert stored_identity(settings_for(stand_in), None) is None
    assert {method for method, *_ in stand_in.requests} == {"GET"}


@pytest.mark.parametrize("schema", [SCHEMA + 1, SCHEMA - 1])
def test_a_collection_of_another_schema_is_left_as_it_is(stand_in, schema):
    open_at(None, "server", url=stand_in.url).close()
    theirs = {METADATA: {"schema": schema}}
    stand_in.client.update_collection("corpus", metadata=theirs)
    for identity in (IDENTITY, None):
        with pytest.raises(StoreMismatchError, match=f"schema {schema}.*raptor export"):
            open_at(None, "server", identity=identity, url=stand_in.url)
    with pytest.raises(StoreMismatchError, match="raptor export"):
        stored_identity(settings_for(stand_in), None)
    kept = stand_in.client.get_collection("corpus").config.metadata
    assert kept[METADATA]["schema"] == schema


@pytest.mark.parametrize("metadata", [None, {"theirs": 1}, {METADATA: {}}, {METADATA: 7}])
def test_a_collection_of_somebody_else_is_refused(stand_in, metadata):
    stand_in.client.create_collection("corpus", vectors_config={}, metadata=metadata)
    for identity in (IDENTITY, None):
        with pytest.raises(StoreError, match=r"not (made by|of) this program.*store\.corpus"):
            open_at(None, "server", identity=identity, url=stand_in.url)


def test_a_dead_server_is_named_with_the_remedy():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(StoreError, match=rf"{url}.*store\.url") as caught:
        open_at(None, "server", url=url, max_retries=0)
    assert "QDRANT_API_KEY (not set)" in str(caught.value)


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
