"""Publications that break off at each operation, and are made good by the next build."""

import json

import pytest
from support.engines import edge_only
from support.stores import (
    faults,
    make_tree,
    open_at,
    publish,
    publish_together,
)

from raptor_core import disk
from raptor_core.errors import StoreError
from raptor_core.store.publishing import UNFINISHED

OLD, NEW = make_tree(word="old"), make_tree(word="new")[2:]
GONE, BESIDE = make_tree("gone", n=4), make_tree("beside", n=8)


def change(store):
    """Publish NEW over OLD, and BESIDE in place of GONE, in one commit."""
    publish_together(store, {"t": NEW, "beside": BESIDE}, ["gone"])


def break_off(store, n_operations, monkeypatch):
    """Let the engine die in a commit, after some of its operations."""
    apply = store._engine.apply

    def die(operations):
        for operation in operations[:n_operations]:
            apply([operation])
        raise StoreError("died")

    def is_commit(operations):
        return len(operations) > 1

    with monkeypatch.context() as planted:
        planted.setattr(
            store._engine, "apply", lambda ops: die(ops) if is_commit(ops) else apply(ops)
        )
        with pytest.raises(StoreError, match="died"):
            change(store)


@pytest.mark.parametrize("store", ["edge", "server"], indirect=True)
@pytest.mark.parametrize("n_operations", range(6))
def test_a_build_makes_good_what_broke_off_at_any_operation(store, monkeypatch, n_operations):
    publish_together(store, {"t": OLD, "gone": GONE})
    before = {short.tree: short for short in store.short_manifests()}
    break_off(store, n_operations, monkeypatch)
    after = {short.tree: short for short in store.short_manifests()}
    if n_operations == 0:
        assert after == before
    elif n_operations < 4:  # nothing may count as up to date, whatever the source holds by then
        assert {short.inputs for short in after.values()} == {UNFINISHED}
        assert after.keys() == {*before, "beside"}
    change(store)
    assert faults(store) == []
    assert {short.tree for short in store.short_manifests()} == {"t", "beside"}
    assert {node.id for node in store.nodes()} == {node.id for node in (*NEW, *BESIDE)}


@edge_only
def test_points_that_are_there_are_not_written_again(store, monkeypatch):
    publish(store, OLD)
    written, apply = [], store._engine.apply
    monkeypatch.setattr(
        store._engine, "apply", lambda operations: written.append(operations) or apply(operations)
    )
    publish(store, OLD)
    ((manifests,),) = written
    assert [point.payload["state"] for point in manifests.points] == ["manifest"]


def test_what_a_process_left_that_died_in_a_flush_is_no_obstacle(tmp_path):
    """A segment's own number is written last, so points may know later ones."""
    with open_at(tmp_path) as store:
        publish(store, OLD)
    for path in tmp_path.rglob("segment.json"):
        segment = json.loads(path.read_text())
        if segment["version"]:
            path.write_text(json.dumps(segment | {"version": segment["version"] - 8}))
    with open_at(tmp_path) as store:
        assert publish(store, NEW).removed == len(OLD)
        assert faults(store) == []
        assert {node.id for node in store.nodes()} == {node.id for node in NEW}


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    with open_at(tmp_path) as store:
        publish(store, OLD)
        before = store.nodes()
        monkeypatch.setattr(disk, "SPARE_BYTES", 2**60)
        with pytest.raises(StoreError, match=r"MB are free.*Nothing was changed"):
            publish(store, NEW)
        assert store.nodes() == before
