"""The blocks of docs/dagster.md are loaded, and their sources are built."""

import csv

import dagster as dg
import pytest
from support.fenced import fenced
from support.workshop import prose

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rare,
    pytest.mark.filterwarnings("ignore:Function `Definitions.map_:dagster.PreviewWarning"),
    pytest.mark.filterwarnings("ignore:Parameter `owners` of initializer:dagster.BetaWarning"),
]

PAGE = "docs/dagster.md"


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


@pytest.mark.parametrize(("upstream", "n_chunks"), [("pages", 1), ("splits", 3)])
def test_documents_and_chunks_of_an_asset_are_a_source(tmp_path, monkeypatch, upstream, n_chunks):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "handbook").mkdir()
    write_pages(tmp_path, {name: prose(6, seed=at) for at, name in enumerate("ab")})
    (code,) = (block for block in fenced(PAGE) if f"def {upstream}()" in block)
    page: dict = {"__file__": str(tmp_path / "definitions.py")}
    exec(compile(code, PAGE, "exec"), page)
    with dg.DagsterInstance.ephemeral(str(tmp_path / "instance")) as instance:
        job = page["defs"].resolve_implicit_global_asset_job_def()
        for key in ([upstream], ["wiki", "source"]):
            job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey(key)])
        sync = page["defs"].resolve_job_def("wiki_sync")
        assert sync.execute_in_process(instance=instance).success
        query = dg.AssetRecordsFilter(dg.AssetKey(["wiki", "chunks"]), asset_partitions=["a"])
        (record,) = instance.fetch_materializations(query, limit=1).records
    assert record.asset_materialization.metadata["n_nodes"].value == n_chunks
