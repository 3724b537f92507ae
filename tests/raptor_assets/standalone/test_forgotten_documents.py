"""Canaries in a hundred documents: nothing of a deleted one stays, and each leftover is found."""

import bz2
import gzip
import io
import json
import random
import re
import shutil
import tarfile
import zipfile

import dagster as dg
import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.servers import keep_records_in
from support.workshop import prose, settings_text

from raptor_assets.names import CorpusNames
from raptor_assets.project.home import Home
from raptor_assets.project.records import DagsterRecords, separate_engine
from raptor_assets.standalone import file_texts
from raptor_assets.standalone.instance import open_instance
from raptor_core.documents.grouping import document_partition

SCHEMA = "dagster/column_schema"

pytestmark = pytest.mark.slow

KINDS = ("title", "opening", "cell", "closing", "file")
DELETED = [3, 11, 24, 37, 41, 56, 62, 78, 85, 99]
QUESTION = {"question": "Which river has a castle?", "expected": ["folder00"]}


def canary(kind, number):
    """Word that stands in one document alone, and that no one can guess."""
    return "".join(random.Random(f"{kind} {number}").choices("bcdfghjklmnpqrstvwxz", k=14))


def name(number):
    return f"folder{number // 5:02}/{canary('file', number)}.md"


def text(number, edition):
    title, opening, cell, closing = (canary(kind, number) for kind in KINDS[:4])
    return (
        f"# Notes on {title}\n\nThe {opening} sang beside the orange gate, {edition}. "
        f"{prose(4, number)}\n\n| part | price |\n| --- | --- |\n| {cell} | {number} |\n\n"
        f"{prose(3, number + 1000)} Nothing but a {closing} remained, {edition}.\n"
    )


def canaries(numbers):
    return re.compile("|".join(canary(kind, number) for number in numbers for kind in KINDS))


def new_home(root, n_documents, **parts):
    place = Place(root)
    place.home.mkdir(exist_ok=True)
    place.settings.write_text(settings_text(place.docs, **parts))
    for edition in ("first", "second"):
        for number in range(n_documents):
            place.write(name(number), text(number, edition))
        built = place.call("build")
        assert built.code == 0, built.err
    return place


def delete(place, numbers):
    for number in numbers:
        (place.docs / name(number)).unlink()
    built = place.call("build", "--confirm-removal")
    assert built.code == 0, built.err
    return built


def records_of(place):
    """Latest events and versions of every partition of ``tree``, as Dagster answers."""
    home = Home(place.home)
    with open_instance(home) as instance:
        records = DagsterRecords(instance, home.names())
        return records.partitions(), records.latest("tree"), records.versions("tree")


def verify(place, number, *options):
    page = place.root / f"{number}.txt"
    page.write_text(text(number, "second"))
    printed = place.call("verify", "--gone", name(number), "--text", page, "--json", *options)
    return printed.json


def found_in(place, pattern):
    limits = []
    return {
        (str(path.relative_to(place.root)), part)
        for path in place.home.rglob("*")
        if path.is_file()
        for part, content in file_texts.file_texts(path, path.read_bytes(), limits)
        if pattern.search(content) or pattern.search(str(path))
    }


@pytest.fixture(autouse=True, scope="module")
def _hashing():
    embedder = HashingEmbedder()
    with embedder_made_by(lambda *_, **__: embedder):
        yield


@pytest.fixture(scope="module")
def emptied(tmp_path_factory):
    """A home of trees in shards, without ten documents of many trees and without one shard.

    Also the numbers of the deleted documents, and Dagster's records before the deletion.
    """
    root = tmp_path_factory.mktemp("canaries")
    golden = root / "golden.jsonl"
    golden.write_text(json.dumps(QUESTION))
    place = new_home(
        root,
        100,
        grouping={"by": "folder", "shards": 6},
        checks={"golden": str(golden)},
        corpus_tree={"enabled": True},
    )
    assert place.call("query", text(24, "second")[:60], "--json").code == 0
    assert place.call("report", "folder04", "--no-open").code == 0
    assert place.call("eval", "golden", golden).code == 0
    exported = place.call("export", root / "export.tar.gz")
    assert exported.code == 0, exported.err
    records = records_of(place)
    grouping = Home.open(place.home)[1].grouping
    shards = {number: document_partition(name(number), grouping) for number in range(100)}
    lost = shards[24]
    numbers = sorted({*DELETED, *(n for n, shard in shards.items() if shard == lost)})
    delete(place, numbers)
    return place, numbers, lost, records


