"""The file of staged points beside an embedded engine."""

import subprocess
import sys

import pytest
from support import store_process
from support.stores import PROCESS_PATH, make_tree, open_at, publish, vectors_of

from raptor_core.errors import StoreError

WORK = make_tree("work", word="xylophone")


def files_with(root, word):
    return [f for f in root.rglob("*") if f.is_file() and word.encode() in f.read_bytes()]


def test_a_reader_of_a_store_without_unpublished_work_makes_no_file(tmp_path, kind):
    with open_at(tmp_path, kind) as store:
        assert store.point_ids("t") == ([], [])
        assert store.texts(["unknown"]) == {}
        assert store.staged_trees() == []
    assert not list(tmp_path.rglob("staged.sqlite"))


def test_what_was_staged_survives_a_kill(tmp_path, kind):
    done = subprocess.run(
        [sys.executable, store_process.__file__, "stage_and_die", tmp_path, kind],
        env={"PYTHONPATH": PROCESS_PATH},
        check=False,
    )
    assert done.returncode == -9
    with open_at(tmp_path, kind) as store:
        keys = [node.embedding_key for node in store_process.NEW]
        assert len(store.vectors(keys)) == len(store_process.NEW)


def test_more_points_than_one_statement_takes_are_found_and_removed(tmp_path):
    nodes = make_tree(n=2000)
    with open_at(tmp_path) as store:
        store.stage(nodes, vectors_of(nodes))
        assert len(store.vectors(node.embedding_key for node in nodes)) == len(nodes)
        assert store.drop("t") == 0
        assert store.point_ids("t") == ([], [])


def test_removed_work_leaves_no_bytes(tmp_path, kind):
    with open_at(tmp_path, kind) as store:
        store.stage(WORK, vectors_of(WORK))
        assert files_with(tmp_path, "xylophone")
        publish(store, make_tree("work", word="violin"), "work")
        assert files_with(tmp_path, "xylophone") == []


def test_room_of_removed_work_is_given_back(tmp_path):
    nodes = make_tree(n=800)
    with open_at(tmp_path, "local") as store:
        store.stage(nodes, vectors_of(nodes))
    file = next(tmp_path.rglob("staged.sqlite"))
    full = file.stat().st_size
    with open_at(tmp_path, "local") as store:
        store.drop("t")
        store.optimize()
    assert file.stat().st_size < full / 5


def test_a_damaged_file_is_named_and_may_be_removed(tmp_path, kind):
    with open_at(tmp_path, kind) as store:
        publish(store, make_tree())
        store.stage(WORK, None)
    file = next(tmp_path.rglob("staged.sqlite"))
    file.write_bytes(b"no database" * 999)
    with (
        open_at(tmp_path, kind) as store,
        pytest.raises(StoreError, match=r"staged\.sqlite.*unpublished work only"),
    ):
        store.texts(node.content_key for node in WORK)
    file.unlink()
    with open_at(tmp_path, kind) as store:
        assert store.point_ids("work") == ([], [])
        assert store.count() == 15
