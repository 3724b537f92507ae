"""What the sensor's own runs make of changes of files and rows, and the catalog that is kept."""

import os
from pathlib import Path

import pytest
from support.source_homes import calls, rename
from support.workshop import live, prose

from raptor_assets.home.source_state import KEY, keep_catalog, rescan
from raptor_core.documents.sources.local import LocalSource
from raptor_core.settings import SourceSettings
from raptor_core.tables.files import TableStore

UNCHANGED = "no file changed since the last request"


@pytest.fixture
def reads(monkeypatch):
    """Ids of the files that were read."""
    names, original = [], LocalSource._read

    def counted(self, file):
        names.append(file.id)
        return original(self, file)

    monkeypatch.setattr(LocalSource, "_read", counted)
    return names


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        write_at(folder / f"{number}.txt", f"Number {number}.")
    return folder


@pytest.fixture
def settings(docs):
    return SourceSettings(paths=(str(docs),))


@pytest.fixture
def tables(tmp_path):
    return TableStore(str(tmp_path / "tables"))


def write_at(path, text, modified=1000.0):
    path.write_text(text)
    os.utime(path, (modified, modified))


def keep(tables, settings):
    """One look that is kept, and what it found."""
    scan = rescan(tables, settings)
    keep_catalog(tables, settings, scan)
    return scan


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_catalog_is_read_anew_and_mended(tables, settings, damage):
    scan = keep(tables, settings)
    path = Path(tables.path(KEY, "files"))
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:100] if damage == "cut" else data[:50] + b"\xff" + data[51:])
    again = keep(tables, settings)
    assert again.n_read == 40
    assert again.inventory == scan.inventory
    assert rescan(tables, settings).n_read == 0


@pytest.mark.usefixtures("later")
def test_another_setting_of_the_parsers_reads_every_file_again(tables, settings):
    keep(tables, settings)
    changed = settings.model_copy(update={"encoding": "cp1252"})
    assert rescan(tables, changed).n_read == 40
