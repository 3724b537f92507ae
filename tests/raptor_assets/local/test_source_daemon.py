"""Dagster's own daemon, its queue and its launcher: nothing here stands in for them."""

import signal
import sys

import dagster as dg
import pytest
from support.processes import process_of, wait_until
from support.workshop import Workshop, prose, settings_text

from raptor_assets.assets.names import BUILD, CHAIN_NAMES, DROP

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

COMMAND = [sys.executable, "-m", "dagster._daemon", "run", "-m", "support.daemon_location"]
MARKER = "The zebra Quixotl signed here."


def latest(instance):
    """Storage id of the latest materialization of every tree."""
    return instance.get_latest_storage_id_by_partition(
        CHAIN_NAMES.tree.key, dg.DagsterEventType.ASSET_MATERIALIZATION
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
    with workshop.instance() as instance:
        before = latest(instance)

        def is_done():
            built = latest(instance)
            return (
                set(instance.get_dynamic_partitions("trees")) == partitions <= built.keys()
                and all(built[name] != before.get(name) for name in rebuilt)
                and not instance.get_runs(under_way, limit=1)
            )

        wait_until(is_done, [log_of(workshop.home)], needed=[process])


def log_of(home):
    return home.path / "daemon.log"


def records(workshop, partition):
    """How often a tree was materialized."""
    chosen = dg.AssetRecordsFilter(asset_key=CHAIN_NAMES.tree.key, asset_partitions=[partition])
    with workshop.instance() as instance:
        return len(instance.fetch_materializations(chosen, limit=10).records)


def test_the_daemon_redoes_what_changed_and_nothing_else(tmp_path):
    workshop = Workshop(tmp_path)
    for number, name in enumerate("abcd"):
        workshop.write(f"{name}.md", prose(12, seed=number))
    workshop.write("c.md", f"{MARKER}\n\n{prose(12, seed=2)}")
    home = workshop.home
    home.ensure()
    given = {"tree": {"max_layers": 2}, "source": {"watch": True}}
    home.settings.write_text(settings_text(workshop.docs, **given))
    with process_of(
        COMMAND, home.path, log_of(home), home.environment(), gently=signal.SIGINT
    ) as process:
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