@pytest.fixture
def copy(emptied, tmp_path):
    shutil.copytree(emptied[0].root, tmp_path / "copy")
    return Place(tmp_path / "copy")


def test_no_word_of_deleted_documents_stays_in_the_home(emptied):
    place, numbers, *_ = emptied
    assert len(numbers) > 12
    assert found_in(place, canaries(numbers)) == set()
    for number in DELETED:
        values = verify(place, number)
        assert (values["remnants"], values["names"]) == ([], [])
        assert values["n_passages"] > 5


def test_a_deletion_takes_no_materialization_and_leaves_nothing_to_build(emptied):
    place, _, lost, (partitions, latest, versions) = emptied
    partitions_now, latest_now, versions_now = records_of(place)
    assert sorted({*partitions} - {*partitions_now}) == [lost]
    assert latest_now.keys() == latest.keys()
    assert versions_now.keys() == versions.keys()
    assert versions_now[lost] == "dropped"
    plan = place.call("plan", "--json").json
    assert not plan["new"] + plan["changed"] + plan["removed"]
    status = place.call("status", "--json")
    assert status.code == 0
    with open_instance(Home(place.home)) as instance:
        (asset,) = instance.get_asset_records([dg.AssetKey("tree")])
        assert asset.asset_entry.last_materialization is not None
        partition = partitions_now[0]
        events = instance.fetch_materializations(
            dg.AssetRecordsFilter(dg.AssetKey("documents"), asset_partitions=[partition]), 10
        ).records
        last, *earlier = [event.asset_materialization.metadata for event in events]
        assert len(earlier) == 2
        assert "removed:" not in str(last)
        for metadata in earlier:
            assert metadata["dagster/row_count"].value > 0
            assert "removed:" in str(metadata)
        for key in instance.get_asset_keys():  # each event can be read, with the names of columns
            for event in instance.fetch_materializations(key, 1000).records:
                assert "removed:" not in str(event.asset_materialization.metadata.get(SCHEMA))


def plant_output(place, leftover):
    path = place.home / "dagster" / "storage" / "run" / "compute_logs" / "step.err"
    path.parent.mkdir(parents=True)
    path.write_text(leftover)
    return path


def plant_table(place, leftover):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = place.home / "tables" / "old.parquet"
    columns = {
        "name": pa.array(["a", leftover], pa.large_string()),
        "payload": pa.array([b"", leftover.encode()], pa.binary()),
    }
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def plant_tar(place, leftover):
    path, data = place.root / "old.tar.bz2", json.dumps({"text": leftover}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("nodes.jsonl")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    path.write_bytes(bz2.compress(packed.getvalue()))
    return path


def plant_zip(place, leftover):
    path = place.home / "reports" / "old.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page.html.gz", gzip.compress(leftover.encode()))
    return path


def plant_event(place, leftover):
    with open_instance(Home(place.home)) as instance:
        failed = dg.AssetObservation("tree", metadata={"reason": f"refused: {leftover}"})
        instance.report_runless_asset_event(failed)
    return place.home / "dagster" / "history" / "runs" / "event_log.db"


