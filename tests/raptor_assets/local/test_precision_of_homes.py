"""The precision of a home's store, and definitions that do not look at a store."""

import socketserver
import threading

import pytest
from support.command import Place

from raptor_assets.corpus.raptor_corpus import build_raptor_corpus
from raptor_assets.home.folder import Home
from raptor_core.store import stored_identity

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.write("tides.txt", "The gauge stands in the harbour. The ferry is late when it storms.")
    assert place.call("init", place.docs).code == 0
    return place


def stored(place):
    home = Home.at(place.home)
    return stored_identity(home.load_settings().store, home.qdrant).embedder_fingerprint


@pytest.mark.rare
def test_another_precision_is_refused_until_another_corpus_is_built_with_it(place):
    full, half = ({"RAPTOR_EMBEDDER__PRECISION": value} for value in ("float32", "bfloat16"))
    assert place.call("build", **full).code == 0
    made_with = stored(place)
    refused = place.call("query", "when is the ferry late?", **half)
    assert refused.code != 0
    assert "was made for" in refused.err
    for command in ("plan", "build"):
        refused = place.call(command, **half)
        assert refused.code != 0
        assert 'store.corpus = "corpus_2"' in refused.err
    assert stored(place) == made_with
    assert place.call("build", **half, RAPTOR_STORE__CORPUS="corpus_2").code == 0
    assert stored(place) == made_with
    for corpus, precision in (("corpus", full), ("corpus_2", half)):
        asked = place.call(
            "query", "when is the ferry late?", RAPTOR_STORE__CORPUS=corpus, **precision
        )
        assert asked.code == 0


def test_definitions_load_though_the_server_is_down_and_do_not_insist(tmp_path):
    n_asked = []

    class Cut(socketserver.BaseRequestHandler):
        def handle(self):
            n_asked.append(1)

    with socketserver.TCPServer(("127.0.0.1", 0), Cut) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        store = {"kind": "server", "url": f"http://127.0.0.1:{server.server_address[1]}"}
        team = build_raptor_corpus("team", home=tmp_path, store=store)
        server.shutdown()
    assert "team_build" in {job.name for job in team.resolve_all_job_defs()}
    assert n_asked == []
