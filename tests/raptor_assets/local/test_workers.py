"""Dagster's daemon, its queue and two Celery workers, each with a home of its own.

What they share is on servers: PostgreSQL, S3, Redis, and Qdrant.
"""

import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import dagster as dg
import pytest
from support.processes import kill_group, process_of, wait_until
from support.redis_server import redis_server
from support.workshop import prose, settings_text

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.chain.runs import PROCESS_TAG
from raptor_assets.home.folder import Home
from raptor_assets.home.records import BROKER_VARIABLE, URL_VARIABLE, open_records
from raptor_assets.local.status import read_status

pytestmark = [pytest.mark.slow, pytest.mark.rare, pytest.mark.timeout(900)]

INSTANCE = Path(__file__).parents[3] / "deploy" / "dagster-workers.yaml"
DAEMON = [sys.executable, "-m", "dagster._daemon", "run", "-m", "support.worker_location"]
WORKER = [
    sys.executable,
    "-m",
    "celery",
    "--app",
    "dagster_celery.app",
    "worker",
    "--prefetch-multiplier",
    "1",
]


class Team:
    """Homes of processes on servers, and what was recorded."""

    def __init__(self, root, settings, environment):
        self.root = root
        self.docs = root / "docs"
        self.meeting = root / "meeting"
        self.docs.mkdir()
        self.meeting.mkdir()
        self.settings = settings
        self.environment = {**environment, "MEETING": str(self.meeting), "ATTENDANCE": "2"}

    def home(self, name):
        """A home that shares no file with the others."""
        home = Home(self.root / name)
        home.dagster_home.mkdir(parents=True)
        shutil.copy(INSTANCE, home.dagster_home / "dagster.yaml")
        home.settings_path.write_text(self.settings)
        return home

    def process(self, name, command):
        """A process with a home of its own, ended with all of its children."""
        home = self.home(name)
        environ = {**self.environment, **home.dagster_environment()}
        return process_of(command, home.path, self.root / f"{name}.log", environ)

    def wait_until(self, reached):
        wait_until(reached, sorted(self.root.glob("*.log")))


@pytest.fixture
def team(postgres, s3, stand_in, tmp_path, monkeypatch):
    settings = settings_text(
        tmp_path / "docs",
        source={"watch": True},
        runs={"max_partitions": 1},
        store={"kind": "server", "url": stand_in.url},
        tables={"url": f"s3://{s3.new_bucket()}/raptor"},
    )
    with redis_server(tmp_path) as broker:
        given = {URL_VARIABLE: postgres.new_database(), BROKER_VARIABLE: broker}
        given["CELERY_RESULT_BACKEND"] = broker
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        yield Team(tmp_path, settings, given)


def process(run):
    return run.tags[PROCESS_TAG].partition("@")[2]


def published(instance):
    """Storage id of the latest materialization of every tree."""
    return instance.get_latest_storage_id_by_partition(
        CHAIN_NAMES.tree.key, dg.DagsterEventType.ASSET_MATERIALIZATION
    )


def test_partitions_spread_over_workers_and_survive_one(team):
    for number, name in enumerate("abcd"):
        (team.docs / f"{name}.md").write_text(prose(8, seed=number))
    own = team.home("own")
    with ExitStack() as stack:
        instance = stack.enter_context(open_records(own.dagster_home))
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
        assert len({process(run) for run in first}) == 2

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
        assert process(first_try) not in map(process, others)
    status = read_status(own, own.load_settings())
    assert [tree.partition for tree in status.trees] == ["a.md", "b.md", "c.md", "d.md"]
    assert all(tree.structural_checks_passed for tree in status.trees)
    assert not list(team.root.rglob("*.parquet"))
    secrets = [value.split("@")[0].rpartition(":")[2] for value in map(os.environ.get, GIVEN)]
    logged = "".join(log.read_text() for log in team.root.glob("*.log"))
    assert not any(secret in logged for secret in secrets)


GIVEN = (URL_VARIABLE, BROKER_VARIABLE)
