"""Server mode at the wire: what is sent, and what is said when the server fails."""

import socket
import threading
import time
from dataclasses import replace

import pytest
from qdrant_client import models
from support.stores import (
    IDENTITY,
    make_tree,
    open_at,
    publish,
    rebuild,
    vectors_of,
)

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store import Where, stored_identity
from raptor_core.store.server import IDENTITY_ID, SCHEMA

KEY = "planted-secret-key"


def settings_for(stand_in):
    return StoreSettings(kind="server", url=stand_in.url)


def test_the_collection_is_made_whole_before_its_alias(stand_in):
    open_at(None, "server", url=stand_in.url).close()
    paths = [path.partition("?")[0] for method, path, _, _ in stand_in.requests if method != "GET"]
    made = "/collections/corpus-ab12cd34"
    assert paths[0] == made
    assert paths.index(f"{made}/points/batch") < paths.index("/collections/aliases")
    assert not stand_in.indexes["tree"].get("is_tenant")
    assert stand_in.indexes["layer"]["type"] == "integer"
    assert stored_identity(settings_for(stand_in), None) == IDENTITY


def test_a_corpus_is_found_again_by_its_alias(stand_in):
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, make_tree())
    with open_at(None, "server", identity=None, url=stand_in.url) as store:
        assert store.identity == IDENTITY
        assert store.count() == 15


def test_a_publication_is_three_ordered_requests(stand_in):
    with open_at(None, "server", url=stand_in.url) as store:
        old, new = make_tree(word="old"), make_tree(word="new")
        publish(store, old)
        stand_in.requests.clear()
        publish(store, new)
    writes = [request for request in stand_in.requests if "batch?" in request[1]]
    writes = [request for request in writes if "query" not in request[1]]
    assert all("wait=true" in path and "ordering=medium" in path for _, path, *_ in writes)
    operations = [[next(iter(one)) for one in body["operations"]] for _, _, body, _ in writes]
    assert operations == [["upsert"], ["upsert"], ["delete", "delete", "delete_payload"]]
    states = [
        {point["payload"]["state"] for point in body["operations"][0]["upsert"]["points"]}
        for _, _, body, _ in writes[:2]
    ]
    assert states == [{"live"}, {"manifest"}]


def test_a_tie_among_the_points_asked_for_takes_no_request_more(stand_in):
    nodes = make_tree(n=4)
    same = [replace(node, text="one and the same") for node in nodes]
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, same)
        store.search_text(["same"], 2)
        stand_in.requests.clear()
        (found,) = store.search_text(["same"], 2)
    assert [hit.node.id for hit in found] == sorted(node.id for node in same)[:2]
    assert sum("query" in path for _, path, *_ in stand_in.requests) == 1


def test_values_of_a_filter_are_sent_once_each(stand_in):
    twice = Where(trees=("t", "t"), documents=("d0.md", "d0.md"), layers=(0, 0))
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, make_tree())
        assert store.count(twice) == 4
        assert len(store.manifests(["t", "t"])) == 1
    asked = stand_in.requests[-1][2]["with_payload"]
    assert "manifest" in asked  # a tree's counts of terms may be long
    assert "terms" not in asked
    assert stand_in.wrong == []


def test_reading_a_corpus_that_is_not_there_makes_nothing(stand_in):
    with pytest.raises(StoreError, match="build it first"):
        open_at(None, "server", identity=None, url=stand_in.url)
    assert stored_identity(settings_for(stand_in), None) is None
    assert {method for method, *_ in stand_in.requests} == {"GET"}


def test_another_embedder_is_refused(stand_in):
    open_at(None, "server", url=stand_in.url).close()
    other = replace(IDENTITY, embedder_fingerprint="ffff00001111", embedder_model="newer")
    with pytest.raises(StoreMismatchError, match=r"sample-model.*newer"):
        open_at(None, "server", identity=other, url=stand_in.url)


@pytest.mark.parametrize("schema", [SCHEMA + 1, SCHEMA - 1])
def test_a_collection_of_another_schema_is_left_as_it_is(stand_in, schema):
    open_at(None, "server", url=stand_in.url).close()
    name, point = "corpus-ab12cd34", IDENTITY_ID
    stand_in.client.set_payload(name, {"schema": schema}, points=[point])
    for identity in (IDENTITY, None):
        with pytest.raises(StoreMismatchError, match=f"schema {schema}.*raptor export"):
            open_at(None, "server", identity=identity, url=stand_in.url)
    with pytest.raises(StoreMismatchError, match="raptor export"):
        stored_identity(settings_for(stand_in), None)
    assert stand_in.points(name)[0].payload["schema"] == schema


def test_a_collection_of_somebody_else_is_refused(stand_in):
    stand_in.client.create_collection("theirs", vectors_config={})
    alias = models.CreateAlias(collection_name="theirs", alias_name="corpus")
    actions = [models.CreateAliasOperation(create_alias=alias)]
    stand_in.client.update_collection_aliases(actions)
    with pytest.raises(StoreError, match="not made by this program"):
        open_at(None, "server", url=stand_in.url)


def test_a_dead_server_is_named_with_the_remedy():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(StoreError, match=rf"{url}.*store\.url") as caught:
        open_at(None, "server", url=url, max_retries=0)
    assert "QDRANT_API_KEY (not set)" in str(caught.value)


def test_a_line_break_after_the_key_is_left_out(stand_in, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", f" {KEY}\n")
    open_at(None, "server", url=stand_in.url).close()
    assert stand_in.requests[0][3]["api-key"] == KEY


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


@pytest.mark.slow
def test_readers_see_whole_trees_while_a_server_applies_point_by_point(stand_in):
    builds = [rebuild("t", number) for number in range(8)]
    expected = {frozenset(node.id for node in nodes) for nodes in builds}
    found, done = [], threading.Event()

    def read():
        with open_at(None, "server", identity=None, url=stand_in.url) as store:
            while not done.is_set():
                found.append(store.nodes())
                found.append([hit.node for hit in store.search_text(["of t"], 99)[0]])
                found.append([hit.node for hit in store.search(vectors_of(builds[0][:1]), 99)[0]])

    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, builds[0])
        stand_in.point_by_point = True
        reader = threading.Thread(target=read)
        reader.start()
        for nodes in builds[1:]:
            publish(store, nodes)
            time.sleep(0.1)
        done.set()
        reader.join()
    seen = [frozenset(node.id for node in nodes) for nodes in found]
    assert set(seen) <= expected
    assert len(set(seen)) > 2
