"""What the sensor makes of files that are being written."""

import os

import pytest
from support.source_homes import calls, rename, settling
from support.workshop import live

pytestmark = pytest.mark.slow


class TestFilesThatAreBeingWritten:
    def test_its_partition_stays_and_the_reason_names_it(self, start):
        workshop, daemon = start()
        settling(workshop)
        before = live(workshop)
        workshop.write("one/a.md", "Half of")
        workshop.write("new.md", "Half of")
        builds, dropped, reason = daemon.tick()
        assert (builds, dropped) == ([], [])
        assert "being written, so left for the next tick: new.md, one/a.md" in reason
        assert live(workshop) == before
        for path in ("one/a.md", "new.md"):
            os.utime(workshop.docs / path, (2000, 2000))
        assert daemon.settle() == (["new.md", "one/a.md"], [])

    @pytest.mark.parametrize("by", ["folder", "corpus"])
    def test_nothing_else_of_its_partition_is_built_without_it(self, start, by):
        workshop, daemon = start(by)
        settling(workshop, by)
        workshop.write("one/a.md", "Half of")
        workshop.write("one/b.md", "Finished.")
        os.utime(workshop.docs / "one/b.md", (2000, 2000))
        assert daemon.tick()[:2] == ([], [])
        os.utime(workshop.docs / "one/a.md", (2000, 2000))
        assert daemon.settle() == ({"folder": ["one"], "corpus": ["corpus"]}[by], [])

    def test_a_removal_waits_a_tick_for_what_may_be_its_copy(self, start):
        workshop, daemon = start()
        before = calls(workshop)
        settling(workshop)
        rename(workshop, "one/a.md", "one/z.md")
        os.utime(workshop.docs / "one/z.md")
        assert daemon.tick()[:2] == ([], [])
        os.utime(workshop.docs / "one/z.md", (1000, 1000))
        assert daemon.settle() == (["one/z.md"], ["one/a.md"])
        assert calls(workshop) == before

    def test_a_file_that_is_always_written_holds_up_no_removal(self, start):
        workshop, daemon = start()
        settling(workshop)
        workshop.remove("one/a.md")
        workshop.write("log.md", "Another line.")
        assert daemon.tick()[:2] == ([], [])
        assert daemon.tick()[:2] == ([], ["one/a.md"])
