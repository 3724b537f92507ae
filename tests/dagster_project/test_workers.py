"""Dagster's daemon, its queue and two Celery workers, each with a home of its own.

What they share is on servers: PostgreSQL, S3, Redis, and a stand-in for Qdrant's.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dagster as dg
import pytest
from support.qdrant_stand_in import StandIn
from support.redis_server import redis_server
from support.workshop import prose

from dagster_project.home import Home
from dagster_project.records import BROKER_VARIABLE, URL_VARIABLE, open_records
from dagster_project.status import read_status
from raptor_assets import keys
from raptor_assets.process import PROCESS_TAG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
INSTANCE = ROOT / "deploy" / "dagster-workers.yaml"
PATIENCE_SECONDS = 240
DAEMON = [sys.executable, "-m", "dagster._daemon", "run", "-m", "support.worker_location"]
WORKER = [sys.executable, "-m", "celery", "--app", "dagster_project.worker", "worker"]
SETTINGS = """
[source]
paths = ["{docs}"]
settle_seconds = 0
[chunking]
max_tokens = 24
[clustering]
method = "contiguous"
window = 4
[tree]
max_layers = 1
[audit]
judge = "overlap"
[runs]
max_partitions = 1
[store]
kind = "server"
url = "{qdrant}"
[tables]
url = "s3://{bucket}/raptor"
"""


class Team:
    """Homes of processes on servers, and what was recorded."""

    def __init__(self, root, settings, environment):
        self.root = root
        self.docs = root / "docs"
        self.meeting = root / "meeting"
        self.docs.mkdir()
        self.meeting.mkdir()
        self.settings = settings
        path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
        meeting = {"MEETING": str(self.meeting), "ATTENDANCE": "2"}
        self.environment = {**os.environ, **environment, **meeting, "PYTHONPATH": path}

    def home(self, name):
        """A home that shares no file with the others."""
        home = Home(self.root / name)
        home.dagster.mkdir(parents=True)
        shutil.copy(INSTANCE, home.dagster / "dagster.yaml")
        home.settings.write_text(self.settings)
        return home

    @contextmanager
    def process(self, name, command):
        """A process with a home of its own, ended with all of its children."""
        home = self.home(name)
        with (self.root / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                command,
                env={**self.environment, **home.environment()},
                cwd=home.path,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            end(process)

    def wait_until(self, reached):
        last = time.monotonic() + PATIENCE_SECONDS
        while not reached():
            if time.monotonic() > last:
                logs = sorted(self.root.glob("*.log"))
                pytest.fail("\n".join(f"{log.name}: {log.read_text()[-3000:]}" for log in logs))
            time.sleep(0.2)


def end(process):
    """Stop a process gently, then the rest of its group by force."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    kill_group(process)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait(10)


@pytest.fixture
def team(postgres, s3, tmp_path, monkeypatch):
    stand_in = StandIn()
    bucket = s3.new_bucket()
    settings = SETTINGS.format(docs=tmp_path / "docs", qdrant=stand_in.url, bucket=bucket)
    try:
        with redis_server(tmp_path) as broker:
            given = {URL_VARIABLE: postgres.new_database(), BROKER_VARIABLE: broker}
            for name, value in given.items():
                monkeypatch.setenv(name, value)
            yield Team(tmp_path, settings, given)
    finally:
        stand_in.close()


def published(instance):
    """Storage id of the latest materialization of every tree."""
    return instance.get_latest_storage_id_by_partition(
        keys.TREE, dg.DagsterEventType.ASSET_MATERIALIZATION
    )


def test_partitions_spread_over_workers_and_survive_one(team):
    for number, name in enumerate("abcd"):
        (team.docs / f"{name}.md").write_text(prose(8, seed=number))
    own = team.home("own")
    with ExitStack() as stack:
        instance = stack.enter_context(open_records(own.dagster))
        workers = [
            stack.enter_context(
                team.process(
                    f"worker-{n}", [*WORKER, "--concurrency", "1", "--hostname", f"w{n}@%h"]
                )
            )
            for n in (1, 2)
        ]
        stack.enter_context(team.process("daemon", DAEMON))

        def all_ended(n_trees):
            ended = [run.is_finished for run in instance.get_runs()]
            return len(published(instance)) == n_trees and all(ended)

        team.wait_until(lambda: all_ended(4))
        first = instance.get_runs()
        assert {run.status for run in first} == {dg.DagsterRunStatus.SUCCESS}
        assert len({run.tags[PROCESS_TAG] for run in first}) == 2

        # A worker is killed in the middle of a run; the other one takes the run over.
        (team.meeting / "hold").write_text("quixotl")
        (team.docs / "a.md").write_text(f"The zebra Quixotl signed here.\n\n{prose(8, seed=9)}")
        team.wait_until(lambda: list(team.meeting.glob("held-*")))
        (held,) = team.meeting.glob("held-*")
        victim = next(w for w in workers if os.getpgid(int(held.name[5:])) == w.pid)
        before = published(instance)
        kill_group(victim)
        (team.meeting / "hold").unlink()
        team.wait_until(lambda: published(instance)["a.md"] != before["a.md"] and all_ended(4))
        later = instance.get_runs()[: -len(first)]
        first_try, *others = reversed(later)
        assert first_try.status == dg.DagsterRunStatus.FAILURE
        assert {run.status for run in others} == {dg.DagsterRunStatus.SUCCESS}
        assert first_try.tags[PROCESS_TAG] not in {run.tags[PROCESS_TAG] for run in others}
    status = read_status(own, own.load_settings())
    assert [tree.partition for tree in status.trees] == ["a.md", "b.md", "c.md", "d.md"]
    assert all(tree.structural_passed for tree in status.trees)
    assert not list(team.root.rglob("*.parquet"))
    secrets = [value.split("@")[0].rpartition(":")[2] for value in map(os.environ.get, GIVEN)]
    told = "".join(log.read_text() for log in team.root.glob("*.log"))
    assert not any(secret in told for secret in secrets)


GIVEN = (URL_VARIABLE, BROKER_VARIABLE)
