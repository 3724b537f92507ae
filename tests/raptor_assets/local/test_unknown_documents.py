"""What cannot be looked at or read stays as published, by every grouping, in builds and runs."""

import errno
import os

import pytest
from support.source_homes import calls
from support.workshop import live, prose

from raptor_assets.corpus.changes import PartitionChange

pytestmark = pytest.mark.slow

ALL = {"one/a.md", "one/b.md", "two/c.md", "two/d.md"}
HELD = ("two/c.md", "two/d.md")


@pytest.fixture
def unlistable(monkeypatch):
    """Make the operating system fail to list folders; an empty list mends them."""
    folders = []
    original = os.scandir

    def scandir(path="."):
        if os.fspath(path) in map(str, folders):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    return folders


def test_a_folder_that_cannot_be_listed_keeps_its_trees_and_costs_nothing(start, unlistable):
    workshop, daemon = start()
    before, n_calls = live(workshop), calls(workshop)
    unlistable.append(workshop.docs / "two")
    report = workshop.build()
    assert report.changes.partitions_in(PartitionChange.UNKNOWN) == HELD
    assert (report.built, report.dropped) == ([], [])
    builds, dropped, reason = daemon.tick()
    assert (builds, dropped) == ([], [])
    assert f"{len(HELD)} cannot be read now and stay: {HELD[0]}" in reason
    assert daemon.tick()[:2] == ([], [])
    assert live(workshop) == before
    unlistable.clear()
    report = workshop.build()
    assert (set(report.changes.partitions_in(PartitionChange.UNCHANGED)), report.run_ids) == (
        ALL,
        [],
    )
    assert calls(workshop) == n_calls


def test_a_run_that_finds_a_folder_unlistable_publishes_nothing_without_it(start, unlistable):
    workshop, daemon = start("corpus")
    before = live(workshop)
    workshop.write("one/a.md", prose(12, seed=9))
    assert daemon.tick()[0] == [["corpus"]]
    unlistable.append(workshop.docs / "two")
    assert daemon.run()  # it looks again, and leaves the tree as it is
    assert live(workshop) == before
    unlistable.clear()
    assert workshop.build().built == ["corpus"]


def test_a_drop_that_waited_spares_what_came_back(start):
    workshop, daemon = start()
    texts = {name: (workshop.docs / name).read_text() for name in ("one/a.md", "two/c.md")}
    for name in texts:
        workshop.remove(name)
    assert daemon.tick()[1] == list(texts)
    workshop.write("one/a.md", texts["one/a.md"])
    assert daemon.run()
    assert live(workshop)[1] == ALL - {"two/c.md"}
