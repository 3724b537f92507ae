"""A home: its folders, the settings of its Dagster instance, and the embedder of its store."""

import socketserver
import threading
from pathlib import Path

import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder

from raptor_assets.corpus.raptor_corpus import build_raptor_corpus
from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance_and_clean_up
from raptor_assets.local.storage import PooledSqliteEventLogStorage


def test_a_path_wins_over_the_variable_and_the_variable_over_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("RAPTOR_HOME", str(tmp_path / "env"))
    assert Home.at(tmp_path / "here").path == tmp_path / "here"
    assert Home.at().path == tmp_path / "env"
    monkeypatch.delenv("RAPTOR_HOME")
    assert Home.at().path == Path.cwd() / ".raptor"


def test_telemetry_and_the_sign_up_dialog_are_off(tmp_path):
    with open_instance_and_clean_up(Home(tmp_path / "h")) as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
        assert isinstance(instance.event_log_storage, PooledSqliteEventLogStorage)
        assert instance.get_concurrency_config().run_queue_config.max_concurrent_runs == 1


def test_a_moved_home_keeps_its_record_in_its_new_place(tmp_path):
    with open_instance_and_clean_up(Home(tmp_path / "old's")) as instance:
        instance.add_dynamic_partitions("trees", ["a"])
    (tmp_path / "old's").rename(tmp_path / "new")
    with open_instance_and_clean_up(Home(tmp_path / "new")) as instance:
        assert list(instance.get_dynamic_partitions("trees")) == ["a"]
    assert not (tmp_path / "old's").exists()


class Other(HashingEmbedder):
    model = "another"
    fingerprint = "f" * 32


@pytest.mark.slow
def test_another_embedder_is_refused_and_built_beside_under_another_name(tmp_path):
    place = Place(tmp_path)
    place.write("tides.txt", "The gauge stands in the harbour. The ferry is late when it storms.")
    place.call("init", place.docs)
    with embedder_made_by(lambda *_: HashingEmbedder()):
        assert place.call("build").code == 0
        before = place.call("query", "ferry", "--json").json
    with embedder_made_by(lambda *_: Other()):
        for command in (["query", "ferry"], ["plan"], ["build"]):
            refused = place.call(*command, "--json")
            assert (refused.code, refused.json["error"]) == (1, "StoreMismatchError")
            assert command[0] == "query" or "corpus_2" in refused.json["message"]
        beside = {"RAPTOR_STORE__CORPUS": "corpus_2"}
        assert place.call("build", "--json", **beside).json["built"] == ["tides.txt"]
        assert place.call("query", "ferry", **beside).code == 0
    with embedder_made_by(lambda *_: HashingEmbedder()):
        assert place.call("query", "ferry", "--json").json == before


@pytest.mark.slow
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