def test_each_planted_leftover_is_found_and_a_remedy_ends_it(copy):
    leftover = " ".join(text(37, "first").split()[:40])
    plants = (plant_output, plant_table, plant_tar, plant_zip, plant_event)
    paths = [plant(copy, leftover) for plant in plants]
    before = records_of(copy)
    values = verify(copy, 37, "--also", paths[2])
    assert {remnant["path"] for remnant in values["remnants"]} == set(map(str, paths))
    assert {remnant["kind"] for remnant in values["remnants"]} == {"text"}
    parts = {remnant["part"] for remnant in values["remnants"]}
    assert parts >= {"column name", "column payload", "unpacked/nodes.jsonl"}
    assert all(remnant["remedy"] for remnant in values["remnants"])
    for path in paths[:4]:
        path.unlink()
    assert verify(copy, 37, "--erase")["remnants"] == []
    assert records_of(copy) == before


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """A bound of 64 kB, and a function that packs text in each form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(file_texts, "MAX_UNPACKED_BYTES", 1 << 16)

    def pack(form, data):
        path = tmp_path / f"packed.{form}"
        if form == "zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("inner.gz", gzip.compress(data))
        elif form == "parquet":
            pq.write_table(pa.table({"text": [data[:40_000].decode()] * 9000}), path)
        else:
            path.write_bytes({"gz": gzip, "bz2": bz2}[form].compress(data))
        return path

    return pack


@pytest.mark.parametrize("form", ["gz", "bz2", "zip", "parquet"])
def test_a_file_that_unpacks_to_far_more_than_its_size_is_told(packed, form):
    path, limits = packed(form, b"lantern " * 600_000), []
    parts = list(file_texts.file_texts(path, path.read_bytes(), limits))
    assert sum(len(content) for _, content in parts[1:]) < 30_000_000
    (limit,) = limits
    assert str(path) in limit
    assert "far more comes out of it" in limit


def test_what_cannot_be_opened_is_told(packed, tmp_path):
    limits = []
    cut = packed("gz", b"lantern")
    list(file_texts.file_texts(cut, cut.read_bytes()[:-6], limits))
    for _ in range(file_texts.MAX_DEPTH):
        cut.write_bytes(gzip.compress(cut.read_bytes()))
    list(file_texts.file_texts(cut, cut.read_bytes(), limits))
    assert [limit.partition("its end: ")[2][:25] for limit in limits] == [
        "it cannot be unpacked (Co",
        "an archive in 3 others is",
    ]


@pytest.fixture(params=["postgres", "files of runs"])
def elsewhere(request, tmp_path, monkeypatch):
    """A home of twelve documents, whose records are in PostgreSQL or in Dagster's default log."""
    home = Home(tmp_path / "home")
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        keep_records_in(server.new_database(), home, monkeypatch)
    else:
        home.dagster.mkdir(parents=True)
        (home.dagster / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return new_home(tmp_path, 12, grouping={"by": "folder", "shards": 2})


def test_a_deletion_also_removes_texts_from_other_event_logs(elsewhere):
    _, latest, versions = records_of(elsewhere)
    delete(elsewhere, [3, 10, 11])
    assert found_in(elsewhere, canaries([3, 10, 11])) == set()
    for number in (3, 10):
        values = verify(elsewhere, number)
        assert (values["remnants"], values["names"]) == ([], [])
    _, latest_now, versions_now = records_of(elsewhere)
    assert (latest_now.keys(), versions_now.keys()) == (latest.keys(), versions.keys())
    plan = elsewhere.call("plan", "--json").json
    assert not plan["new"] + plan["changed"] + plan["removed"]
    is_database = not (elsewhere.home / "dagster" / "history").exists()
    assert any("vacuum full" in limit for limit in values["limits"]) == is_database


def test_leftovers_in_a_database_are_found_and_erased(postgres, tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    keep_records_in(postgres.new_database(), home, monkeypatch)
    place = new_home(tmp_path, 6, grouping={"by": "folder", "shards": 2})
    delete(place, [3])
    leftover = text(3, "first")
    plant_event(place, leftover)
    with open_instance(home) as instance, separate_engine(instance).begin() as connection:
        row = ("k", leftover.encode(), "s")
        connection.exec_driver_sql(
            "insert into raptor.kept (key, text, seal) values (%s, %s, %s)", row
        )
    values = verify(place, 3)
    remedies = {remnant["part"]: remnant["remedy"] for remnant in values["remnants"]}
    assert remedies.keys() == {"event_logs", "raptor.kept"}
    assert "verify --erase" in remedies["event_logs"]
    with open_instance(home) as instance, separate_engine(instance).begin() as connection:
        (statement,) = re.findall("`(.*)`", remedies["raptor.kept"])
        connection.exec_driver_sql(statement)
    assert verify(place, 3, "--erase")["remnants"] == []


def test_a_database_that_does_not_answer_is_named_as_not_searched(postgres, tmp_path, monkeypatch):
    place = new_home(tmp_path, 6)
    delete(place, [3])
    url = postgres.new_database()
    keep_records_in(f"{url}_missing", Home(place.home), monkeypatch)
    limits = " ".join(verify(place, 3)["limits"])
    assert "are not searched: Dagster's database does not answer" in limits


def test_history_and_output_below_dagster_home_are_searched(tmp_path, monkeypatch):
    place = new_home(tmp_path, 6)
    delete(place, [3])
    home, settings = Home.open(place.home)
    home.declare(CorpusNames("team"), settings)
    output = tmp_path / "instance" / "storage" / "step.err"
    output.parent.mkdir(parents=True)
    output.write_text(text(3, "first"))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    assert "DAGSTER_HOME, which is not set" in " ".join(verify(place, 3)["limits"])
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "instance"))
    values = verify(place, 3)
    assert [remnant["path"] for remnant in values["remnants"]] == [str(output)]
    assert "verify --erase" in values["remnants"][0]["remedy"]
    assert any("instance/history" in path for path in values["files"])
