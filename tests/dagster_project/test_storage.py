"""The pooled event log is Dagster's own, only quicker."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import dagster as dg
import filelock
import pytest
import yaml
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from support import build_process
from support.stores import PROCESS_PATH
from support.workshop import Workshop, prose

from dagster_project import records, storage
from dagster_project.records import open_records
from dagster_project.storage import PooledSqliteEventLogStorage
from raptor_assets import keys
from raptor_core.errors import RecordsError

pytestmark = pytest.mark.slow

MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION


@dg.op
def one():
    yield dg.AssetMaterialization("thing", partition="p", tags={"dagster/data_version": "v"})
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
    (folder / "dagster.yaml").write_text(yaml.safe_dump(config))
    return dg.DagsterInstance.from_config(str(folder))


def test_the_original_reads_what_it_wrote(tmp_path):
    with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
        run_id = pooled_job.execute_in_process(instance=instance).run_id
        written = [record.message for record in instance.all_logs(run_id)]
    with instance_of(tmp_path, SqliteEventLogStorage) as instance:
        assert not isinstance(instance.event_log_storage, PooledSqliteEventLogStorage)
        assert [record.message for record in instance.all_logs(run_id)] == written
        assert instance.get_materialized_partitions(dg.AssetKey("thing")) == {"p"}


def test_many_runs_keep_few_databases_open(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "OPEN_SHARDS", 2)
    with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
        runs = [pooled_job.execute_in_process(instance=instance).run_id for _ in range(4)]
        assert len(instance.event_log_storage._engines) == 2
        assert all(instance.all_logs(run_id) for run_id in runs)


def test_a_later_run_has_the_same_database_as_the_first(tmp_path):
    with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
        runs = [pooled_job.execute_in_process(instance=instance).run_id for _ in range(3)]
        shapes = []
        for run_id in runs:
            assert [r.message for r in instance.all_logs(run_id)]
            with closing(sqlite3.connect(tmp_path / "events" / f"{run_id}.db")) as database:
                rows = database.execute("select sql from sqlite_master order by name").fetchall()
                revision = database.execute("select version_num from alembic_version").fetchall()
                mode = database.execute("pragma journal_mode").fetchall()
                shapes.append((rows, revision, mode))
        assert shapes[0] == shapes[1] == shapes[2]
        assert not list((tmp_path / "events").glob("*.part"))


def test_a_run_of_a_later_process_has_its_own_events_alone(tmp_path):
    for _ in range(2):
        with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
            runs = [pooled_job.execute_in_process(instance=instance).run_id for _ in range(2)]
            for run_id in runs:
                with closing(sqlite3.connect(tmp_path / "events" / f"{run_id}.db")) as database:
                    query = "select distinct run_id from event_logs"
                    assert database.execute(query).fetchall() == [(run_id,)]


def test_threads_share_it(tmp_path):
    with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
        pooled_job.execute_in_process(instance=instance)
        found = []
        threads = [
            threading.Thread(
                target=lambda: found.append(
                    instance.get_materialized_partitions(dg.AssetKey("thing"))
                )
            )
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [{"p"}] * 6


def test_planned_events_are_stored_together_or_not_at_all(tmp_path, monkeypatch):
    with instance_of(tmp_path, PooledSqliteEventLogStorage) as instance:
        run_id = pooled_job.execute_in_process(instance=instance).run_id
        log = instance.event_log_storage
        entries = instance.all_logs(run_id)
        log.store_event_batch(entries)
        assert len(instance.all_logs(run_id)) == 2 * len(entries)
        wrong = next(e for e in entries if e.dagster_event_type == MATERIALIZED)
        monkeypatch.setattr(log, "_store_asset_event", refuse)
        with pytest.raises(RuntimeError):
            log.store_event_batch([*entries, wrong])
        assert len(instance.all_logs(run_id)) == 2 * len(entries)
        with pytest.raises(RuntimeError):
            log.store_event(wrong)
        assert len(instance.all_logs(run_id)) == 2 * len(entries)
        monkeypatch.undo()
        log.store_event(wrong)
        assert len(instance.all_logs(run_id)) == 2 * len(entries) + 1
        assert instance.get_materialized_partitions(dg.AssetKey("thing")) == {"p"}


def refuse(*_arguments):
    raise RuntimeError("no")


def test_what_a_run_plans_is_handed_over_at_once(tmp_path, monkeypatch):
    sizes = []
    store = PooledSqliteEventLogStorage.store_event_batch

    def counted(self, events):
        sizes.append(len(events))
        store(self, events)

    monkeypatch.setattr(PooledSqliteEventLogStorage, "store_event_batch", counted)
    workshop = Workshop(tmp_path)
    workshop.write("a.md", prose(12))
    assert workshop.build().succeeded
    planned = workshop.definitions().resolve_job_def("build").asset_layer
    assert sizes == [len(planned.executable_asset_keys) + len(planned.asset_graph.asset_check_keys)]


def test_no_row_for_each_partition_is_kept_of_what_a_run_plans(tmp_path):
    workshop = Workshop(tmp_path)
    for name in ("a.md", "b.md"):
        workshop.write(name, "One short sentence stands here.")
    assert workshop.build().succeeded
    with workshop.instance() as instance:
        key = dg.AssetCheckKey(keys.summaries(1), "coverage")
        assert not instance.event_log_storage.get_asset_check_execution_history(key, limit=5)
        (run,) = instance.get_runs()
        planned = instance.all_logs(
            run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
        )
    found = [entry.dagster_event for entry in planned]
    assert sum(not event.partition for event in found) == len(keys.chain_keys(2))
    named = {(event.asset_key, event.partition) for event in found if event.partition}
    assert named == {(keys.TREE, "a.md"), (keys.TREE, "b.md")}


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


def test_records_that_another_process_does_not_finish_opening_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_OPENING_SECONDS", 0.01)
    held = filelock.FileLock(tmp_path / "opening.lock", thread_local=False)
    with held, pytest.raises(RecordsError, match=r"opening\.lock; end it"), open_records(tmp_path):
        pass
