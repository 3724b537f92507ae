"""The pooled event log answers as Dagster's own does; tables of a home lie on an S3 server."""

import os
import queue
import subprocess
import sys
import uuid

import dagster as dg
import pytest
import yaml
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from support import build_process
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.stores import PROCESS_PATH
from support.workshop import prose, settings_text

from raptor_assets.local.storage import PooledSqliteEventLogStorage

pytestmark = pytest.mark.slow

THING = dg.AssetKey("thing")
CHECK = dg.AssetCheckKey(THING, "sound")
MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION


@dg.op
def one():
    yield dg.AssetMaterialization(THING, partition="p", tags={"dagster/data_version": "v"})
    yield dg.AssetCheckEvaluation(THING, "sound", passed=True, metadata={"n": 3}, partition="p")
    yield dg.Output(1)


@dg.job
def pooled_job():
    one()


def instance_of(folder, kind):
    config = {
        "telemetry": {"enabled": False},
        "event_log_storage": {
            "module": kind.__module__,
            "class": kind.__name__,
            "config": {"base_dir": str(folder / "events")},
        },
    }
    folder.mkdir(exist_ok=True)
    (folder / "dagster.yaml").write_text(yaml.safe_dump(config))
    return dg.DagsterInstance.from_config(str(folder))


def answers(instance, run_id):
    """What the UI asks of a run, of an asset's partitions and of a check."""
    log = instance.event_log_storage
    (asset,) = instance.get_asset_records([THING])
    checked = log.get_asset_check_execution_history(CHECK, limit=5)
    (info,) = log.get_asset_check_partition_info([CHECK])
    return {
        "run": [(entry.message, entry.dagster_event) for entry in instance.all_logs(run_id)],
        "steps": [step.status for step in instance.get_run_step_stats(run_id)],
        "partitions": instance.get_materialized_partitions(THING),
        "tags": log.get_latest_tags_by_partition(THING, MATERIALIZED, ["dagster/data_version"]),
        "latest": asset.asset_entry.last_materialization,
        "checks": [(record.status, record.partition, record.evaluation) for record in checked],
        "checked": (info.partition_key, info.latest_execution_status),
        "done": len(instance.fetch_run_status_changes(dg.DagsterEventType.RUN_SUCCESS, 5).records),
    }


def copied(entries, instance):
    """Store a run's events one by one."""
    for entry in entries:
        instance.event_log_storage.store_event(entry)


def test_the_same_events_give_the_answers_that_the_original_gives(tmp_path):
    with instance_of(tmp_path / "ours", PooledSqliteEventLogStorage) as ours:
        run_id = pooled_job.execute_in_process(instance=ours).run_id
        found, entries = answers(ours, run_id), ours.all_logs(run_id)
    with instance_of(tmp_path / "original", SqliteEventLogStorage) as original:
        copied(entries, original)
        assert answers(original, run_id) == found
    assert found["partitions"] == {"p"}
    assert [passed for _, _, passed in found["checks"]]


def test_who_watches_a_run_gets_the_events_that_another_process_writes(tmp_path):
    received = queue.Queue()
    with (
        instance_of(tmp_path, PooledSqliteEventLogStorage) as watching,
        dg.DagsterInstance.from_config(str(tmp_path)) as writing,
    ):
        run_id = str(uuid.uuid4())
        watching.watch_event_logs(run_id, None, lambda entry, _cursor: received.put(entry))
        pooled_job.execute_in_process(instance=writing, run_id=run_id)
        written = [entry.dagster_event for entry in writing.all_logs(run_id)]
        assert [received.get(timeout=30).dagster_event for _ in written] == written


def test_an_event_is_stored_with_its_rows_or_not_at_all(tmp_path, monkeypatch):
    with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
        run_id = pooled_job.execute_in_process(instance=instance).run_id
        log = instance.event_log_storage
        entries = instance.all_logs(run_id)
        wrong = next(e for e in entries if e.dagster_event_type == MATERIALIZED)
        monkeypatch.setattr(log, "_store_asset_event", refuse)
        with pytest.raises(RuntimeError):
            log.store_event(wrong)
        assert len(instance.all_logs(run_id)) == len(entries)
        monkeypatch.undo()
        log.store_event(wrong)
        assert len(instance.all_logs(run_id)) == len(entries) + 1


def refuse(*_arguments):
    raise RuntimeError("no")


@pytest.mark.rare
def test_processes_that_open_a_new_home_at_once_all_get_it(tmp_path):
    command = [sys.executable, build_process.__file__, "open_records_at_once", str(tmp_path), "4"]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": PROCESS_PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def bucket(s3):
    return s3.new_bucket()


@pytest.fixture
def place(bucket, tmp_path):
    """A home with one document and its tables in the bucket."""
    made = Place(tmp_path)
    made.write("a.md", prose(8, seed=1))
    made.home.mkdir()
    made.settings.write_text(settings_text(made.docs, tables={"url": f"s3://{bucket}/raptor"}))
    return made


@pytest.mark.rare
def test_build_rebuild_query_report_and_drop(s3, place, bucket, tmp_path):
    place.write("b.md", prose(8, seed=2))
    embedder = HashingEmbedder()
    with embedder_made_by(lambda *_: embedder):
        assert place.call("build", "--json").json["built"] == ["a.md", "b.md"]
        first = s3.keys(bucket)
        assert not list((place.home / "tables").rglob("*.parquet"))
        made = embedder.n_embedded
        assert place.call("build", "--json").json["unchanged"] == ["a.md", "b.md"]
        assert embedder.n_embedded == made
        place.write("b.md", prose(8, seed=2) + "\n\nA lighthouse burned rape oil.")
        assert place.call("build", "--json").json["built"] == ["b.md"]
        found = place.call("query", "lighthouse rape oil", "--top-k", "1", "--json").json
        assert "rape oil" in found["nodes"][0]["text"]
        tree = place.call("tree", "b.md", "--json")
        assert tree.code == 0, tree
        page = tmp_path / "b.html"
        report = place.call("report", "b.md", "--output", page)
        assert report.code == 0, report
        assert "rape oil" in page.read_text()
        assert place.call("status", "--json", "--cost").json["costs"].keys() == {"a.md", "b.md"}
        assert place.call("drop", "b.md", "--yes").code == 0
    left = s3.keys(bucket)
    assert any("/a.md" in key for key in left)
    assert not any("/b.md" in key for key in left)
    assert left < first
