"""A home's folders, Dagster's instance settings in it, and the precision of its store."""

import socketserver
import subprocess
import threading
from pathlib import Path

import pytest
from support.command import Place

from raptor_assets.corpus.raptor_corpus import build_raptor_corpus
from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance
from raptor_assets.local.storage import PooledSqliteEventLogStorage
from raptor_core.store import stored_identity


def test_a_path_wins_over_the_variable_and_the_variable_over_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("RAPTOR_HOME", str(tmp_path / "env"))
    assert Home.at(tmp_path / "here").path == tmp_path / "here"
    assert Home.at().path == tmp_path / "env"
    monkeypatch.delenv("RAPTOR_HOME")
    assert Home.at().path == Path.cwd() / ".raptor"


def test_telemetry_and_the_sign_up_dialog_are_off(tmp_path):
    with open_instance(Home(tmp_path / "h")) as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
        assert isinstance(instance.event_log_storage, PooledSqliteEventLogStorage)
        assert instance.get_concurrency_config().run_queue_config.max_concurrent_runs == 1


def test_a_moved_home_keeps_its_record_in_its_new_place(tmp_path):
    with open_instance(Home(tmp_path / "old's")) as instance:
        instance.add_dynamic_partitions("trees", ["a"])
    (tmp_path / "old's").rename(tmp_path / "new")
    with open_instance(Home(tmp_path / "new")) as instance:
        assert list(instance.get_dynamic_partitions("trees")) == ["a"]
    assert not (tmp_path / "old's").exists()


def test_git_keeps_the_settings_of_a_home_and_nothing_else(tmp_path):
    def git(*arguments):
        command = ["git", "-C", tmp_path, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    home = Home.at(tmp_path / "home")
    home.ensure()
    (home.path / "raptor.toml").write_text("")
    (home.path / "tables" / "nodes.parquet").write_text("")
    shown = git("status", "--porcelain", "--untracked-files=all").split()
    assert shown[1::2] == ["home/.gitignore", "home/raptor.toml"]


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.write("tides.txt", "The gauge stands in the harbour. The ferry is late when it storms.")
    assert place.call("init", place.docs).code == 0
    return place


def stored(place):
    home = Home.at(place.home)
    return stored_identity(home.load_settings().store, home.qdrant).embedder_fingerprint


@pytest.mark.slow
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
