"""Dagster's records on a real PostgreSQL server, which is killed, restarted and denied."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
from support.build_process import LoggedEmbedder
from support.command import Place, embedder_made_by
from support.sensor_daemon import Daemon
from support.servers import INSTANCE, keep_records_in
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose, settings_text

from raptor_assets.home.folder import Home
from raptor_assets.home.records import URL_VARIABLE, open_records, open_shared_cache, uses_postgres
from raptor_assets.local.status import read_costs, read_status
from raptor_core.errors import DagsterStorageError, SettingsError

pytestmark = [pytest.mark.slow, pytest.mark.rare]


@pytest.fixture
def workshop(postgres, tmp_path, monkeypatch):
    made = Workshop(tmp_path)
    keep_records_in(postgres.new_database(), made.home, monkeypatch)
    return made


@pytest.fixture
def place(postgres, tmp_path, monkeypatch):
    """A home for the command, with one document."""
    made = Place(tmp_path)
    keep_records_in(postgres.new_database(), Home(made.home), monkeypatch)
    made.write("a.md", prose(12, seed=1))
    made.home.mkdir(exist_ok=True)
    made.settings.write_text(settings_text(made.docs))
    return made


def test_runs_events_and_ticks_live_in_the_database(workshop):
    for number, name in enumerate("abc"):
        workshop.write(f"{name}.md", prose(8, seed=number))
    daemon = Daemon(workshop)
    assert daemon.settle() == (["a.md", "b.md", "c.md"], [])
    workshop.write("b.md", prose(8, seed=7))
    workshop.remove("c.md")
    assert daemon.settle() == (["b.md"], ["c.md"])
    assert daemon.tick()[2] == "no file changed since the last request"
    with workshop.instance() as instance:
        assert uses_postgres(instance)
        assert type(instance.run_storage).__module__.startswith("dagster_postgres")
        assert type(instance.schedule_storage).__module__.startswith("dagster_postgres")
        assert {run.job_name for run in instance.get_runs()} == {"sync"}
    assert not list(workshop.home.dagster_home.rglob("*.db"))
    status = read_status(workshop.home, workshop.settings)
    assert [(tree.partition, tree.structural_checks_passed) for tree in status.trees] == [
        ("a.md", True),
        ("b.md", True),
    ]
    assert all(len(tree.checks) > 3 for tree in status.trees)
    assert set(read_costs(workshop.home, workshop.settings, ["b.md"])) == {"b.md"}
    assert workshop.metadata("tree", "b.md")["n_nodes"] > 3


def test_a_server_killed_in_a_run_loses_nothing(postgres, place):
    pid = postgres.pid
    try:
        failed = in_a_process("build_as_the_database_dies", place.root, pid, 2)
    finally:
        postgres.wait_for_its_end(pid)
        postgres.start()
    assert failed.returncode == 1, failed
    assert "Dagster's records refused" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert postgres.password not in failed.stdout + failed.stderr
    log = place.root / "finished.log"
    before = log.read_text().splitlines()
    with embedder_made_by(lambda *_: LoggedEmbedder(log)):
        assert place.call("build", "--json").json["built"] == ["a.md"]
        status = place.call("status", "--json", "--check", "--cost")
    texts = log.read_text().splitlines()
    assert len(before) == len(set(before)) < len(set(texts)) == len(texts)
    assert status.json["all_structural_checks_passed"]
    assert status.json["costs"].keys() == {"a.md"}
    with open_records(place.home / "dagster") as instance:
        ended = [run.status for run in instance.get_runs()]
    assert ended == [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]


def in_a_process(action, *arguments):
    """An action of ``build_process`` and what it printed."""
    root = Path(__file__).parents[3]
    path = os.pathsep.join((str(root), str(root / "tests")))
    command = [sys.executable, str(root / "tests/support/build_process.py"), action]
    return subprocess.run(
        [*command, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def opened(folder):
    shutil.copy(INSTANCE, folder / "dagster.yaml")
    with open_records(folder) as instance:
        return len(instance.get_runs())


def test_what_is_wrong_with_an_address_is_said_without_it(postgres, tmp_path, monkeypatch):
    import dagster_postgres.utils

    monkeypatch.setattr(dagster_postgres.utils, "calculate_delay", lambda **_: 0.0)
    good = postgres.new_database()
    refusals = {}
    wrong = {
        "none": None,
        "driver": good.replace("+psycopg2", "+asyncpg"),
        "database": good.replace("home_", "house_"),
        "password": good.replace(postgres.password, "hunter2"),
        "end": "postgresql+psycopg2://raptor:hunter2",
        "hosts": good.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1"),
        "form": "postgresql+psycopg2//raptor:hunter2@host",
        "quoting": "postgresql+psycopg2://raptor:hunter@2@host:5432/x",
        "host": "postgresql+psycopg2://raptor:hunter2@no.such.host.invalid:5432/x",
        "port": good.replace(str(postgres.port), "1"),
    }
    for name, url in wrong.items():
        if url is None:
            monkeypatch.delenv(URL_VARIABLE, raising=False)
        else:
            monkeypatch.setenv(URL_VARIABLE, url)
        with pytest.raises((SettingsError, DagsterStorageError)) as caught:
            opened(tmp_path)
        refusals[name] = str(caught.value)
    assert URL_VARIABLE in refusals["none"]
    for name in ("driver", "end", "hosts", "form", "quoting"):
        assert "expected postgresql+psycopg2://" in refusals[name], name
    assert "does not exist" in refusals["database"]
    assert "password authentication failed" in refusals["password"]
    assert "could not translate the name of its host" in refusals["host"]
    assert "refused" in refusals["port"]
    assert not any(secret in text for text in refusals.values() for secret in ("hunter", "@2@"))
    assert not any(postgres.password in text for text in refusals.values())


TEXT = "Grüße 世界, a pair 🕯"


@pytest.fixture
def paid_workshop(postgres, tmp_path, monkeypatch):
    made = Workshop(tmp_path, components={"summarizer": ScriptedSummarizer(failing="zebra")})
    keep_records_in(postgres.new_database(), made.home, monkeypatch)
    return made


def test_it_keeps_what_the_file_in_a_home_keeps(paid_workshop):
    vector = np.array([0.6, 0.8], dtype=np.float32)
    with paid_workshop.instance() as instance:
        one, other = (open_shared_cache(instance, name) for name in ("one", "other"))
        assert (one.texts(["a"]), one.unfinished_trees()) == ({}, [])
        for cache in (one, other):
            cache.record_needed_keys([("t", "a"), ("t", "a"), ("t", "v")])
        one.keep_texts({"a": "first", "b": "beside"})
        one.keep_texts({"a": TEXT})
        one.keep_vectors({"v": vector})
        assert other.texts(["a", "v"]) == {"a": TEXT}
        assert other.vectors(["a", "v"])["v"].tobytes() == vector.tobytes()
        one.forget_trees(["t"])
        assert (one.unfinished_trees(), other.unfinished_trees()) == ([], ["t"])
        assert other.texts(["a"]) == {"a": TEXT}
        other.forget_trees(["t"])
        assert (one.texts(["a", "b"]), one.vectors(["v"])) == ({"b": "beside"}, {})
        one.discard(["b"])
        assert one.texts(["b"]) == {}


def unfinished(paid_workshop):
    with paid_workshop.instance() as instance:
        return open_shared_cache(instance, "corpus").unfinished_trees()


def test_another_machine_goes_on_with_what_a_run_left(paid_workshop):
    paid_workshop.write("a.md", prose(40, seed=2) + "\n\nA zebra stands there.")
    assert paid_workshop.build().built == []
    assert unfinished(paid_workshop) == ["a.md"]
    assert not (paid_workshop.home.unfinished_work / "cache.sqlite").exists()
    n_made = paid_workshop.parts_given["summarizer"].n_made
    assert n_made
    left = paid_workshop.parts_given["summarizer"] = ScriptedSummarizer()
    paid_workshop.configure()
    assert paid_workshop.build().built == ["a.md"]
    assert unfinished(paid_workshop) == []
    sizes = paid_workshop.manifests()["a.md"].layer_sizes
    assert n_made + left.n_made == sum(sizes[1:])
