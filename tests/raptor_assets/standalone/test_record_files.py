"""Dagster's records read from its files: always what Dagster itself would say."""

import sqlite3
from contextlib import closing

import dagster as dg
import pytest
from dagster._core.storage.event_log.schema import SqlEventLogStorageMetadata
from dagster._core.storage.runs.schema import RunStorageSqlMetadata
from support.hashing import HashingEmbedder
from support.workshop import Workshop, prose

from raptor_assets import keys, names
from raptor_assets.project.record_files import RecordFiles
from raptor_assets.project.records import DagsterRecords
from raptor_assets.standalone.instance import recorded

pytestmark = pytest.mark.slow

LONG = "guides/long.md"
SHORT = "short.md"
GONE = "gone.md"


class Moody(HashingEmbedder):
    """Fails on demand."""

    fails = False

    def embed(self, texts):
        if self.fails:
            raise OSError("the model is out")
        return super().embed(texts)


COLUMNS = {
    "asset_check_executions": {
        "id",
        "asset_key",
        "check_name",
        "partition",
        "execution_status",
        "evaluation_event",
    },
    "asset_event_tags": {"event_id", "key", "value"},
    "asset_keys": {"asset_key", "wipe_timestamp"},
    "dynamic_partitions": {"id", "partition", "partitions_def_name"},
    "event_logs": {"id", "asset_key", "partition", "dagster_event_type", "timestamp"},
    "runs": {"status"},
}


def test_each_table_and_column_of_dagster_that_is_read_is_there():
    tables = {**SqlEventLogStorageMetadata.tables, **RunStorageSqlMetadata.tables}
    for table, columns in COLUMNS.items():
        assert columns <= set(tables[table].columns.keys())


@pytest.fixture
def workshop(tmp_path):
    """Three documents, built."""
    made = Workshop(tmp_path, components={"embedder": Moody()})
    made.write(LONG, prose(24, seed=1))
    made.write(SHORT, "One short sentence stands here.")
    made.write(GONE, "Another sentence stands here.")
    assert made.build().succeeded
    return made


def told(records, workshop):
    """All that can be asked, and the plan that follows."""
    settings = workshop.settings
    parts = workshop.resources()
    checks = names.partition_checks(settings) + names.golden_checks(settings)
    chain = [key.to_user_string() for key in keys.chain_keys(settings.tree.max_layers)]
    return {
        "partitions": list(records.partitions()),
        "versions": {asset: records.versions(asset) for asset in chain},
        "latest": {asset: records.latest(asset) for asset in chain},
        "outcomes": records.outcomes(checks),
        "changes": parts.changes(records),
    }


def told_by_both(workshop):
    """What the files tell, once Dagster has told the same."""
    with workshop.instance() as instance:
        by_dagster = told(DagsterRecords(instance, names.CorpusNames()), workshop)
    with recorded(workshop.home) as records:
        assert isinstance(records, RecordFiles)
        by_files = told(records, workshop)
    assert by_files == by_dagster
    return by_files


def test_after_a_build(workshop):
    found = told_by_both(workshop)
    assert found["changes"].unchanged == (GONE, LONG, SHORT)
    assert sorted(found["versions"]["tree"]) == [GONE, LONG, SHORT]
    assert len(found["outcomes"]) > 20


def test_after_a_failed_run_and_a_check_that_failed(workshop):
    workshop.write(LONG, prose(26, seed=2))
    workshop.write("new.md", "A sentence that nobody embeds.")
    workshop.components.embedder.fails = True
    assert sorted(workshop.build().failed) == [LONG, "new.md"]
    found = told_by_both(workshop)
    assert found["changes"].to_build == (LONG, "new.md")
    workshop.components.embedder.fails = False
    workshop.configure(checks={"min_compression": 0.98, "max_compression": 0.99})
    assert workshop.build().succeeded
    outcomes = told_by_both(workshop)["outcomes"]
    failed = [outcome for outcome in outcomes.values() if not outcome.passed]
    assert failed
    assert all(outcome.description for outcome in failed)


def test_after_documents_went_and_a_partition_was_dropped(workshop):
    workshop.remove(GONE)
    assert told_by_both(workshop)["changes"].removed == (GONE,)
    assert workshop.build().dropped == [GONE]
    workshop.drop(SHORT)
    found = told_by_both(workshop)
    assert found["partitions"] == [LONG]
    assert found["changes"].new == (SHORT,)


def test_after_an_asset_was_wiped_and_a_partition_deleted_in_the_ui(workshop):
    with workshop.instance() as instance:
        instance.wipe_assets([keys.of(names.TREE)])
        instance.delete_dynamic_partition(names.PARTITIONS, GONE)
    found = told_by_both(workshop)
    assert found["changes"].changed == (LONG, SHORT)
    assert found["changes"].new == (GONE,)
    assert workshop.build().succeeded
    assert told_by_both(workshop)["changes"].unchanged == (GONE, LONG, SHORT)


def test_events_before_a_wipe_count_for_nothing(workshop):
    """As where a wipe ended before the events were deleted, which Dagster does last."""
    index = workshop.home.dagster / "history" / "runs" / "event_log.db"
    with closing(sqlite3.connect(index)) as opened:
        kept = opened.execute("SELECT * FROM event_logs").fetchall()
    with workshop.instance() as instance:
        instance.wipe_assets([keys.of(names.TREE)])
    with closing(sqlite3.connect(index)) as opened, opened:
        marks = ", ".join("?" * len(kept[0]))
        opened.executemany(f"INSERT OR IGNORE INTO event_logs VALUES ({marks})", kept)
    assert told_by_both(workshop)["versions"]["tree"] == {}


@pytest.fixture
def fresh(tmp_path):
    """A home with records and nothing in them."""
    made = Workshop(tmp_path)
    assert is_asked_of_dagster(made)
    return made


def is_asked_of_dagster(workshop):
    with recorded(workshop.home) as records:
        return isinstance(records, DagsterRecords)


def test_dagster_makes_the_records_of_a_home_and_then_its_files_are_read(fresh):
    assert not is_asked_of_dagster(fresh)


def test_a_run_under_way_is_for_dagster_to_judge(fresh):
    with fresh.instance() as instance:
        run = dg.DagsterRun(job_name="build", status=dg.DagsterRunStatus.STARTED)
        instance.run_storage.add_run(run)
    assert is_asked_of_dagster(fresh)


@pytest.mark.parametrize("file", ["runs.db", "runs/event_log.db"])
def test_tables_of_another_version_are_for_dagster_to_read(fresh, file):
    with closing(sqlite3.connect(fresh.home.dagster / "history" / file)) as opened, opened:
        opened.execute("UPDATE alembic_version SET version_num = 'another'")
    assert is_asked_of_dagster(fresh)


def test_settings_of_a_persons_own_are_for_dagster_to_follow(fresh):
    config = fresh.home.dagster / "dagster.yaml"
    config.write_text("# mine\n" + config.read_text(encoding="utf-8").split("\n", 1)[1])
    assert is_asked_of_dagster(fresh)
