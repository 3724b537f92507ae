"""A store's stamp differs by what happened to the store, and not by reading it."""

import os
import shutil

import pytest
from support.stores import faults, make_tree, open_at, publish

from raptor_core.store.folder import store_stamp


@pytest.fixture
def kept(tmp_path):
    """A store with a tree, and how to open and to stamp it."""

    def opened():
        return open_at(tmp_path / "store")

    with opened() as store:
        publish(store, make_tree())
    with opened() as store:
        assert faults(store) == []
    return opened, lambda: store_stamp(tmp_path / "store", "corpus"), tmp_path / "store"


def test_reading_and_touching_leave_it(kept):
    opened, stamp, place = kept
    before = stamp()
    for _ in range(2):
        with opened() as store:
            assert faults(store) == []
    for path in place.rglob("*"):
        os.utime(path)
    (place / "corpus.holder.json").write_text("{}")
    (place / "another.json").write_text("{}")
    assert stamp() == before


def test_publishing_cutting_restoring_and_removing_change_it(kept, tmp_path):
    opened, stamp, place = kept
    stamps = [stamp()]
    shutil.copytree(place, tmp_path / "copy")
    with opened() as store:
        publish(store, make_tree(word="another"))
    stamps.append(stamp())
    largest = max((p for p in place.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    os.truncate(largest, largest.stat().st_size // 2)
    stamps.append(stamp())
    place.rename(tmp_path / "old")
    stamps.append(stamp())
    (tmp_path / "copy").rename(place)
    stamps.append(stamp())
    assert len(set(stamps)) == len(stamps)
