"""What the sensor's own runs make of renames, moves and removals."""

import os

import pytest
from support.source_homes import calls, rename
from support.workshop import live, prose

from raptor_core.documents.sources.local import LocalSource

pytestmark = pytest.mark.slow

UNCHANGED = "no file changed since the last request"


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
def test_a_tick_its_run_and_a_build_read_the_changed_file_alone(start, reads):
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
    assert workshop.build().built == []
    assert reads == []
    workshop.write("two/d.md", prose(12, seed=8))
    assert workshop.build().built == ["two/d.md"]
    assert set(reads) == {"two/d.md"}


def test_a_rename_costs_no_call_and_drops_the_old_place_at_the_end(start):
    (workshop, daemon), new = start(), "three/deep/a.md"
    before = calls(workshop)
    rename(workshop, "one/a.md", new)
    assert daemon.tick()[:2] == ([[new]], ["one/a.md"])
    assert daemon.run()
    assert calls(workshop) == before
    text, trees = live(workshop)
    assert trees == {"one/b.md", new, "two/c.md", "two/d.md"}
    assert "one/a.md" not in text
    assert daemon.tick()[2] == UNCHANGED
