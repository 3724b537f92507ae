"""Dagster's own daemon, its queue and its launcher: nothing here stands in for them."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
from support.workshop import Workshop, prose

from dagster_project.jobs import BUILD, DROP
from raptor_assets import keys

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 240
MARKER = "The zebra Quixotl signed here."


@contextmanager
def daemon_of(home):
    """The daemon in processes of its own; they all end with it."""
    home.ensure()
    home.create()
    command = [sys.executable, "-m", "dagster._daemon", "run", "-m", "support.daemon_location"]
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    with (home.path / "daemon.log").open("w") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **home.environment(), "PYTHONPATH": path},
            cwd=home.path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(20)
            finally:
                stop(process.pid)


def stop(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def latest(instance):
    """Storage id of the latest materialization of every tree."""
    return instance.get_latest_storage_id_by_partition(
        keys.TREE, dg.DagsterEventType.ASSET_MATERIALIZATION
    )


def wait_for(workshop, process, partitions, rebuilt=()):
    """Wait until these are the partitions, some of them anew, and no run is left to do."""
    under_way = dg.RunsFilter(
        statuses=[
            dg.DagsterRunStatus.QUEUED,
            dg.DagsterRunStatus.NOT_STARTED,
            dg.DagsterRunStatus.STARTING,
            dg.DagsterRunStatus.STARTED,
        ]
    )
    last = time.monotonic() + PATIENCE_SECONDS
    with workshop.instance() as instance:
        before = latest(instance)
        while time.monotonic() < last and process.poll() is None:
            now = set(instance.get_dynamic_partitions("trees"))
            built = latest(instance)
            done = now == partitions <= built.keys() and all(
                built[name] != before.get(name) for name in rebuilt
            )
            if done and not instance.get_runs(under_way, limit=1):
                return
            time.sleep(0.5)
    pytest.fail((workshop.home.path / "daemon.log").read_text()[-3000:])


def records(workshop, partition):
    """How often a tree was materialized."""
    chosen = dg.AssetRecordsFilter(asset_key=keys.TREE, asset_partitions=[partition])
    with workshop.instance() as instance:
        return len(instance.fetch_materializations(chosen, limit=10).records)


def test_the_daemon_redoes_what_changed_and_nothing_else(tmp_path):
    workshop = Workshop(tmp_path)
    for number, name in enumerate("abcd"):
        workshop.write(f"{name}.md", prose(12, seed=number))
    workshop.write("c.md", f"{MARKER}\n\n{prose(12, seed=2)}")
    settings = workshop.home.settings
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"""
        [source]
        paths = ["{workshop.docs}"]
        [chunking]
        max_tokens = 24
        [clustering]
        method = "contiguous"
        window = 4
        [tree]
        max_layers = 2
        """
    )
    with daemon_of(workshop.home) as process:
        wait_for(workshop, process, {"a.md", "b.md", "c.md", "d.md"})
        (workshop.docs / "a.md").rename(workshop.docs / "z.md")
        workshop.write("b.md", prose(12, seed=9))
        workshop.remove("c.md")
        wait_for(workshop, process, {"b.md", "d.md", "z.md"}, rebuilt=["b.md"])
    assert {name: records(workshop, name) for name in ("b.md", "d.md", "z.md")} == {
        "b.md": 2,
        "d.md": 1,
        "z.md": 1,
    }
    for layer in range(3):
        assert workshop.metadata(f"layer_{layer}/embeddings", "z.md")["n_computed"] == 0
    with workshop.instance() as instance:
        jobs = [run.job_name for run in instance.get_runs() if run.is_success]
    assert set(jobs) == {BUILD, DROP}
    assert set(workshop.manifests()) == {"b.md", "d.md", "z.md"}
    for tree in workshop.manifests():
        assert not any("Quixotl" in text for text in workshop.texts(tree))
