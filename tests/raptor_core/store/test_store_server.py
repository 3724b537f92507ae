"""Server mode at the wire: what is sent, and what is said when the server fails."""

import socket
from dataclasses import replace

import pytest
from support.stores import IDENTITY, make_manifest, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError, StoreMismatchError
from raptor_core.settings.models import StoreSettings
from raptor_core.store import stored_identity

KEY = "planted-secret-key"


def settings_for(stand_in):
    return StoreSettings(kind="server", url=stand_in.url)


def test_the_collection_is_made_whole_before_its_alias(stand_in):
    open_at(None, "server", url=stand_in.url).close()
    paths = [path.partition("?")[0] for method, path, _, _ in stand_in.requests if method != "GET"]
    made = "/collections/corpus-ab12cd34"
    assert paths[0] == made
    assert paths.index(f"{made}/points/batch") < paths.index("/collections/aliases")
    assert stand_in.indexes["tree"]["is_tenant"] is True
    assert stand_in.indexes["layer"]["type"] == "integer"
    assert stored_identity(settings_for(stand_in), None) == IDENTITY


def test_a_corpus_is_found_again_by_its_alias(stand_in):
    with open_at(None, "server", url=stand_in.url) as store:
        publish(store, make_tree())
    with open_at(None, "server", identity=None, url=stand_in.url) as store:
        assert store.identity == IDENTITY
        assert store.count() == 15


def test_a_publication_is_one_ordered_request_that_is_waited_for(stand_in):
    with open_at(None, "server", url=stand_in.url) as store:
        old, new = make_tree(word="old"), make_tree(word="new")
        publish(store, old)
        store.stage(new, vectors_of(new))
        stand_in.requests.clear()
        store.publish(make_manifest(new), new)
    writes = [request for request in stand_in.requests if "batch?" in request[1]]
    writes = [request for request in writes if "query" not in request[1]]
    assert len(writes) == 1
    _, path, body, _ = writes[0]
    assert "wait=true" in path
    assert "ordering=strong" in path
    assert [next(iter(operation)) for operation in body["operations"]] == ["upsert", "delete"]


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


def test_a_collection_of_somebody_else_is_refused(stand_in):
    stand_in.client.create_collection("theirs", vectors_config={})
    stand_in.on_change_aliases(
        {"actions": [{"create_alias": {"collection_name": "theirs", "alias_name": "corpus"}}]}
    )
    with pytest.raises(StoreError, match="not made by this program"):
        open_at(None, "server", url=stand_in.url)


def test_a_dead_server_is_named_with_the_remedy():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(StoreError, match=rf"{url}.*store\.url") as caught:
        open_at(None, "server", url=url)
    assert "QDRANT_API_KEY (not set)" in str(caught.value)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
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
            lambda: store.stage(make_tree(word="new"), None),
        ):
            with pytest.raises(StoreError, match=stand_in.url):
                call()
        stand_in.fail_with = None
        assert store.count() == 15
