"""Records of unfinished batches: later runs find them, and the last one deletes them."""

import json

import pytest

from raptor_core.errors import StoreError
from raptor_core.models.summarizing.batch import BatchRecords


def record_of(folder, *keys):
    with BatchRecords(folder, "here").begin(keys, str(keys)) as record:
        return record


def test_a_process_takes_the_batches_that_it_wants_and_leaves_others_the_rest(tmp_path):
    mine, theirs = record_of(tmp_path, "a", "b"), record_of(tmp_path, "c")
    one, other = BatchRecords(tmp_path, "here"), BatchRecords(tmp_path, "here")
    with one.claim({"b"}) as left:
        assert left == [mine]
        with other.claim({"b", "c"}) as also:
            assert also == [theirs]
    with other.claim({"b"}) as left:
        assert left == [mine]
        other.drop(mine)
    with BatchRecords(tmp_path, "elsewhere").claim({"c"}) as left:
        assert left == []
    with one.claim({"b", "c"}) as left:
        assert left == [theirs]


def test_a_record_is_dropped_when_no_endpoint_keeps_its_files_any_more(tmp_path, monkeypatch):
    record_of(tmp_path, "a")
    monkeypatch.setattr("raptor_core.models.summarizing.batch.KEEP_SECONDS", -1)
    with BatchRecords(tmp_path, "here").claim({"a"}) as left:
        assert left == []
    assert list(tmp_path.glob("*.json")) == []


def test_a_damaged_record_is_named_with_the_remedy(tmp_path):
    record_of(tmp_path, "a")
    (path,) = tmp_path.glob("*.json")
    path.write_text('{"mark": "m"')
    with pytest.raises(StoreError, match=r"damaged.*delete it"):
        BatchRecords(tmp_path, "here").claim({"a"}).__enter__()


def test_a_lock_that_the_disk_refuses_is_named_with_the_remedy(tmp_path):
    record_of(tmp_path, "a")
    (path,) = tmp_path.glob("*.json")
    lock = path.with_suffix(".lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    with pytest.raises(StoreError, match=r"move away what stands in its place"):
        BatchRecords(tmp_path, "here").claim({"a"}).__enter__()
    with pytest.raises(StoreError, match=r"move away what stands in its place"):
        record_of(tmp_path, "a")


def test_a_forged_record_names_no_file_but_its_own(tmp_path):
    """The mark of a record is a file's name, which is written and deleted."""
    folder, letter = tmp_path / "batches", tmp_path / "letter.json"
    record_of(folder, "a")
    letter.write_text("mine")
    (path,) = folder.glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "mark": "../letter"}))
    records = BatchRecords(folder, "here")
    with records.claim({"a"}) as left:
        records.keep(left[0], "batch")
        records.drop(left[0])
    assert letter.read_text() == "mine"
    assert not path.exists()
