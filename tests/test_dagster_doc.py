"""The project of docs/dagster.md: its blocks are loaded, and run by Dagster's daemon."""

import csv
import runpy
import signal
import sys

import dagster as dg
import pytest
from support.fenced import fenced
from support.processes import process_of, wait_until
from support.workshop import prose

from raptor_assets import corpus_partitions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rare,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:Function `Definitions.map_:dagster.PreviewWarning"),
]

PAGE = "docs/dagster.md"
DAEMON = [sys.executable, "-m", "dagster._daemon", "run", "-m", "support.page_location"]
CONFIG = """\
telemetry: {enabled: false}
auto_materialize: {minimum_interval_seconds: 1}
run_coordinator: {module: dagster.core.run_coordinator, class: DefaultRunCoordinator}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The page's block with an upstream asset; a handbook of two files, a wiki of three pages."""
    folder = tmp_path_factory.mktemp("project")
    (code,) = (block for block in fenced(PAGE) if "def pages()" in block)
    (folder / "definitions.py").write_text(code)
    (folder / "handbook").mkdir()
    (folder / "instance").mkdir()
    (folder / "instance" / "dagster.yaml").write_text(CONFIG)
    for number in range(2):
        (folder / "handbook" / f"{number}.md").write_text(prose(12, seed=number))
    write_pages(folder, {name: prose(12, seed=at) for at, name in enumerate("abc")})
    return folder


def write_pages(folder, pages):
    with (folder / "pages.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "title", "text"])
        rows.writerows((name, name.upper(), text) for name, text in pages.items())


def test_the_first_block_loads():
    found: dict = {}
    exec(compile(fenced(PAGE)[0], PAGE, "exec"), found)
    keys = {key.to_user_string() for key in found["defs"].resolve_all_asset_keys()}
    assert {"handbook/tree", "guides/tree"} <= keys


def test_a_table_of_a_warehouse_is_a_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in fenced(PAGE) if "WarehouseIOManager(url" in block)
    page: dict = {}
    exec(compile(code, PAGE, "exec"), page)
    job = page["defs"].resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral(str(tmp_path / "instance")) as instance:
        for key in (["analytics", "pages"], ["wiki", "source"]):
            chosen = [dg.AssetKey(key)]
            done = job.execute_in_process(instance=instance, asset_selection=chosen)
        (event,) = done.get_asset_materialization_events()
    assert event.materialization.metadata["dagster/row_count"].value == 2


def test_chunks_of_an_asset_are_a_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pages(tmp_path, {name: prose(6, seed=at) for at, name in enumerate("ab")})
    (code,) = (block for block in fenced(PAGE) if "def splits()" in block)
    page: dict = {}
    exec(compile(code, PAGE, "exec"), page)
    with dg.DagsterInstance.ephemeral(str(tmp_path / "instance")) as instance:
        job = page["defs"].resolve_implicit_global_asset_job_def()
        for key in (["splits"], ["wiki", "source"]):
            job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey(key)])
        sync = page["defs"].resolve_job_def("wiki_sync")
        assert sync.execute_in_process(instance=instance).success
        query = dg.AssetRecordsFilter(dg.AssetKey(["wiki", "chunks"]), asset_partitions=["a"])
        (record,) = instance.fetch_materializations(query, limit=1).records
    assert record.asset_materialization.metadata["n_nodes"].value == 3


class Watched:
    """The project's instance, as it is looked at while its daemon works."""

    def __init__(self, folder):
        self.folder = folder
        self.instance = dg.DagsterInstance.from_config(str(folder / "instance"))

    def count(self, *key):
        """Materializations of an asset."""
        return len(self.instance.fetch_materializations(dg.AssetKey(key), limit=99).records)

    def trees(self):
        """How often each tree of the wiki was published."""
        found = self.instance.fetch_materializations(dg.AssetKey(["wiki", "tree"]), limit=99)
        names = [record.partition_key for record in found.records]
        return {name: names.count(name) for name in sorted(set(names))}

    def materialize(self):
        pages = runpy.run_path(str(self.folder / "definitions.py"))["pages"]
        given = {"io_manager": dg.FilesystemIOManager()}
        assert dg.materialize([pages], instance=self.instance, resources=given).success


def test_the_daemon_follows_the_upstream_asset(project):
    log = project / "daemon.log"
    environment = {
        "DAGSTER_HOME": str(project / "instance"),
        "PROJECT_FILE": str(project / "definitions.py"),
    }
    watched = Watched(project)
    watched.materialize()  # before anything watches
    with process_of(DAEMON, project, log, environment, gently=signal.SIGINT) as process:

        def wait(reached):
            wait_until(reached, [log], needed=[process])

        wait(lambda: watched.count("search_page") == 1)
        assert watched.trees() == {"a": 1, "b": 1, "c": 1}

        pages = {name: prose(12, seed=at) for at, name in enumerate("abc")}
        pages["b"] += "\n\nThe lantern was lit again."
        write_pages(project, pages)
        watched.materialize()
        wait(lambda: watched.count("search_page") == 2)
        assert watched.trees() == {"a": 1, "b": 2, "c": 1}

        watched.materialize()  # nothing changed
        wait(lambda: watched.count("wiki", "source") == 3)
        ticks = watched.instance.get_ticks
        state = {s.name: s for s in watched.instance.all_instigator_state()}["wiki_source_sensor"]

        def n_ticks():
            return len(ticks(state.instigator_origin_id, state.selector_id, limit=999))

        before = n_ticks()
        wait(lambda: n_ticks() >= before + 2)
    assert watched.trees() == {"a": 1, "b": 2, "c": 1}
    assert watched.count("search_page") == 2
    partitions = corpus_partitions("wiki").get_partition_keys(
        dynamic_partitions_store=watched.instance
    )
    assert partitions == ["a", "b", "c"]
