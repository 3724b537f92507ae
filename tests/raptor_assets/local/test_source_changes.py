"""What the sensor's own runs make of renames, moves and removals."""

import os

import pytest
from support.source_homes import calls, rename
from support.workshop import live, prose

from raptor_assets.home.source_state import KEY
from raptor_core.documents.sources.local import LocalSource
from raptor_core.errors import TableError

pytestmark = pytest.mark.slow

UNCHANGED = "no file changed since the last request"
MARKER = "The zebra Quixotl signed here."


@pytest.fixture
def reads(monkeypatch):
    """Ids of the files that were read."""
    told, original = [], LocalSource._read

    def counted(self, file):
        told.append(file.id)
        return original(self, file)

    monkeypatch.setattr(LocalSource, "_read", counted)
    return told


@pytest.mark.usefixtures("later")
def test_a_tick_and_its_run_read_the_changed_file_alone(start, reads):
    workshop, daemon = start()
    for path in workshop.docs.rglob("*.md"):
        os.utime(path, (1000, 1000))
    daemon.tick()
    workshop.write("two/c.md", prose(12, seed=9))
    os.utime(workshop.docs / "two/c.md", (2000, 2000))
    reads.clear()
    assert daemon.tick()[0] == [["two/c.md"]]
    assert reads == ["two/c.md"]
    assert daemon.run()
    assert reads == ["two/c.md", "two/c.md"]
    reads.clear()
    assert daemon.tick()[2] == UNCHANGED
    assert reads == []


@pytest.mark.usefixtures("later")
def test_a_build_reads_the_changed_file_alone_and_one_without_changes_none(start, reads):
    workshop, _ = start()
    for path in workshop.docs.rglob("*.md"):
        os.utime(path, (1000, 1000))
    assert workshop.build().built == []
    workshop.write("two/c.md", prose(12, seed=9))
    reads.clear()
    assert workshop.build().built == ["two/c.md"]
    assert set(reads) == {"two/c.md"}
    os.utime(workshop.docs / "two/c.md", (2000, 2000))
    assert workshop.build().built == []
    reads.clear()
    assert workshop.build().built == []
    assert reads == []


def test_a_rename_costs_no_call_and_drops_the_old_place_at_the_end(start):
    (workshop, daemon), new = start(), "three/deep/a.md"
    before = calls(workshop)
    rename(workshop, "one/a.md", new)
    assert daemon.tick()[:2] == ([[new]], [])
    waiting = daemon.requests
    assert daemon.tick()[2].endswith("1 to drop wait until what took their place is published")
    daemon.requests = waiting
    assert daemon.run()
    assert {"one/a.md", new} < live(workshop)[1]
    assert daemon.tick()[:2] == ([], ["one/a.md"])
    assert daemon.run()
    assert calls(workshop) == before
    text, trees = live(workshop)
    assert trees == {"one/b.md", new, "two/c.md", "two/d.md"}
    assert "one/a.md" not in text
    assert daemon.tick()[2] == UNCHANGED


def test_the_old_place_stays_while_the_new_one_fails(start):
    workshop, daemon = start()
    rename(workshop, "one/a.md", "one/z.md")
    daemon.tick()
    tables = workshop.access().tables
    original = type(tables).write

    def refuse(self, key, *given):
        if key[0] == "chunks":
            raise TableError("the disk is full")
        return original(self, key, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tables), "write", refuse)
        assert not daemon.run()
    for _ in range(2):
        assert daemon.tick()[:2] == ([], [])
    assert "one/a.md" in live(workshop)[1]
    assert workshop.build().dropped == ["one/a.md"]
    assert daemon.tick()[2] == "4 partitions are up to date"


def test_what_is_removed_leaves_nothing_that_readers_see(start):
    workshop, daemon = start("corpus")
    workshop.write("two/d.md", f"{MARKER}\n\n{prose(12, seed=3)}")
    daemon.settle()
    assert "Quixotl" in live(workshop)[0]
    workshop.remove("two/d.md")
    assert daemon.settle() == (["corpus"], [])
    text, trees = live(workshop)
    assert "Quixotl" not in text
    assert "zebra" not in text
    assert "two/d.md" not in text
    assert set(workshop.partitions()) == trees


def test_a_moved_source_republishes_nothing(start, tmp_path):
    workshop, daemon = start()
    moved = tmp_path / "elsewhere"
    workshop.docs.rename(moved)
    workshop.docs = moved
    workshop.configure(tree={"max_layers": 1})
    assert daemon.tick() == ([], [], UNCHANGED)
    assert workshop.build().run_ids == []
    sources = {line.split()[-2] for line in live(workshop)[0].splitlines() if ".md" in line}
    assert not any(str(start) in source for source in sources)


@pytest.mark.parametrize("damage", ["delete", "truncate"])
def test_without_the_kept_scan_nothing_changes(start, damage):
    workshop, daemon = start()
    (kept,) = (workshop.home.tables / KEY[0]).glob("*.parquet")
    if damage == "delete":
        kept.unlink()
    else:
        kept.write_bytes(kept.read_bytes()[:100])
    daemon.cursor = None
    assert daemon.settle() == ([], [])
    assert kept.stat().st_size > 100
